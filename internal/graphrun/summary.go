package graphrun

import (
	"context"
	"slices"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/graphrun/lives"
	"github.com/graphd/graphd/internal/graphrun/told"
	"github.com/graphd/graphd/internal/reactor"
)

// Summary shows the graph as it is: as its run has last said, or as what is known without one.
// It never waits for the reactor.
func (g *Graph) Summary(context.Context) api.GraphSummary { return g.summaryOf(g.shards) }

// summaryOf shows some of the shards as one graph.
func (g *Graph) summaryOf(shards []*lives.Shard) api.GraphSummary {
	if len(shards) == 1 {
		return g.noted(shards[0].Summary())
	}
	all := make([]api.GraphSummary, len(shards))
	for n, s := range shards {
		all[n] = s.Summary()
	}
	return g.noted(told.Gather(g.unit.Spec, all))
}

// noted is a summary of the graph with what none of its shards knows: who follows it, and that its keys are not dealt
// as declared.
func (g *Graph) noted(s api.GraphSummary) api.GraphSummary {
	g.host.Feeds.Tell(g.ref, &s)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.kept != "" && api.Severity(s.Health) <= api.Severity(string(reactor.HealthDegraded)) && s.HealthReason == nil {
		s.Health, s.HealthReason = string(reactor.HealthDegraded), api.ReasonOf("dealt_otherwise", g.kept)
	}
	return s
}

// Shard is the summary of one shard, as it is here.
func (g *Graph) Shard(n int) api.GraphSummary {
	return told.Alone(g.shards[n].Summary(), n, len(g.shards))
}

// Whole shows the graph as it is with the summaries of all its shards, by number, wherever they run.
func (g *Graph) Whole(shards []api.GraphSummary) api.GraphSummary {
	return g.noted(told.Gather(g.unit.Spec, shards))
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
