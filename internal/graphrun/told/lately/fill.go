package lately

import (
	"sync"
	"time"

	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/spec"
)

const (
	// rateEvery is the time in which the change of a queue's depth is how fast it fills, whoever looks at the graph
	// meanwhile.
	rateEvery = time.Second
	// rateHolds is for how long that is told: where nothing is sampled any more, no depth has changed since.
	rateHolds = 2 * rateEvery
)

// Rates is how fast the queues of one run fill. It has one writer, Sample, and any number of
// readers. The zero value is ready for use.
type Rates struct {
	mu   sync.Mutex
	at   time.Time // of the last sample, by the wall clock
	seen []depth
	full []*float64 // per input, the seconds until its queue is full; nil of one that does not fill
}

// depth is what a queue held.
type depth struct {
	boundaries int
	bytes      int64
}

// Sample takes the depths of the run's queues, if it has not within the last second. It is called with each view of
// the run, so that a graph at rest costs nothing.
func (r *Rates) Sample(inputs []reactor.InputView, specs []spec.Accumulator, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	gone := now.Sub(r.at)
	if gone >= 0 && gone < rateEvery {
		return
	}
	span := gone.Seconds()
	if r.seen == nil {
		r.seen, r.full = make([]depth, len(inputs)), make([]*float64, len(inputs))
		span = 0
	}
	if gone > rateHolds {
		span = 0 // it was at rest, nobody knows for how long of that time
	}
	for i := range inputs {
		own := inputs[i].Own // takes no room
		is := depth{inputs[i].Depth - own.Boundaries, inputs[i].DepthBytes - own.Bytes}
		r.full[i] = untilFull(&specs[i], r.seen[i], is, span)
		r.seen[i] = is
	}
	r.at = now
}

// untilFull is capacity_left / (arrival rate − service rate) of a queue that is filling up, by
// boundaries or by bytes, whichever is sooner; nil of one that is not. The difference of the
// rates is how its depth has changed.
func untilFull(a *spec.Accumulator, was, is depth, span float64) *float64 {
	if span <= 0 || a.Strategy == "latest" {
		return nil
	}
	var full *float64
	sooner := func(left, grown int64) {
		if grown <= 0 {
			return
		}
		if secs := max(0, float64(left)) / (float64(grown) / span); full == nil || secs < *full {
			full = &secs
		}
	}
	sooner(int64(a.Capacity-is.boundaries), int64(is.boundaries-was.boundaries))
	sooner(a.CapacityBytes-is.bytes, is.bytes-was.bytes)
	return full
}

// SecondsToFull is what the last sample says of input i's queue; nil when nothing has moved since long before now.
func (r *Rates) SecondsToFull(i int, now time.Time) *float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.full == nil || now.Sub(r.at) > rateHolds {
		return nil
	}
	return r.full[i]
}
