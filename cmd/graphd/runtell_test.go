package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graphd/graphd"
	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
)

// M42: the stats hold the books of every input; with -o json they also hold the first dead letters,
// and the file has them all.
func TestRunTellsAll(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "letters.ndjson")
	r := command(t.Context(), newDaemon(t).Server, "{\"bid\":1,\"ask\":3}\n"+strings.Repeat("[\n", 12), "run",
		"testdata/edge.yaml", "-o", "json", "--dead-letters", file, "--input", "orderbook=-")
	var s runStats
	if err := json.Unmarshal([]byte(r.stderr), &s); err != nil || r.code != 0 {
		t.Fatalf("got %+v, %v", r, err)
	}
	want := graphd.RunInput{Received: 13, DeadLettered: 12, Consumed: 1}
	if s.Inputs["orderbook"] != want || s.DeadLetters != 12 || len(s.Letters) != 10 || s.Letters[9].Line != 11 {
		t.Errorf("got %+v", s)
	}
	text, err := os.ReadFile(file)
	if lines := strings.Split(string(text), "\n"); err != nil || len(lines) != 13 ||
		!strings.Contains(lines[11], `"line":13,`) || !strings.Contains(lines[11], `"payload":"["`) {
		t.Errorf("got %s, %v", text, err)
	}
}

// A run says which timers and windows went by times that it has made up, and says nothing where events have times.
func TestRunTellsOfMadeUpTime(t *testing.T) {
	t.Parallel()
	const apart = "so their events are taken a millisecond apart, and debounce, max_wait"
	for times, want := range map[string]string{
		"{}":                 apart + " went by that",
		"{ time: event.at }": "",
		"{ window: { count: { size: 1 }, aggregate: { x: count() } } }": apart + " went by that",
		"{ window: { session: 1m, aggregate: { x: count() } } }": apart +
			", the window of a went by that",
		"{ time: event.at, window: { session: 1m, aggregate: { x: count() } } }": "",
	} {
		path := filepath.Join(t.TempDir(), "quiet.yaml")
		doc := "graph: quiet\naccumulators: { a: " + times + " }\nreactor: { debounce: 30s, max_wait: 1h }\n" +
			"nodes: { n: { expr: a.x } }\noutputs: { o: { from: n, sink: { stdout: {} } } }\n"
		if err := os.WriteFile(path, []byte(doc), 0o600); err != nil {
			t.Fatal(err)
		}
		in := `{"at":"2026-01-01T00:00:00Z","x":1}`
		r := command(t.Context(), newDaemon(t).Server, in, "run", path, "--input", "a=-")
		if r.code != 0 || !strings.Contains(r.stderr, want) || want == "" && r.stderr != "" {
			t.Errorf("%s: got %+v, want %q", times, r, want)
		}
	}
}

// A run says of a join that a side was given no events, for what has found no partner looks like an answer.
func TestRunTellsOfOneSide(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "paid.yaml")
	doc := "graph: paid\naccumulators:\n  orders: { time: event.at }\n  payments: { time: event.at }\n" +
		"  rates: { strategy: latest }\n" +
		"  paid: { join: { left: orders, right: payments, on: order, within: 1m, type: left } }\n" +
		"nodes: { n: { expr: '{ \"paid\": paid.matched, \"rate\": rates }' } }\n" +
		"outputs: { o: { from: n, sink: { stdout: {} } } }\n"
	if err := os.WriteFile(path, []byte(doc), 0o600); err != nil {
		t.Fatal(err)
	}
	in := `{"order":1,"at":"2026-01-01T00:00:00Z"}`
	const want = "graphd: nothing has a partner in payments, of which there were no events: give files with --input " +
		"payments=PATH\n"
	server := newDaemon(t).Server
	if r := command(t.Context(), server, in, "run", path, "--input", "orders=-"); r.code != 0 || r.stderr != want {
		t.Errorf("one side: got %+v, want %q", r, want)
	}
	r := command(t.Context(), server, in, "run", path, "--input", "orders=-", "--input", "payments="+os.DevNull)
	if r.code != 0 || r.stderr != "" {
		t.Errorf("both sides: got %+v", r)
	}
}

// What no epoch took is told on standard error, and --strict fails where time should have completed it.
func TestRunTellsWhatIsLeft(t *testing.T) {
	t.Parallel()
	for overdue, want := range map[int64]error{0: nil, 1: terminal.ErrSaid} {
		var said bytes.Buffer
		r := &runTeller{
			t: terminal.New(nil, io.Discard, &said, os.Getenv), flags: &runFlags{strict: true}, lines: true,
		}
		s := graphd.RunStats{Left: "1 event is left of a\n", Overdue: overdue}
		if err := r.tell(&s, nil, 0, 0); !errors.Is(err, want) || said.String() != "graphd: 1 event is left of a\n" {
			t.Errorf("overdue %d: %v, said %q", overdue, err, &said)
		}
	}
}
