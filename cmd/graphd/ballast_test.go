package main

import (
	"context"
	"runtime/debug"
	"testing"
	"testing/synctest"
	"time"
)

// The ballast is left out where it could do harm: under a small limit, or against the
// operator's own word.
func TestBallast(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1))
	for _, tc := range []struct {
		limit int64
		gogc  string
		want  int
	}{{1<<63 - 1, "", ballastBytes}, {1 << 30, "", ballastBytes}, {1 << 30, "100", 0}, {256 << 20, "", 0}} {
		debug.SetMemoryLimit(tc.limit)
		if got := len(ballast(func(string) string { return tc.gogc })); got != tc.want {
			t.Errorf("%+v: got %d", tc, got)
		}
	}
}

// Garbage is collected more often while the daemon starts, and as before when it is ready or does not get there;
// not at all against the operator's own word.
func TestSpare(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	percent := func() int {
		now := debug.SetGCPercent(100)
		debug.SetGCPercent(now)
		return now
	}
	unset := func(string) string { return "" }
	ready := make(chan struct{})
	done := spare(t.Context(), ready, unset)
	if got := percent(); got != startPercent {
		t.Errorf("got %d at the start, want %d", got, startPercent)
	}
	close(ready)
	if done(); percent() != 100 {
		t.Error("it stays when the daemon ends")
	}
	synctest.Test(t, func(t *testing.T) {
		ready := make(chan struct{})
		done := spare(t.Context(), ready, unset)
		defer done()
		close(ready)
		time.Sleep(startSettles - time.Second)
		if synctest.Wait(); percent() == 100 {
			t.Error("it does not last until what a start has made has come to rest")
		}
		debug.SetGCPercent(startPercent)
		time.Sleep(2 * time.Second)
		if synctest.Wait(); percent() != 100 {
			t.Error("it stays when the daemon has settled")
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if spare(ctx, nil, unset)(); percent() != 100 {
		t.Error("it stays when the start has failed")
	}
	done = spare(t.Context(), nil, func(string) string { return "100" })
	if got := percent(); got != 100 {
		t.Errorf("got %d against the environment", got)
	}
	done()
}

// The more a start keeps, the smaller a part of it may be garbage, and so are the holes that it leaves.
func TestGarbageOfAStart(t *testing.T) {
	t.Parallel()
	for kept, want := range map[uint64]int{0: 40, 36 << 20: 40, 120 << 20: 20, 300 << 20: 8, 4 << 30: 6} {
		if got := startPercentFor(kept); got != want {
			t.Errorf("beside %d MiB there may be %d percent of garbage, want %d", kept>>20, got, want)
		}
	}
}
