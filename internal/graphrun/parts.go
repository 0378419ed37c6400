package graphrun

import (
	"context"
	"net/http"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/graphrun/parts"
	"github.com/graphd/graphd/internal/graphrun/told"
	"github.com/graphd/graphd/internal/watch"
)

// TakePart takes pushes that another member has dealt, for shards that run here, in their order, and answers when it is
// known what has become of all.
func (g *Graph) TakePart(ctx context.Context, p *parts.Pushes) ([]parts.Pushed, error) {
	if g.deals == nil || p.Input < 0 || p.Input >= len(g.deals) {
		return nil, &api.Error{Status: http.StatusServiceUnavailable, Code: api.CodeOwnerMoved,
			Detail: "the graph has just been changed; try again"}
	}
	if err := g.host.Room(g.ref); err != nil {
		for k := range p.Items {
			in := p.Items[k].In(ctx)
			g.deals[p.Input].Refuse(p.Items[k].Batch(time.Now()), g.reach(in, p.Input))
		}
		return nil, err
	}
	waits := make([]func() parts.Pushed, len(p.Items))
	for k := range p.Items {
		part := &p.Items[k]
		ctx, cancel := context.WithTimeout(part.In(ctx), part.Left)
		defer cancel()
		ctx, _ = parts.Keyed(ctx, g.host.Store, g.ID(), g.unit.Spec, p.Input)
		enter, entered := g.timeToEnter(ctx)
		defer entered()
		wait := g.deliver(enter, p.Input, part.Batch(time.Now()))
		waits[k] = func() parts.Pushed {
			out, err := wait(enter)
			durable, undone := g.awaitDurable(ctx, out.Tickets)
			return parts.PushedOf(&out, err, durable || len(out.Tickets) > 0 && undone == nil, undone)
		}
	}
	pushed := make([]parts.Pushed, len(waits))
	for k, wait := range waits {
		pushed[k] = wait()
	}
	return pushed, nil
}

// Homes are the shards that the key of a request can be meant to be in; see [told.Homes].
func (g *Graph) Homes(key string) (at, asText int, err error) {
	k, err := g.key(key, true)
	if err != nil {
		return 0, 0, err
	}
	at, asText = told.Homes(k, len(g.shards), g.dealtAs().By)
	return at, asText, nil
}

// HasKey says whether the shard that is asked has a key.
func (g *Graph) HasKey(ctx context.Context, key string) (bool, error) {
	k, err := g.key(key, true)
	if err != nil {
		return false, err
	}
	return g.hasKey(ctx, g.asked(ctx)[0], k)
}

// Overhear attaches a watcher to shards that run elsewhere: what it gets of them by itself begins when they come here.
func (g *Graph) Overhear(q *watch.Queue, shards []int) {
	for _, n := range shards {
		g.shards[n].Hub().Attach(q)
	}
}
