package graphrun

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/graphd/graphd/internal/accumulator/pump"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/reactor"
)

// Push hands events to an accumulator and waits until they are folded and the reactor has
// them. The mailbox outlives restarts: while the accumulator is being restarted it waits.
// origin is the dead letter that they are replayed from, "" for new ones.
func (g *Graph) Push(ctx context.Context, name, origin string, events []json.RawMessage) (api.PushResult, error) {
	i, err := g.accumulator(name)
	if err != nil {
		return api.PushResult{}, err
	}
	if err := g.refusesPushes(i, len(events)); err != nil {
		return api.PushResult{}, err
	}
	if err := g.host.Room(); err != nil {
		g.mailboxes[i].Reject(len(events))
		return api.PushResult{}, err
	}
	now := time.Now()
	batch := make([]boundary.Event, len(events))
	for k, raw := range events {
		batch[k] = boundary.Event{Raw: raw, At: now, Origin: origin}
	}
	enter, cancel := g.timeToEnter(ctx)
	defer cancel()
	out, err := g.mailboxes[i].Push(enter, batch)
	if errors.Is(err, pump.ErrClosed) {
		return api.PushResult{}, &api.Error{
			Status: http.StatusServiceUnavailable, Code: "graph_stopping",
			Detail: fmt.Sprintf("graph %s is being stopped; nothing after the first %d events was taken", g.ref.Name,
				out.Taken),
		}
	}
	if errors.Is(err, pump.ErrStopped) {
		return api.PushResult{}, &api.Error{Status: http.StatusConflict, Code: "input_stopped",
			Detail: fmt.Sprintf("an operator has stopped input %s of graph %s; nothing after the first %d events was "+
				"taken; the start command lets it go on", name, g.ref.Name, out.Taken)}
	}
	if err != nil {
		return api.PushResult{}, err
	}
	res := api.PushResult{Accepted: out.Accepted, Filtered: out.Filtered, Rejected: []api.Rejection{}, Full: out.Full}
	if out.Full {
		// Whoever goes on after a 429 goes on behind all that was dealt with, refused events too.
		res.Accepted, res.Why = out.Taken, g.unwritable()
	}
	for _, r := range out.Rejected {
		res.Rejected = append(res.Rejected, api.Rejection(r))
	}
	res.Durable, err = g.awaitDurable(ctx, out.Tickets)
	return res, err
}

// refusesPushes says at once what waiting would only delay: a graph that was given up takes
// nothing until an operator restarts it or a fixed declaration is applied. What is refused
// is counted.
func (g *Graph) refusesPushes(i, events int) error {
	g.mu.Lock()
	failed := g.run == nil && g.health == reactor.HealthFailed
	why := g.reason
	var elsewhere error
	if g.run == nil && g.health == reactor.HealthStandby {
		// Not counted: the graph's books are its owner's.
		elsewhere = g.standbyError(http.StatusServiceUnavailable)
	}
	g.mu.Unlock()
	if elsewhere != nil {
		return elsewhere
	}
	if !failed {
		return nil
	}
	g.mailboxes[i].Reject(events)
	return &api.Error{Status: http.StatusConflict, Code: "graph_failed",
		Detail: fmt.Sprintf("graph %s has failed and takes no events: %s", g.ref.Name, detail(why, "see its health"))}
}

// RejectBody counts one event for a body that could not be parsed (M42).
func (g *Graph) RejectBody(name string) error {
	i, err := g.accumulator(name)
	if err != nil {
		return err
	}
	g.mailboxes[i].Reject(1)
	return nil
}
