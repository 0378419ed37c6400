package server

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// own is how a server runs under the own user: in a process group of its own, so that an
// interrupt from the terminal reaches only who started it, and not longer than that.
func own() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// unprivileged is how a server runs that refuses to be root: as the own user, or as
// postgres or nobody when that is root. Who it is owns dir afterwards.
func unprivileged(dir string) (*syscall.SysProcAttr, error) {
	attr := own()
	if os.Getuid() != 0 {
		return attr, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		if u, err = user.Lookup("nobody"); err != nil {
			return nil, fmt.Errorf("find a user that is not root: %w", err)
		}
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("read the id of user %s: %w", u.Username, err)
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("read the group of user %s: %w", u.Username, err)
	}
	if err := os.Chown(dir, int(uid), int(gid)); err != nil {
		return nil, fmt.Errorf("give %s to user %s: %w", dir, u.Username, err)
	}
	attr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return attr, nil
}

// claim reserves a port among the tests of this machine until the process ends, and says that nobody else has. Where a
// folder is of another user, nobody is asked.
func claim(dir string, port int) bool {
	_ = os.MkdirAll(dir, 0o777)
	// No [os.File]: it would be closed once nobody refers to it.
	const flags = syscall.O_CREAT | syscall.O_RDWR | syscall.O_CLOEXEC
	fd, err := syscall.Open(filepath.Join(dir, strconv.Itoa(port)), flags, 0o666)
	if err != nil {
		return true
	}
	if errors.Is(syscall.Flock(fd, syscall.LOCK_EX|syscall.LOCK_NB), syscall.EWOULDBLOCK) {
		_ = syscall.Close(fd)
		return false
	}
	return true
}

// pause stops a process in its tracks: its connections stay open and nothing answers.
func pause(p *os.Process) error { return p.Signal(syscall.SIGSTOP) }

// resume lets a paused process go on.
func resume(p *os.Process) error { return p.Signal(syscall.SIGCONT) }
