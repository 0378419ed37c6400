package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
)

// TestInterruptRun holds that SIGINT and SIGTERM end `graphd run`, whatever it is in: timers
// without an end in sight, and a pipe that nobody writes to (M8, M26).
func TestInterruptRun(t *testing.T) {
	t.Parallel()
	binary := filepath.Join(t.TempDir(), "graphd")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	// Between the last two events lie 8·10¹² ticks; the first epoch says that the run has begun.
	endless := filepath.Join(t.TempDir(), "endless.yaml")
	write(t, endless, `graph: endless
accumulators:
  a: { source: { file: { path: a.ndjson } }, time: event.at, emit: event.v, strategy: sequential }
reactor: { when: any, every: 1ms }
nodes:
  n: { expr: a }
outputs:
  out: { from: n, sink: { stdout: {} } }
`)
	var events strings.Builder
	for i := range 2000 { // so many outputs as are written at once
		fmt.Fprintf(&events, "{\"at\":%d,\"v\":%d}\n", i, i)
	}
	events.WriteString(`{"at":8000000000000,"v":2}` + "\n")
	input := filepath.Join(t.TempDir(), "a.ndjson")
	write(t, input, events.String())
	for name, signal := range map[string]os.Signal{"SIGINT": os.Interrupt, "SIGTERM": syscall.SIGTERM} {
		t.Run("timers/"+name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(binary, "run", endless, "--input", "a="+input)
			interrupt(t, cmd, signal)
		})
		t.Run("pipe/"+name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(binary, "run", endless, "--input", "a=-")
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			go func() { // it stays open: only the run's end closes it
				_, _ = io.WriteString(in, strings.TrimSuffix(events.String(), `{"at":8000000000000,"v":2}`+"\n"))
			}()
			interrupt(t, cmd, signal)
		})
	}
}

// interrupt starts a command, sends the signal when it has printed a line, and holds that it
// ends soon, with the code for it.
func interrupt(t *testing.T, cmd *exec.Cmd, signal os.Signal) {
	t.Helper()
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	killed := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	defer killed.Stop()
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Fatalf("it printed nothing: %s", &said)
	}
	if err := cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() { // what it had to say is read to the end, so that nothing blocks it
	}
	_ = cmd.Wait()
	code := cmd.ProcessState.ExitCode()
	if code != terminal.ExitInterrupted || !strings.Contains(said.String(), "interrupted") {
		t.Fatalf("it ended with code %d (-1: it had to be killed) and said %q", code, &said)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
