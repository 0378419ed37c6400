//go:build !linux

package postgres

import (
	"syscall"
	"time"
)

// userTimeout is left to the kernel's own bounds and to those of the calls.
func userTimeout(time.Duration) func(network, address string, c syscall.RawConn) error { return nil }
