// Package heap knows how much memory the process has in use for good, and how much it may have.
package heap

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
	"time"
)

const (
	// every is how often the use of memory is looked at.
	every = 100 * time.Millisecond
	// Near is the share of the memory limit, in percent, past which nothing more is admitted over the API that has
	// grown of late or is new: what is live then leaves the garbage collector little room.
	Near = 85
	// Full is that past which nothing is, whoever it is of.
	Full = 95
)

// Reader reads how much memory is in use for good, and how much may be. 0 is no limit.
type Reader func() (used, limit int64)

// Process is what the last garbage collection found to be live, beside the limit of
// GOMEMLIMIT. Garbage does not count: near the limit there always is some.
func Process() (used, limit int64) {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}}
	metrics.Read(sample)
	for _, s := range sample {
		if s.Value.Kind() == metrics.KindUint64 {
			used += int64(s.Value.Uint64())
		}
	}
	limit = debug.SetMemoryLimit(-1)
	if limit == 1<<63-1 {
		limit = 0
	}
	return used, limit
}

// Watch is what was last seen of the use of memory. Safe for concurrent use.
type Watch struct {
	used, limit atomic.Int64
}

// Run looks at the use of memory until ctx is done, and tells it each time.
func (w *Watch) Run(ctx context.Context, read Reader, tell func(used, limit int64)) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		used, limit := read()
		w.used.Store(used)
		w.limit.Store(limit)
		tell(used, limit)
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// Use is what was last seen; near says that there is little left.
func (w *Watch) Use() (used, limit int64, near bool) {
	used, limit = w.used.Load(), w.limit.Load()
	return used, limit, limit != 0 && used >= limit/100*Near
}
