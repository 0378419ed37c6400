// Package seen is what is seen of a process from outside: what it uses, and where its time goes.
package seen

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Usage is what a process has used so far.
type Usage struct {
	CPU       time.Duration
	RSS, Peak int64 // bytes
}

// clockTick is what the kernel counts processor time in, for all of Linux's platforms.
const clockTick = 10 * time.Millisecond

// Used reads /proc, which only Linux has.
func Used(process int) (u Usage, err error) {
	pid := strconv.Itoa(process)
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return u, fmt.Errorf("read what the process uses (on Linux only): %w", err)
	}
	// The name, in parentheses, may have spaces; the state follows it as field 3.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	for _, f := range fields[11:13] { // utime and stime
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return u, fmt.Errorf("read /proc/%s/stat: %w", pid, err)
		}
		u.CPU += time.Duration(n) * clockTick
	}
	status, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		return u, fmt.Errorf("read what the process uses: %w", err)
	}
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		kib, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		switch name {
		case "VmRSS":
			u.RSS = kib << 10
		case "VmHWM":
			u.Peak = kib << 10
		}
	}
	return u, nil
}
