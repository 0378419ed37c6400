package graphrun

import (
	"context"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/graphrun/told"
)

// takeEffect is how long the answer to a command waits for the command to show.
const takeEffect = time.Second

// show makes a change of what the graph shows beside its run's view, and wakes who waits for one.
func (g *Graph) show(change func()) {
	g.mu.Lock()
	change()
	g.mu.Unlock()
	g.changed.Ring()
}

// after is the summary as soon as it shows what was asked for, or after a second as it is:
// a command that works is not answered with the health of before.
func (g *Graph) after(ctx context.Context, shows func(s *api.GraphSummary) bool) api.GraphSummary {
	return g.await(ctx, takeEffect, shows)
}

// await is after with another bound.
func (g *Graph) await(ctx context.Context, most time.Duration, shows func(s *api.GraphSummary) bool) api.GraphSummary {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	g.refresh(ctx)
	silence := time.NewTimer(told.BusyAfter)
	defer silence.Stop()
	for {
		changed := g.changed.Next()
		s := g.Summary(context.WithoutCancel(ctx))
		if shows(&s) {
			return s
		}
		silence.Reset(g.untilBusy())
		select {
		case <-changed:
		case <-silence.C:
		case <-ctx.Done():
			return s
		}
	}
}

// untilBusy is after which silence it is worth a look that nothing has called for: a reactor that
// is stuck publishes nothing, and that its graph is busy then shows by the clock alone.
func (g *Graph) untilBusy() time.Duration {
	soon := told.BusyAfter
	for _, s := range g.shards {
		r := s.Run()
		if r == nil {
			continue
		}
		if since := r.Reactor.Busy(); !since.IsZero() {
			if left := time.Until(since.Add(told.BusyAfter)); left > 0 {
				soon = min(soon, left)
			}
		}
	}
	return soon
}
