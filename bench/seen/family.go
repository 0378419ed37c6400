package seen

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Family is the processor time that a process has used so far with its children: those that run, and those that have
// ended and that it has waited for. Linux alone tells.
func Family(process int) (used time.Duration, err error) {
	used, _, err = times("/proc/"+strconv.Itoa(process)+"/stat", true)
	if err != nil {
		return 0, fmt.Errorf("read what the process uses (on Linux only): %w", err)
	}
	all, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0, err
	}
	for _, path := range all {
		child, parent, err := times(path, false)
		if err == nil && parent == process { // one that has ended meanwhile is among those that were waited for
			used += max(child, ran(filepath.Dir(path)))
		}
	}
	return used, nil
}

// ran is for how long the first thread of a process has run, in nanoseconds where times count in ticks: of many
// children that do little it is all there is. 0 where the kernel does not tell.
func ran(folder string) time.Duration {
	text, err := os.ReadFile(folder + "/schedstat")
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(text), " ")
	n, err := strconv.ParseInt(first, 10, 64)
	if err != nil {
		return 0
	}
	return time.Duration(n)
}

// times reads the processor time of a process, that of the children which it has waited for with it where waited is
// set, and the id of its parent.
func times(path string, waited bool) (used time.Duration, parent int, err error) {
	stat, err := os.ReadFile(path)
	if err != nil {
		return 0, 0, err
	}
	// The name, in parentheses, may have spaces; the state follows it as field 3.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	last := 13 // utime and stime
	if waited {
		last = 15 // cutime and cstime
	}
	if len(fields) < last {
		return 0, 0, fmt.Errorf("%s has %d fields", path, len(fields))
	}
	for _, f := range fields[11:last] {
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return 0, 0, fmt.Errorf("read %s: %w", path, err)
		}
		used += time.Duration(n) * clockTick
	}
	parent, err = strconv.Atoi(fields[1])
	return used, parent, err
}
