package wires

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// UserTimeout has the kernel give up a connection whose bytes nobody acknowledges for so long.
func UserTimeout(d time.Duration) func(network, address string, c syscall.RawConn) error {
	return func(network, _ string, c syscall.RawConn) error {
		if network != "tcp4" && network != "tcp6" && network != "tcp" {
			return nil // a socket of this machine
		}
		var err error
		if e := c.Control(func(fd uintptr) {
			err = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(d.Milliseconds()))
		}); e != nil {
			return e
		}
		return err
	}
}
