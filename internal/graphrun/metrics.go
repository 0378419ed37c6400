package graphrun

import (
	"context"
	"errors"
	"maps"
	"sync"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/live"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/supervisor"
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
		Restarts: g.restarts.all(),
	}
	g.mu.Lock()
	r := g.run
	g.mu.Unlock()
	if r == nil {
		return out
	}
	v := r.reactor.View()
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

// restarts counts what the supervisor did with the graph as a whole ("") and with its
// accumulators, by reason. They outlive an update: both of its graphs count in the same.
type restarts struct {
	mu sync.Mutex
	n  map[string]map[string]int
}

func newRestarts() *restarts { return &restarts{n: make(map[string]map[string]int)} }

// count counts what the supervisor did with a piece, for the graph's whole life.
func (r *restarts) count(piece string, ev *supervisor.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.n[piece] == nil {
		r.n[piece] = make(map[string]int)
	}
	r.n[piece][restartReason(ev)]++
}

func (r *restarts) all() map[string]map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make(map[string]map[string]int, len(r.n))
	for piece, reasons := range r.n {
		all[piece] = maps.Clone(reasons)
	}
	return all
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
	case corrupt(ev.Err):
		return "checkpoint_corrupt"
	case errors.Is(ev.Err, checkpoint.ErrFenced):
		return "fenced"
	case errors.Is(ev.Err, checkpoint.ErrUnknownOutcome):
		return "commit_unknown"
	}
	return "error"
}
