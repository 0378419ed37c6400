//go:build unix

package doctor

import "syscall"

// openFiles is how many files a process may have open. The daemon raises its own limit to the hard one.
func openFiles() (n uint64, ok bool) {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return 0, false
	}
	return limit.Max, true
}
