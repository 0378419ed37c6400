package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/graphd/graphd/cmd/graphd/internal/settings"
)

// memoryFlag names the limit of the process's memory.
const memoryFlag = "memory-limit"

// cgroupShare is how much of the container's memory the Go runtime is told to stay below, in
// percent: the rest is for what it does not count.
const cgroupShare = 90

// limitMemory tells the runtime how much memory there is. A GOMEMLIMIT in the environment
// has done so already, and stays unless the flag says something else.
func limitMemory(text string, getenv func(string) string, container func() int64) error {
	switch text {
	case "none":
		debug.SetMemoryLimit(1<<63 - 1)
		return nil
	case "", "auto":
		if n := container(); n > 0 && getenv("GOMEMLIMIT") == "" {
			debug.SetMemoryLimit(n / 100 * cgroupShare)
		}
		return nil
	}
	n, err := parseBytes(text)
	if err != nil {
		return err
	}
	debug.SetMemoryLimit(n)
	return nil
}

// parseBytes reads the limit.
func parseBytes(text string) (int64, error) {
	n, ok := settings.Bytes(text)
	if !ok {
		return 0, fmt.Errorf("--%s %q is not a size: write bytes, or 512MiB, 2GiB, auto, none", memoryFlag, text)
	}
	return n, nil
}

// cgroupLimit is the memory that the control groups of the process allow, in bytes: those of a container, a
// service of systemd, a batch job. 0 is no limit.
func cgroupLimit() int64 { return cgroupLimitIn("/") }

// cgroupLimitIn reads below root. With version 2 of control groups the least of a group and those above it
// counts; in a container the group is the top one.
func cgroupLimitIn(root string) (least int64) {
	own, err := os.ReadFile(filepath.Join(root, "proc/self/cgroup"))
	if err == nil {
		for line := range strings.Lines(string(own)) {
			group, ok := strings.CutPrefix(strings.TrimSpace(line), "0::/")
			for ; ok && group != "." && group != ""; group = filepath.Dir(group) {
				least = lesser(least, readLimit(filepath.Join(root, "sys/fs/cgroup", group, "memory.max")))
			}
		}
	}
	least = lesser(least, readLimit(filepath.Join(root, "sys/fs/cgroup/memory.max")))
	if least == 0 {
		least = readLimit(filepath.Join(root, "sys/fs/cgroup/memory/memory.limit_in_bytes"))
	}
	return least
}

// lesser is the less of two limits, of which 0 is none.
func lesser(a, b int64) int64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// readLimit is the limit that a file holds, 0 for none.
func readLimit(path string) int64 {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	const unlimited = 1 << 60 // version 1 writes a number near the greatest for none
	if err != nil || n <= 0 || n > unlimited {
		return 0
	}
	return n
}
