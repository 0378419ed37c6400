package graphrun

import (
	"context"
	"time"

	"github.com/graphd/graphd/internal/graphrun/told"
)

// Metrics reads the graph, without waiting for it: a reactor that is stuck shows what it last said.
func (g *Graph) Metrics(ctx context.Context) told.Metrics {
	out := told.Metrics{
		Summary: g.Summary(ctx), Retries: map[string]int64{}, Letters: map[string]map[string]int64{},
		Restarts: g.first().Restarts().All(), Lost: g.first().Restarts().Lost(),
	}
	for _, s := range g.shards {
		if r := s.Run(); r != nil {
			out.Add(g.unit.Spec, r.Reactor.View(), s.Number() == 0)
		}
	}
	return out
}

// Sample takes the depths of the graph's queues; one goroutine calls it, every [told.RateEvery].
func (g *Graph) Sample(now time.Time) {
	for _, s := range g.shards {
		if r := s.Run(); r != nil {
			r.Sample(now)
		}
	}
}
