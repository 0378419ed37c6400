package told

import (
	"sync"
	"time"

	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/spec"
)

// RateEvery is how often [Rates.Sample] is to be called: how fast a queue fills is the change of
// its depth in that time, whoever looks at the graph meanwhile.
const RateEvery = time.Second

// Rates is how fast the queues of one run fill. It has one writer, Sample, and any number of
// readers. The zero value is ready for use.
type Rates struct {
	mu   sync.Mutex
	at   time.Time
	seen []depth
	full []*float64 // per input, the seconds until its queue is full; nil of one that does not fill
}

// depth is what a queue held.
type depth struct {
	boundaries int
	bytes      int64
}

// Sample takes the depths of the run's queues; one goroutine calls it, every RateEvery.
func (r *Rates) Sample(inputs []reactor.InputView, specs []spec.Accumulator, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	span := now.Sub(r.at).Seconds()
	if r.seen == nil {
		r.seen, r.full = make([]depth, len(inputs)), make([]*float64, len(inputs))
		span = 0
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

// SecondsToFull is what the last sample says of input i's queue.
func (r *Rates) SecondsToFull(i int) *float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.full == nil {
		return nil
	}
	return r.full[i]
}
