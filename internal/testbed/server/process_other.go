//go:build !linux

package server

import (
	"errors"
	"os"
	"syscall"
)

// own is how a server runs under the own user.
func own() *syscall.SysProcAttr { return nil }

// unprivileged is how a server runs that refuses to be root.
func unprivileged(string) (*syscall.SysProcAttr, error) {
	if os.Getuid() == 0 {
		return nil, errors.New("PostgreSQL refuses to be root; run the tests as another user")
	}
	return nil, nil
}

// claim reserves no port: who starts two servers at one time may give both the same.
func claim(string, int) bool { return true }

var errPause = errors.New("pausing a server is built for Linux only")

func pause(*os.Process) error { return errPause }

func resume(*os.Process) error { return errPause }
