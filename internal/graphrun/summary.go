package graphrun

import (
	"context"
	"slices"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/graphrun/told"
)

// Summary shows the graph as it is: as its run has last said, or as what is known without one.
// It never waits for the reactor.
func (g *Graph) Summary(context.Context) api.GraphSummary {
	if len(g.shards) == 1 {
		return g.first().Summary()
	}
	all := make([]api.GraphSummary, len(g.shards))
	for n, s := range g.shards {
		all[n] = s.Summary()
	}
	return told.Gather(g.unit.Spec, all)
}

// Shard is the summary of one shard, as it is here.
func (g *Graph) Shard(n int) api.GraphSummary {
	return told.Alone(g.shards[n].Summary(), n, len(g.shards))
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
