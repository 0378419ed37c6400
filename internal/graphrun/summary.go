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
	all := make([]api.GraphSummary, len(shards))
	for n, s := range shards {
		all[n] = s.Summary()
	}
	return g.noted(all, len(all) == len(g.shards))
}

// noted is the summary of some shards of the graph with what none of them knows: who follows it, that its keys are not
// dealt as declared, and of all of them, the whole, which outputs are stale.
func (g *Graph) noted(shards []api.GraphSummary, whole bool) api.GraphSummary {
	s := shards[0]
	if len(shards) > 1 {
		s = told.Gather(g.unit.Spec, shards)
	}
	g.host.Feeds.Tell(g.ref, &s)
	g.mu.Lock()
	defer g.mu.Unlock()
	told.Judge(&s, g.kept, whole)
	return s
}

// Shard is the summary of one shard, as it is here.
func (g *Graph) Shard(n int) api.GraphSummary {
	return told.Alone(g.shards[n].Summary(), n, len(g.shards))
}

// Whole shows the graph as it is with the summaries of all its shards, by number, wherever they run.
func (g *Graph) Whole(shards []api.GraphSummary) api.GraphSummary {
	return g.noted(shards, true)
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
		k.Spec, k.AsOne = g.unit.Spec, g.asOne
	}
	return k
}
