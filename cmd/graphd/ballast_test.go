package main

import (
	"runtime/debug"
	"testing"
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
