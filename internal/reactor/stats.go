package reactor

import (
	"time"

	"github.com/graphd/graphd/internal/graph"
)

// DurationBuckets are the upper bounds of a [Histogram].
var DurationBuckets = [...]time.Duration{
	time.Microsecond, 5 * time.Microsecond, 10 * time.Microsecond, 50 * time.Microsecond, 100 * time.Microsecond,
	500 * time.Microsecond, time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond, 50 * time.Millisecond,
	100 * time.Millisecond, 500 * time.Millisecond, time.Second, 10 * time.Second, 30 * time.Second,
}

// Histogram counts durations by DurationBuckets; the last count is everything slower.
type Histogram struct {
	Counts [len(DurationBuckets) + 1]int64
	Sum    time.Duration
}

// Observe counts one duration.
func (h *Histogram) Observe(d time.Duration) {
	i := 0
	for i < len(DurationBuckets) && d > DurationBuckets[i] {
		i++
	}
	h.Counts[i]++
	h.Sum += d
}

// Stats are plain running counts that a metrics collector reads.
type Stats struct {
	// Epochs counts by cause, then failed [0] and kept [1].
	Epochs       [causeCount][2]int64
	Durations    Histogram
	graph.Counts // of nodes and loops
	// InRow is how many epochs have failed one after the other, up to the last, and Failure and FailureCode what that
	// one came to; 0 and "" where it was kept.
	InRow                int64
	Failure, FailureCode string
}

func (s *Stats) count(r *Record) {
	kept := 0
	if s.InRow++; r.Err == "" {
		kept, s.InRow = 1, 0
	}
	s.Failure, s.FailureCode = r.Err, r.ErrCode
	s.Epochs[r.Cause][kept]++
	s.Durations.Observe(r.Duration)
}
