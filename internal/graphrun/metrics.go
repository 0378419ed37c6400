package graphrun

import (
	"context"
	"slices"

	"github.com/graphd/graphd/internal/graphrun/lives"
	"github.com/graphd/graphd/internal/graphrun/told"
)

// Metrics reads what of the graph is here, without waiting: a reactor that is stuck shows what it last said.
func (g *Graph) Metrics(ctx context.Context) told.Metrics {
	sum := told.Idle(g.Summary(ctx))
	if here := slices.DeleteFunc(slices.Clone(g.shards), (*lives.Shard).StandsBy); len(here) > 0 {
		sum = g.summaryOf(here)
	}
	out := told.Metrics{
		Summary: sum, Retries: map[string]int64{}, Letters: map[string]map[string]int64{},
		Restarts: g.first().Restarts().All(), Lost: g.first().Restarts().Lost(),
		Gone: g.gone,
	}
	for _, s := range g.shards {
		if r := s.Run(); r != nil {
			out.Add(g.unit.Spec, r.Reactor.View(), s.Number() == 0)
		}
	}
	return out
}
