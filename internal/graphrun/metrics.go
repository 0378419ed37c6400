package graphrun

import (
	"context"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/graphrun/told"
	"github.com/graphd/graphd/internal/live"
	"github.com/graphd/graphd/internal/reactor"
)

// Metrics is one graph's figures for a collector: the summary, and the running counts
// that it leaves out.
type Metrics struct {
	Summary    api.GraphSummary
	Stats      reactor.Stats
	Checkpoint live.CheckpointStatus
	// Restarts of the graph as a whole ("") and of its accumulators, by reason.
	Restarts map[string]map[string]int
	// Letters are the dead-lettered events, by accumulator and code.
	Letters map[string]map[string]int64
	// Retries of deliveries, by output.
	Retries map[string]int64
}

// Metrics reads the graph, without waiting for it: a reactor that is stuck shows what it last said.
func (g *Graph) Metrics(ctx context.Context) Metrics {
	out := Metrics{
		Summary: g.Summary(ctx), Retries: map[string]int64{}, Letters: map[string]map[string]int64{},
		Restarts: g.first().Restarts().All(),
	}
	r := g.first().Run()
	if r == nil {
		return out
	}
	v := r.Reactor.View()
	out.Stats, out.Checkpoint = v.Stats, v.Checkpoint
	for i := range g.unit.Spec.Outputs {
		if w, ok := v.Writer(i); ok {
			out.Retries[g.unit.Spec.Outputs[i].Name] = w.Retries
		}
	}
	for i := range v.Inputs {
		out.Letters[g.unit.Spec.Accumulators[i].Name] = v.Inputs[i].Reasons
	}
	return out
}

// RateEvery is how often [Graph.Sample] is to be called.
const RateEvery = told.RateEvery

// Sample takes the depths of the graph's queues; one goroutine calls it, every RateEvery.
func (g *Graph) Sample(now time.Time) {
	for _, s := range g.shards {
		if r := s.Run(); r != nil {
			r.Sample(now)
		}
	}
}
