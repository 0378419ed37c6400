package main

import (
	"context"
	"runtime/debug"
	"sync"
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

// startPercent is how much garbage there may be beside what is kept while a daemon starts. What a start throws away
// lies among what it keeps, and the holes stay: nothing as large as a start comes after it.
const startPercent = 20

// spare has garbage collected more often until ready is closed or ctx is done, unless the environment says how often;
// done returns when it has been set back.
func spare(ctx context.Context, ready <-chan struct{}, getenv func(string) string) (done func()) {
	if getenv("GOGC") != "" {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	was := debug.SetGCPercent(startPercent)
	var back sync.WaitGroup
	back.Go(func() {
		select {
		case <-ready:
		case <-ctx.Done():
		}
		debug.SetGCPercent(was)
	})
	return func() {
		cancel()
		back.Wait()
	}
}
