package docs

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// pageDaemon is the daemon that a page has started.
type pageDaemon struct {
	addr string
	cmd  *exec.Cmd
	end  chan error
	said said
}

var listensOn = regexp.MustCompile(`127\.0\.0\.1:\d+`)

// start runs graphd serve or graphd demo on a free port until the page's end or its next daemon,
// or to its end where the page shows that it ends with a code.
func (r *reader) start(verb, args string, shown []string, code int) string {
	line := "graphd " + verb + strings.ReplaceAll(args, " --listen "+everywhere, "") + " --listen 127.0.0.1:0"
	if code != 0 {
		out, got := r.shell(line)
		if got != code {
			return fmt.Sprintf("exit code %d, want %d\n%s", got, code, out)
		}
		return compareShown(shown, out)
	}
	if r.daemon != nil {
		r.daemon.stop(r.t)
		r.daemon = nil
	}
	d := &pageDaemon{end: make(chan error, 1), said: said{news: make(chan struct{}, 1)}}
	d.cmd = r.command(context.Background(), "sh", "-c", "exec "+line)
	d.cmd.Stdout, d.cmd.Stderr = &d.said, &d.said
	if err := d.cmd.Start(); err != nil {
		return err.Error()
	}
	go func() { d.end <- d.cmd.Wait() }()
	r.daemon = d
	late := time.After(stepLimit)
	shown = slices.Concat([]string{anyLines}, shown, []string{anyLines}) // the log is among it
	for {
		select {
		case err := <-d.end:
			r.daemon = nil
			return fmt.Sprintf("it ended: %v\n%s", err, d.said.String())
		case <-late:
			return "it was not ready in time, or said something else:\n" + d.said.String()
		case <-d.said.news:
			out := d.said.String()
			if d.addr = listensOn.FindString(out); d.addr != "" && compareShown(shown, out) == "" {
				return ""
			}
		}
	}
}

// stop ends the daemon as Ctrl-C does; that it takes that badly is a fault.
func (d *pageDaemon) stop(t *testing.T) {
	t.Helper()
	if err := d.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Errorf("interrupt the daemon: %v", err)
	}
	select {
	case err := <-d.end:
		if err != nil {
			t.Errorf("the daemon ended with %v\n%s", err, d.said.String())
		}
	case <-time.After(stepLimit):
		_ = d.cmd.Process.Kill()
		<-d.end
		t.Errorf("the daemon did not end in time\n%s", d.said.String())
	}
}

// said is what a process has printed so far; news has a token after each write.
type said struct {
	mu   sync.Mutex
	text bytes.Buffer
	news chan struct{}
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case s.news <- struct{}{}:
	default:
	}
	return s.text.Write(p)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}
