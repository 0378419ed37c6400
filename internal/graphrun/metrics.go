package graphrun

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

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

// counts is what only the reactor knows.
type counts struct {
	stats      reactor.Stats
	checkpoint live.CheckpointStatus
	letters    map[string]map[string]int64
}

// metricsTimeout bounds what a scrape waits for one graph.
const metricsTimeout = 500 * time.Millisecond

// Metrics reads the graph. One that does not answer in time shows what it last said.
func (g *Graph) Metrics(ctx context.Context) Metrics {
	ctx, cancel := context.WithTimeout(ctx, metricsTimeout)
	defer cancel()
	out := Metrics{
		Summary: g.Summary(ctx), Retries: map[string]int64{}, Letters: map[string]map[string]int64{}, Restarts: g.restarts.all(),
	}
	g.mu.Lock()
	r := g.run
	g.mu.Unlock()
	if r == nil {
		return out
	}
	for i := range g.unit.Spec.Outputs {
		if w := r.writerOf(i); w != nil {
			out.Retries[g.unit.Spec.Outputs[i].Name] = w.Status().Retries
		}
	}
	// The reactor answers into a place of its own: when it does so too late, somebody is reading
	// what was returned here.
	answer := make(chan counts, 1)
	err := r.reactor.Do(ctx, func(c *reactor.Core, _ time.Time) {
		v := c.Look()
		got := counts{stats: v.Stats, checkpoint: r.reactor.Checkpointed(), letters: map[string]map[string]int64{}}
		for i := range v.Inputs {
			got.letters[c.Config().Inputs[i].Name] = v.Inputs[i].Reasons
		}
		answer <- got
	})
	// An answer that does not come leaves the counts at zero for one scrape; the summary says why.
	if err == nil {
		got := <-answer
		out.Stats, out.Checkpoint, out.Letters = got.stats, got.checkpoint, got.letters
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
