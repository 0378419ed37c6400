package server

import (
	"fmt"
	"os"
	"os/user"
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

// pause stops a process in its tracks: its connections stay open and nothing answers.
func pause(p *os.Process) error { return p.Signal(syscall.SIGSTOP) }

// resume lets a paused process go on.
func resume(p *os.Process) error { return p.Signal(syscall.SIGCONT) }
