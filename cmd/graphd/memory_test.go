package main

import (
	"runtime/debug"
	"testing"
)

// The limit of memory comes from the flag, else from GOMEMLIMIT, else from the container.
func TestMemoryLimit(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(before)
	for _, tc := range []struct {
		flag, env string
		container int64
		want      int64 // 0: refused
	}{
		{"auto", "", 1000 << 20, 1000 << 20 / 100 * 90},
		{"auto", "700MiB", 1000 << 20, 1 << 40}, // the runtime has read it
		{"auto", "", 0, 1 << 40},
		{"none", "", 1000 << 20, 1<<63 - 1},
		{"512MiB", "", 1000 << 20, 512 << 20},
		{"2GiB", "", 0, 2 << 30},
		{"1048576", "", 0, 1 << 20},
		{"lots", "", 0, 0},
		{"-1", "", 0, 0},
		{"99999999999GiB", "", 0, 0},
	} {
		debug.SetMemoryLimit(1 << 40)
		err := limitMemory(tc.flag, func(string) string { return tc.env }, func() int64 { return tc.container })
		if (err != nil) != (tc.want == 0) {
			t.Errorf("%+v: %v", tc, err)
		}
		if got := debug.SetMemoryLimit(-1); tc.want != 0 && got != tc.want {
			t.Errorf("%+v: got %d", tc, got)
		}
	}
}
