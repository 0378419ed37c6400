package graphrun

import (
	"sync"
	"time"

	"github.com/graphd/graphd/internal/api"
)

// rates estimates from one look at a graph to the next how fast its queues fill.
type rates struct {
	mu   sync.Mutex
	seen []rateSample
}

type rateSample struct {
	at    time.Time
	depth int
}

// minRateSpan is the least time between two samples that says anything about a rate.
const minRateSpan = 100 * time.Millisecond

// secondsToFull is capacity_left / (arrival rate − service rate) of a queue that is filling
// up, nil of one that is not. The difference of the rates is how its depth has changed
// since the last look.
func (r *rates) secondsToFull(i int, s *api.AccumulatorSummary, now time.Time) *float64 {
	if s.Strategy == "latest" {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.seen) <= i {
		r.seen = append(r.seen, rateSample{})
	}
	prev := r.seen[i]
	span := now.Sub(prev.at)
	if span >= minRateSpan || prev.at.IsZero() {
		r.seen[i] = rateSample{now, s.Depth}
	}
	if prev.at.IsZero() || span < minRateSpan || s.Depth <= prev.depth {
		return nil
	}
	secs := float64(s.Capacity-s.Depth) / (float64(s.Depth-prev.depth) / span.Seconds())
	return &secs
}
