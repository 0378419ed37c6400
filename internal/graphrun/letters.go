package graphrun

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/graphrun/life"
	"github.com/graphd/graphd/internal/graphrun/lives"
	"github.com/graphd/graphd/internal/graphrun/told"
	"github.com/graphd/graphd/internal/live"
	"github.com/graphd/graphd/internal/reactor"
)

// Replaying waits until nobody else replays dead letters of the graph, and has others wait until release is
// called: a letter that is read meanwhile is there until its replay is durable.
func (g *Graph) Replaying(ctx context.Context) (release func(), err error) {
	select {
	case g.letters <- struct{}{}:
		return func() { <-g.letters }, nil
	case <-ctx.Done():
		return nil, &api.Error{Status: http.StatusServiceUnavailable, Code: "busy",
			Detail: "other dead letters of the graph are being replayed; try again when that is through"}
	}
}

// home is the shard that keeps a letter.
func (g *Graph) home(l *checkpoint.DeadLetter) *lives.Shard { return g.shards[l.Shard] }

// Resend sends a value again that its output's sink has refused, from the shard that it came of. It goes behind what
// the output has taken so far; settled is told, without blocking, what became of it. The letter is discarded by the
// commit that makes that durable, see [Graph.Cover].
func (g *Graph) Resend(ctx context.Context, l *checkpoint.DeadLetter, settled func(code, reason string)) error {
	to, err := g.output(l.Output)
	if err != nil {
		return err
	}
	_, err = g.commandAt(ctx, g.home(l), func(ctx context.Context, r *live.Reactor) error {
		why, err := r.Resend(ctx, []live.Resent{{Letter: l, To: to, Settled: settled}})
		if err == nil {
			err = told.NotResent(why[0])
		}
		return err
	})
	return err
}

// output finds an output by name, or refuses with 409: it may have been there once.
func (g *Graph) output(name string) (int, error) {
	if g.unit == nil {
		_, err := g.running()
		return 0, err
	}
	for i := range g.unit.Spec.Outputs {
		if g.unit.Spec.Outputs[i].Name == name {
			return i, nil
		}
	}
	return 0, told.NotReplayable("the graph has no output \"" + name + "\" any more")
}

// Cover has letters whose events were pushed and taken discarded by the commit that covers them, and waits
// for that and for the commits of what was sent again. A letter's events may have gone to another shard than that which
// keeps it: it is discarded when they are durable in all of them.
func (g *Graph) Cover(ctx context.Context, pushed []checkpoint.DeadLetter) error {
	if len(g.shards) > 1 && len(pushed) > 0 {
		if err := g.everywhere(ctx, durable); err != nil {
			return err
		}
	}
	ids := make([][]string, len(g.shards))
	for i := range pushed {
		n := pushed[i].Shard
		ids[n] = append(ids[n], pushed[i].ID)
	}
	return g.everywhere(ctx, func(ctx context.Context, r *life.Run) error {
		if err := r.Reactor.Replayed(ctx, ids[r.Shard()]); err != nil {
			return told.Refusal(err)
		}
		return durable(ctx, r)
	})
}

// Key reads the key of a request; "" is all of them.
func (g *Graph) Key(text string) (boundary.Key, error) {
	if text == "" {
		return "", nil
	}
	return g.key(text, false)
}

// Forgetful says that nothing of the graph's state is durable.
func (g *Graph) Forgetful() bool { return g.unit != nil && g.unit.Spec.Durability.Mode == "none" }

// Try says what would become of boundaries of an input if they came now: they go through the guard and the nodes
// over the present state, and nothing comes of it. code is "" when they would pass.
func (g *Graph) Try(ctx context.Context, input string, bs []boundary.Boundary) (code, text string, err error) {
	i, err := g.accumulator(input)
	if err != nil {
		return "", "", err
	}
	for k := 0; k < len(bs) && code == "" && err == nil; k++ {
		values := make([]boundary.Value, len(g.unit.Programs))
		values[i] = bs[k].Value
		if g.unit.Spec.Accumulators[i].Strategy == "burst" {
			values[i] = boundary.List([]boundary.Value{values[i]})
		}
		_, err = g.commandAt(ctx, g.of(ctx, bs[k].Key), func(ctx context.Context, r *live.Reactor) error {
			var tried error
			looked := r.Look(ctx, func(c *reactor.Core, _ time.Time) { code, text, tried = c.Try(bs[k].Key, values) })
			return errors.Join(looked, tried)
		})
	}
	return code, text, err
}

// TryOutput says why a value could not be sent again now, as far as that can be known without sending it.
func (g *Graph) TryOutput(ctx context.Context, l *checkpoint.DeadLetter) error {
	to, err := g.output(l.Output)
	if err != nil {
		return err
	}
	if len(l.Message) == 0 {
		return told.NotReplayable(reactor.ErrNoMessage.Error())
	}
	_, err = g.commandAt(ctx, g.home(l), func(ctx context.Context, r *live.Reactor) error {
		why, err := r.MayResend(ctx, live.Resent{Letter: l, To: to})
		if err == nil {
			err = told.NotResent(why)
		}
		return err
	})
	return err
}
