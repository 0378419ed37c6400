package engine

import (
	"context"
	"time"

	"github.com/graphd/graphd/internal/reactor"
)

// Metrics is one graph's figures for a collector: the summary, and the running counts
// that it leaves out.
type Metrics struct {
	Summary    GraphSummary
	Stats      reactor.Stats
	Checkpoint reactor.CheckpointStatus
	// Restarts of the graph as a whole; those of accumulators are in the summary.
	Restarts int
	// Retries of deliveries, by output.
	Retries map[string]int64
}

// metricsTimeout bounds what a scrape waits for one graph.
const metricsTimeout = 500 * time.Millisecond

// Metrics reads every graph. A graph that does not answer in time shows what it last said.
func (e *Engine) Metrics(ctx context.Context) []Metrics {
	var list []Metrics
	for _, m := range e.all() {
		list = append(list, m.metrics(ctx))
	}
	return list
}

func (m *managed) metrics(ctx context.Context) Metrics {
	ctx, cancel := context.WithTimeout(ctx, metricsTimeout)
	defer cancel()
	out := Metrics{Summary: m.summary(ctx), Retries: map[string]int64{}}
	m.mu.Lock()
	r := m.run
	out.Restarts = m.restart
	m.mu.Unlock()
	if r == nil {
		return out
	}
	for i, w := range r.writers {
		if w != nil {
			out.Retries[m.unit.Spec.Outputs[i].Name] = w.Status().Retries
		}
	}
	// An answer that does not come leaves the counts at zero for one scrape; the summary says why.
	_ = r.reactor.Do(ctx, func(c *reactor.Core, _ time.Time) {
		out.Stats, out.Checkpoint = c.Look().Stats, r.reactor.Checkpointed()
	})
	return out
}
