package lately

import (
	"sync"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/live/delivery"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/spec"
)

// Ages is for how long the outputs of one run have given nothing. It has one writer, Sample, and any number of readers.
// The zero value is ready for use.
type Ages struct {
	mu   sync.Mutex
	seen []given
}

// given is what was seen of an output.
type given struct {
	emitted int64
	at      time.Time // when that has changed
	free    time.Time // since when it is to give something: the run's begin, or when what kept it from it was over
	kept    bool      // it is to give nothing
}

// Sample sees what the outputs have given; it comes with each view of the run, and before its first epoch.
func (a *Ages) Sample(v *reactor.View, g *spec.Graph, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	begins := a.seen == nil
	if begins {
		a.seen = make([]given, len(v.Emitted))
	}
	over := v.Paused || ended(v, g)
	for i := range a.seen {
		s := &a.seen[i]
		kept := over || v.StoppedOutputs[i] != nil
		if begins || s.kept && !kept {
			s.free = now
		}
		if !begins && s.emitted != v.Emitted[i] {
			s.at = now
		}
		s.emitted, s.kept = v.Emitted[i], kept
	}
}

// ended says that nothing comes any more that would fire the graph.
func ended(v *reactor.View, g *spec.Graph) (all bool) {
	for i := range g.Accumulators {
		switch a := &g.Accumulators[i]; {
		case a.Fed() || !a.Triggers(g.Reactor) && a.JoinedBy == "":
		case v.Inputs[i].Health != accumulator.Ended:
			return false
		default:
			all = true
		}
	}
	return all && g.Reactor.Every == 0
}

// Of is for how many seconds output i has given nothing: to its sink, whose writer is w, or where that is nil to who
// watches it. It is nil while the output is to give nothing.
func (a *Ages) Of(i int, w *delivery.Writer, now time.Time) *float64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	if i >= len(a.seen) || a.seen[i].kept {
		return nil
	}
	last := a.seen[i].at
	if w != nil {
		last = w.Status().Taken
	}
	if free := a.seen[i].free; free.After(last) {
		last = free
	}
	age := max(0, now.Sub(last).Seconds())
	return &age
}
