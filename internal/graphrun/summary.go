package graphrun

import (
	"context"
	"slices"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/graphrun/lives"
	"github.com/graphd/graphd/internal/graphrun/told"
)

// Summary shows the graph as it is: as its run has last said, or as what is known without one.
// It never waits for the reactor.
func (g *Graph) Summary(context.Context) api.GraphSummary { return g.summaryOf(g.shards) }

// summaryOf shows some of the shards as one graph.
func (g *Graph) summaryOf(shards []*lives.Shard) api.GraphSummary {
	if len(shards) == 1 {
		return shards[0].Summary()
	}
	all := make([]api.GraphSummary, len(shards))
	for n, s := range shards {
		all[n] = s.Summary()
	}
	return told.Gather(g.unit.Spec, all)
}

// Shard is the summary of one shard, as it is here.
func (g *Graph) Shard(n int) api.GraphSummary {
	return told.Alone(g.shards[n].Summary(), n, len(g.shards))
}

// Whole shows the graph as it is with the summaries of all its shards, by number, wherever they run.
func (g *Graph) Whole(shards []api.GraphSummary) api.GraphSummary {
	return told.Gather(g.unit.Spec, shards)
}

// known is what is known of the graph with or without a run.
func (g *Graph) known() *told.Known {
	g.mu.Lock()
	defer g.mu.Unlock()
	k := &told.Known{
		Ref: g.ref, Revision: g.decl.Revision, Update: g.update, Gaps: slices.Clone(g.gaps),
		Volatile: g.host.Store.Kind() == "memory", Meter: g.host.Quotas.Meter(g.ref.Tenant, g.ref.Name),
		Quota: g.host.Quotas.Limits(g.ref.Tenant),
	}
	if g.unit != nil {
		k.Spec = g.unit.Spec
	}
	return k
}
