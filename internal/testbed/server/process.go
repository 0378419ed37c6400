package server

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// ErrMissing says that what a server needs is not installed on this machine.
var ErrMissing = errors.New("not installed")

// errEnded is in the error of a server that ended while it was starting.
var errEnded = errors.New("ended while starting")

// Bounds of waiting: a loaded machine may be slow, a broken server must not hold a test for ever.
const (
	startPatience = 3 * time.Minute
	stopPatience  = 60 * time.Second
)

// process is one run of a server.
type process struct {
	name string
	cmd  *exec.Cmd
	log  string        // what it wrote
	done chan struct{} // closed when it has ended
}

// run starts a process whose output is appended to log. cred is nil for the own user.
func run(name, log, dir string, attr *syscall.SysProcAttr, argv ...string) (*process, error) {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the log of %s: %w", name, err)
	}
	defer out.Close() // the child has its own
	p := &process{name: name, cmd: exec.Command(argv[0], argv[1:]...), log: log, done: make(chan struct{})}
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr, p.cmd.SysProcAttr = dir, out, out, attr
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go func() {
		_ = p.cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// await calls ready again and again until it answers nil.
func (p *process) await(ctx context.Context, ready func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-p.done:
			return fmt.Errorf("%s %w: %s", p.name, errEnded, tail(p.log))
		case <-ctx.Done():
			return fmt.Errorf("%s did not get ready: %w: %s", p.name, err, tail(p.log))
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// stop asks the process to end and waits for it; one that will not is killed, which is an error.
func (p *process) stop(sig os.Signal) error {
	_ = p.cmd.Process.Signal(sig)
	select {
	case <-p.done:
		return nil
	case <-time.After(stopPatience):
		p.kill()
		return fmt.Errorf("%s did not stop within %s and was killed", p.name, stopPatience)
	}
}

// kill ends the process as a crash would, and reaps it.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// tail is the end of a log, for errors.
func tail(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-2000):])
}

// freePorts are n ports that nothing listens on now, and that no connection goes out from: a server is stopped and
// comes to its port again, so they are below those that systems deal to connections. Nobody else is dealt them while
// this process lives: a server that has not begun to listen, or is down, would find another one's in its place.
func freePorts(n int) ([]int, error) {
	ports := make([]int, 0, n)
	for len(ports) < n {
		port := 20000 + rand.IntN(12000)
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("find a free port: %w", err)
		}
		defer l.Close() // only then are all of them different
		if claim(filepath.Join(os.TempDir(), "graphd-test-ports"), port) {
			ports = append(ports, port)
		}
	}
	return ports, nil
}

// temporary makes a directory that other users may enter: PostgreSQL refuses to be root,
// and then runs as someone else.
func temporary(name string) (string, error) {
	dir, err := os.MkdirTemp("", "graphd-"+name+"-")
	if err != nil {
		return "", fmt.Errorf("make a directory for %s: %w", name, err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return "", fmt.Errorf("open the directory of %s: %w", name, err)
	}
	return dir, nil
}

// newest is the last of the paths that match pattern by the number in their name, "" for none.
func newest(pattern string, number func(path string) string) string {
	paths, _ := filepath.Glob(pattern)
	best, most := "", -1
	for _, p := range paths {
		if n, err := strconv.Atoi(number(p)); err == nil && n > most {
			best, most = p, n
		}
	}
	return best
}
