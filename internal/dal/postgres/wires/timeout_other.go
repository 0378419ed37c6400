//go:build !linux

package wires

import (
	"syscall"
	"time"
)

// UserTimeout is left to the kernel's own bounds and to those of the calls.
func UserTimeout(time.Duration) func(network, address string, c syscall.RawConn) error { return nil }
