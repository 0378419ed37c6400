package main

import (
	"os"
	"path/filepath"
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

// The least limit of the process's control groups counts: a container's, a service's, that of a slice above it.
func TestCgroupLimit(t *testing.T) {
	t.Parallel()
	const own, v2, v1 = "proc/self/cgroup", "sys/fs/cgroup/", "sys/fs/cgroup/memory/memory.limit_in_bytes"
	service := "0::/system.slice/graphd.service\n"
	for _, tc := range []struct {
		files map[string]string
		want  int64
	}{
		{nil, 0},
		{map[string]string{own: "0::/\n", v2 + "memory.max": "1000\n"}, 1000},
		{map[string]string{own: "0::/\n", v2 + "memory.max": "max\n"}, 0},
		{map[string]string{own: service, v2 + "system.slice/graphd.service/memory.max": "2000\n"}, 2000},
		{map[string]string{
			own: service, v2 + "system.slice/graphd.service/memory.max": "2000\n",
			v2 + "system.slice/memory.max": "500\n",
		}, 500},
		{map[string]string{own: service, v2 + "system.slice/graphd.service/memory.max": "max\n"}, 0},
		{map[string]string{own: "4:memory:/a\n", v1: "3000\n"}, 3000},
		{map[string]string{v1: "9223372036854771712\n"}, 0},
	} {
		root := t.TempDir()
		for name, text := range tc.files {
			path := filepath.Join(root, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := cgroupLimitIn(root); got != tc.want {
			t.Errorf("%v: got %d, want %d", tc.files, got, tc.want)
		}
	}
}
