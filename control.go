package graphd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/server/control"
)

// What a program asks of the daemon it embeds. Everything else is in the API that the daemon
// serves on Addr.

// Ready is closed once the daemon serves: its graphs are there and can be pushed to.
func (d *Daemon) Ready() <-chan struct{} { return d.up }

// Apply stores a declaration and runs it, as PUT /v1/graphs/{graph} does, and under the same policy: it may reach
// what [Config] allows to declarations from the network. A broken one is a
// [Diagnostics] error that holds every mistake, and changes nothing.
func (d *Daemon) Apply(ctx context.Context, doc []byte) error {
	unit, diags := d.kinds.Parse(doc, "")
	if err := diags.Err(); err != nil {
		return err
	}
	g := api.Ref{Tenant: checkpoint.DefaultTenant, Name: unit.Spec.Name}
	_, err := control.Audited(d.engine, d.trail).Apply(ctx, g, doc, api.Change{})
	var refused *api.Error
	if errors.As(err, &refused) && len(refused.Diagnostics) > 0 {
		return refused.Diagnostics
	}
	return err
}

// Push hands events to an accumulator and waits until the graph has them, or ctx is done. The
// error says which were refused, or that not all were taken before ctx was done.
func (d *Daemon) Push(ctx context.Context, graph, accumulator string, events ...any) error {
	raw := make([]json.RawMessage, len(events))
	for i, event := range events {
		v, err := toValue(event)
		if err != nil {
			return fmt.Errorf("push event %d: %w; nothing was pushed", i, err)
		}
		raw[i] = v.AppendJSON(nil)
	}
	res, err := d.engine.Push(ctx, api.Ref{Tenant: checkpoint.DefaultTenant, Name: graph}, accumulator, raw)
	if err != nil {
		return fmt.Errorf("push to %s of %s: %w", accumulator, graph, err)
	}
	var refused []error
	for _, r := range res.Rejected {
		refused = append(refused, fmt.Errorf("push to %s of %s: event %d was refused: %s: %s", accumulator, graph,
			r.Index, r.Code, r.Detail))
	}
	if res.Full {
		refused = append(refused, fmt.Errorf("push to %s of %s: only the first %d of %d events were taken: %w",
			accumulator, graph, res.Accepted+len(res.Rejected), len(events), context.Cause(ctx)))
	}
	return errors.Join(refused...)
}
