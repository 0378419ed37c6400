package engine

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/supervisor"
)

// Metrics is one graph's figures for a collector: the summary, and the running counts
// that it leaves out.
type Metrics struct {
	Summary    GraphSummary
	Stats      reactor.Stats
	Checkpoint reactor.CheckpointStatus
	// Restarts of the graph as a whole ("") and of its accumulators, by reason.
	Restarts map[string]map[string]int
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
	out := Metrics{Summary: m.summary(ctx), Retries: map[string]int64{}, Restarts: map[string]map[string]int{}}
	m.mu.Lock()
	r := m.run
	out.Restarts[""] = maps.Clone(m.restarts)
	m.mu.Unlock()
	if r == nil {
		return out
	}
	for _, a := range r.accs {
		a.mu.Lock()
		out.Restarts[a.spec.Name] = maps.Clone(a.reasons)
		a.mu.Unlock()
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

// restartReason is why the supervisor acted, as the label of a metric.
func restartReason(ev *supervisor.Event) string {
	var lost *accumulator.DataLost
	var caught *accumulator.PanicError
	switch {
	case ev.Kind == supervisor.EventOperatorRestart:
		return "operator"
	case ev.Stack != "", errors.As(ev.Err, &caught):
		return "panic"
	case errors.Is(ev.Err, supervisor.ErrReturned):
		return "returned"
	case errors.As(ev.Err, &lost):
		return "source_data_lost"
	case errors.Is(ev.Err, errCrashLoop):
		return "crash_loop"
	case errors.Is(ev.Err, reactor.ErrCorrupt):
		return "checkpoint_corrupt"
	case errors.Is(ev.Err, checkpoint.ErrFenced):
		return "fenced"
	case errors.Is(ev.Err, checkpoint.ErrUnknownOutcome):
		return "commit_unknown"
	}
	return "error"
}
