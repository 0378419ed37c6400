package told

import (
	"errors"
	"maps"
	"sync"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/supervisor"
)

// Restarts counts what the supervisor did with the graph as a whole ("") and with its
// accumulators, by reason. They outlive an update: both of its graphs count in the same.
// The zero value is ready for use.
type Restarts struct {
	mu   sync.Mutex
	n    map[string]map[string]int
	lost map[string]int64
}

// Count counts what the supervisor did with a piece, for the graph's whole life.
func (r *Restarts) Count(piece string, ev *supervisor.Event) {
	r.CountReason(piece, restartReason(ev))
}

// CountReason counts what was done with a piece without the supervisor.
func (r *Restarts) CountReason(piece, reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.n == nil {
		r.n = make(map[string]map[string]int)
	}
	if r.n[piece] == nil {
		r.n[piece] = make(map[string]int)
	}
	r.n[piece][reason]++
}

// Lose counts events of an accumulator that were taken and that no checkpoint has.
func (r *Restarts) Lose(accumulator string, events int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lost == nil {
		r.lost = make(map[string]int64)
	}
	r.lost[accumulator] += events
}

// Lost is how many events of each accumulator have been lost, for whoever asked.
func (r *Restarts) Lost() map[string]int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.lost)
}

// All is the counts so far, for whoever asked.
func (r *Restarts) All() map[string]map[string]int {
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
	case errors.Is(ev.Err, ErrCrashLoop):
		return "crash_loop"
	case Corrupt(ev.Err):
		return "checkpoint_corrupt"
	case errors.Is(ev.Err, checkpoint.ErrFenced):
		return "fenced"
	case errors.Is(ev.Err, checkpoint.ErrUnknownOutcome):
		return "commit_unknown"
	}
	return "error"
}
