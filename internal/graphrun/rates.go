package graphrun

import (
	"sync"
	"time"

	"github.com/graphd/graphd/internal/spec"
)

// RateEvery is how often [Graph.Sample] is to be called: how fast a queue fills is the change of
// its depth in that time, whoever looks at the graph meanwhile.
const RateEvery = time.Second

// rates is how fast the graph's queues fill. It has one writer, Sample, and any number of readers.
type rates struct {
	mu   sync.Mutex
	at   time.Time
	run  *run // whose inputs were seen
	seen []depth
	full []*float64 // per input, the seconds until its queue is full; nil of one that does not fill
}

// depth is what a queue held.
type depth struct {
	boundaries int
	bytes      int64
}

// Sample takes the depths of the graph's queues; one goroutine calls it, every RateEvery.
func (g *Graph) Sample(now time.Time) {
	g.mu.Lock()
	r := g.run
	g.mu.Unlock()
	if r == nil {
		return
	}
	g.rates.sample(r, now)
}

func (r *rates) sample(of *run, now time.Time) {
	inputs, specs := of.reactor.View().Inputs, of.g.unit.Spec.Accumulators
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.run != of {
		r.run, r.seen, r.full = of, nil, make([]*float64, len(inputs))
	}
	span := now.Sub(r.at).Seconds()
	if r.seen == nil {
		r.seen = make([]depth, len(inputs))
		span = 0
	}
	for i := range inputs {
		is := depth{inputs[i].Depth, inputs[i].DepthBytes}
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

// secondsToFull is what the last sample says of input i's queue.
func (r *rates) secondsToFull(of *run, i int) *float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.run != of {
		return nil
	}
	return r.full[i]
}
