package main

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

// ballastBytes is memory that is asked for and never touched, so that it takes none. The
// garbage collector runs whenever the heap has doubled, and a daemon with few graphs keeps
// a few MiB: it would run after every 4 MiB of garbage. With the ballast it runs after some
// 36, which spares a busy daemon a quarter of its processor time, for that much memory at
// most. To a large heap it makes no difference.
const ballastBytes = 32 << 20

// ballast is nil where the environment says how often to collect, or where memory is short.
// The caller keeps it alive.
func ballast(getenv func(string) string) []byte {
	const scarce = 16 * ballastBytes
	if getenv("GOGC") != "" || debug.SetMemoryLimit(-1) < scarce {
		return nil
	}
	return make([]byte, ballastBytes)
}

const (
	// startPercent is how much garbage there may be beside what is kept while a daemon starts, and startGarbage
	// how much in all, as long as that is startLeast percent. What a start throws away lies among what it keeps.
	// Holes of its first part are filled by the rest; those of its last stay, for nothing as large as a start comes
	// after it.
	startPercent = 40
	startLeast   = 6
	startGarbage = 24 << 20
	// startLooks is how often it is looked at how much is kept.
	startLooks = 200 * time.Millisecond
	// startSettles is for how long after a daemon is ready its graphs come to rest, and what they keep from then on is
	// made. That lies among what requests throw away, and each piece of it holds a page of that: so until the daemon
	// gives back what it does not use, there is less garbage than later on, settlePercent. To keep to what holds
	// before would cost a large daemon too much that has events to catch up with.
	startSettles  = 10 * time.Second
	settlePercent = 20
)

// startPercentFor is how much garbage there may be beside so many bytes.
func startPercentFor(kept uint64) int {
	return int(min(startPercent, max(startLeast, 100*startGarbage/max(kept, 1))))
}

// kept are the bytes that the last collection has found in use.
func kept() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	if metrics.Read(sample); sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return sample[0].Value.Uint64()
}

// spare has garbage collected more often until the daemon has settled after ready was closed, or ctx is done, unless
// the environment says how often; done returns when it has been set back.
func spare(ctx context.Context, ready <-chan struct{}, getenv func(string) string) (done func()) {
	if getenv("GOGC") != "" {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	percent := startPercent
	was := debug.SetGCPercent(percent)
	looks := time.NewTicker(startLooks)
	var back sync.WaitGroup
	back.Go(func() {
		defer debug.SetGCPercent(was)
		defer looks.Stop()
		var settled <-chan time.Time
		least := startLeast
		for {
			select {
			case <-looks.C:
				if next := max(least, startPercentFor(kept())); next < percent {
					percent = next
					debug.SetGCPercent(percent)
				}
			case <-ready:
				ready, settled, least = nil, time.After(startSettles), settlePercent
				percent = max(percent, settlePercent)
				debug.SetGCPercent(percent)
			case <-settled:
				return
			case <-ctx.Done():
				return
			}
		}
	})
	return func() {
		cancel()
		back.Wait()
	}
}
