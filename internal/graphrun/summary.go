package graphrun

import (
	"context"
	"slices"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/graphrun/life"
	"github.com/graphd/graphd/internal/graphrun/told"
	"github.com/graphd/graphd/internal/reactor"
)

// Summary shows the graph as it is: as its run has last said, or as what is known without one.
// It never waits for the reactor.
func (g *Graph) Summary(context.Context) api.GraphSummary {
	g.mu.Lock()
	r := g.run
	if r == nil {
		defer g.mu.Unlock()
		return g.known().Rest(g.last, string(g.health), g.reason)
	}
	g.mu.Unlock()
	sum := g.describe(r)
	if why := g.stuck(r); why != nil {
		sum.Health, sum.HealthReason = string(reactor.HealthDegraded), why
	}
	return sum
}

// describe is the summary of a run, or of one that has just ended.
func (g *Graph) describe(r *life.Run) api.GraphSummary {
	g.mu.Lock()
	known := g.known()
	g.mu.Unlock()
	return known.Running(&r.Head, r.Reactor.View(), r, time.Now())
}

// known is what is known of the graph with or without a run. g.mu is held.
func (g *Graph) known() *told.Known {
	k := &told.Known{
		Ref: g.ref, Revision: g.decl.Revision, Update: g.update, Path: g.path, Gaps: slices.Clone(g.gaps),
		Volatile: g.host.Store.Kind() == "memory",
	}
	if g.unit != nil {
		k.Spec = g.unit.Spec
	}
	return k
}

// stuck says that the reactor has not come out of its epochs for long, nil when it has (M25).
func (g *Graph) stuck(r *life.Run) *api.Reason {
	limit := g.unit.Spec.Reactor.EpochTimeout
	return told.Stuck(r.Reactor.Busy(), r.Reactor.View().Epoch, r.Foreign(), limit, time.Now())
}
