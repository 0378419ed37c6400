package faults

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// stoppedGraph tells of each event what it found of the other input.
const stoppedGraph = `graph: pair
idle: 50ms
accumulators:
  a: { source: { file: { path: DIR/a.ndjson, follow: true } }, time: event.at, emit: event.n, strategy: sequential }
  b: { source: { file: { path: DIR/b.ndjson, follow: true } }, time: event.at, emit: event.n, strategy: sequential }
nodes: { n: { event: true, expr: '[a ?? 0, b ?? 0]' } }
outputs: { o: { from: n, sink: { file: { path: DIR/OUT } } } }
`

// M26: a process that was stopped, or had no processor, has heard of nobody meanwhile: that is not the silence
// of an input, and the others wait for it as before.
func TestM26AStopIsNoSilence(t *testing.T) {
	const events = 60_000
	dir := t.TempDir()
	declared := func(out string) string {
		return strings.NewReplacer("DIR", dir, "OUT", out).Replace(stoppedGraph)
	}
	rng := rand.New(rand.NewPCG(26, 10))
	at := map[string]int{}
	for _, name := range []string{"a", "b"} {
		var b bytes.Buffer
		for n := range events {
			at[name] += 1 + rng.IntN(20)
			fmt.Fprintf(&b, "{\"at\":%d,\"n\":%d}\n", 2*at[name]+len(at)-1, n+1)
		}
		if err := os.WriteFile(filepath.Join(dir, name+".ndjson"), b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	alone := filepath.Join(dir, "alone.yaml")
	if err := os.WriteFile(alone, []byte(declared("want.ndjson")), 0o600); err != nil {
		t.Fatal(err)
	}
	run := exec.Command(binary(), "run", alone, "--input", "a="+dir+"/a.ndjson", "--input", "b="+dir+"/b.ndjson",
		"--output", "o="+dir+"/want.ndjson")
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := os.MkdirAll(filepath.Join(dir, "graphs"), 0o700); err != nil {
		t.Fatal(err)
	}
	live := []byte(declared("got.ndjson"))
	if err := os.WriteFile(filepath.Join(dir, "graphs", "pair.yaml"), live, 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, dir)
	stops := 0
	p.until("all has come", 5*time.Minute, func() bool { // most of the time it stands still
		if p.summary("pair").Counters.Consumed == 2*events {
			return true
		}
		for _, sig := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGCONT} {
			if err := p.cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			if sig == syscall.SIGSTOP {
				<-time.After(120 * time.Millisecond)
			}
		}
		stops++
		return false
	})
	if err := p.stop(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d stops", stops)
	w, g := valuesIn(t, filepath.Join(dir, "want.ndjson")), valuesIn(t, filepath.Join(dir, "got.ndjson"))
	if len(w) != 2*events {
		t.Fatalf("a run gives %d values", len(w))
	}
	for i := range w {
		if i >= len(g) || w[i] != g[i] {
			rest := g[min(i, len(g)):min(i+3, len(g))]
			t.Fatalf("%d values, want %d; from %d on: %q, want %s", len(g), len(w), i, rest, w[i])
		}
	}
}

// valuesIn are the values of a file that an output has written, in its order.
func valuesIn(t *testing.T, path string) (out []string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(data) {
		var l struct{ Value json.RawMessage }
		if err := json.Unmarshal(line, &l); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		out = append(out, string(l.Value))
	}
	return out
}
