package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tableGraph looks up rows that a file of changes keeps up to date. Every fifth key is deleted whenever it
// has come back.
const tableGraph = `graph: rows
accumulators:
  asks:
    source: { file: { path: ../asks.ndjson, follow: true } }
    strategy: sequential
  rows:
    source: { file: { path: ../changes.ndjson, follow: true } }
    table: { key: event.k, delete_when: 'event.k % 5 == 0 and event.n % 1000 >= 500' }
    emit: { k: event.k, n: event.n }
nodes:
  answer: { expr: '[asks.k, rows[asks.k]?.k, rows[asks.k]?.n, len(rows)]' }
outputs:
  answers: { from: answer, sink: { file: { path: ../answers.ndjson } } }
durability: { mode: MODE, interval: 50ms }
`

// TestKillWithTable kills the daemon at random moments while a table is changed and looked up (M3, M28, M29,
// M42): every change is in it once, each look-up finds a row of its key, and in the end the rows are those
// that the file describes, one by one.
func TestKillWithTable(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"checkpoint", "journal"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			killWithTable(t, strings.Replace(tableGraph, "MODE", mode, 1))
		})
	}
}

func killWithTable(t *testing.T, graph string) {
	const keys = 500
	dir := declare(t, "rows", graph)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	asks := startLines(ctx, t, filepath.Join(dir, "asks.ndjson"), 20, func(n int64) string {
		return fmt.Sprintf(`{"k":%d}`, n*7%keys)
	})
	changes := startLines(ctx, t, filepath.Join(dir, "changes.ndjson"), 20, func(n int64) string {
		return fmt.Sprintf(`{"k":%d,"n":%d}`, n%keys, n)
	})
	killAtRandom(t, dir, "rows", max(kills(t, 0)/8, 6), nil)
	cancel()
	<-asks.done
	<-changes.done
	asked, changed := asks.written.Load(), changes.written.Load()
	if changed < 2*keys {
		t.Fatalf("the test is void: %d changes", changed)
	}

	p := start(t, dir)
	p.until("all is taken in", stuck, func() bool {
		s := p.summary("rows")
		return s.Counters.Consumed == asked+changed && pending(&s) == 0
	})
	s := p.summary("rows")
	if err := s.balanced(); err != nil || s.Counters.Received != asked+changed {
		t.Errorf("%d events were received of %d: %v", s.Counters.Received, asked+changed, err)
	}
	for k := range int64(keys) {
		last := changed - 1 - (changed-1-k)%keys
		want := fmt.Sprintf(`{"k":%d,"n":%d}`, k, last)
		if k%5 == 0 && last%1000 >= 500 {
			want = "null"
		}
		var got struct {
			Row struct{ Value json.RawMessage }
		}
		if err := p.do("GET", fmt.Sprintf("/v1/graphs/rows/accumulators/rows?row=%d", k), "", &got); err != nil {
			t.Fatal(err)
		}
		if string(got.Row.Value) != want {
			t.Errorf("the row of %d is %s, want %s", k, got.Row.Value, want)
		}
	}
	if err := p.stop(); err != nil {
		t.Errorf("the daemon did not stop cleanly: %v\n%s", err, p.log)
	}
	answers(t, dir, asked, func(v [4]*int64) bool {
		if v[1] != nil && (*v[1] != *v[0] || *v[2]%keys != *v[0]) {
			t.Fatalf("a look-up of %d found %d", *v[0], *v[1])
		}
		return v[1] != nil
	})
}

// answers looks at what a graph put out to each of so many questions: an array of four, in which found says
// whether it holds a row, and and which ends the test where it is wrong.
func answers(t *testing.T, dir string, asked int64, found func(v [4]*int64) bool) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "answers.ndjson"))
	if err != nil {
		t.Fatal(err)
	}
	n, rows := int64(0), 0
	for text := range bytes.Lines(data) {
		var l struct{ Value [4]*int64 }
		if err := json.Unmarshal(text, &l); err != nil { // the last line before a kill may be torn
			continue
		}
		if n++; found(l.Value) {
			rows++
		}
	}
	if n < asked || rows == 0 {
		t.Errorf("%d answers to %d questions, %d of them with a row", n, asked, rows)
	}
}
