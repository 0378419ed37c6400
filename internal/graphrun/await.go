package graphrun

import (
	"context"
	"sync"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/graphrun/told"
	"github.com/graphd/graphd/internal/reactor"
)

// takeEffect is how long the answer to a command waits for the command to show.
const takeEffect = time.Second

// bell wakes those who wait for another summary of a graph, over all of its runs. It is rung by
// whatever changes one: each view that a reactor publishes, and what [Graph.show] is told of. The
// zero value is ready for use.
type bell struct {
	mu   sync.Mutex
	rung chan struct{} // closed by the next ring; nil while nobody waits
}

// next is closed by the next ring. Who takes it and looks then misses nothing.
func (b *bell) next() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.rung == nil {
		b.rung = make(chan struct{})
	}
	return b.rung
}

// ring does not block.
func (b *bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.rung != nil {
		close(b.rung)
		b.rung = nil
	}
}

// show makes a change of what the graph shows beside its run's view, and wakes who waits for one.
func (g *Graph) show(change func()) {
	g.mu.Lock()
	change()
	g.mu.Unlock()
	g.changed.ring()
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
	if r, err := g.running(); err == nil {
		refresh(ctx, r)
	}
	silence := time.NewTimer(told.BusyAfter)
	defer silence.Stop()
	for {
		changed := g.changed.next()
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
	if r, err := g.running(); err == nil {
		if since := r.Reactor.Busy(); !since.IsZero() {
			if left := time.Until(since.Add(told.BusyAfter)); left > 0 {
				return left
			}
		}
	}
	return told.BusyAfter
}

// loaded says that a graph is past its start.
func loaded(s *api.GraphSummary) bool {
	return s.Health != string(reactor.HealthStarting) && s.Health != string(reactor.HealthWarming)
}
