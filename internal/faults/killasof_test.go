package faults

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// asOfGraph looks up rows as they were when a question was asked, which the changes are far ahead of.
const asOfGraph = `graph: then
accumulators:
  asks:
    source: { file: { path: ../asks.ndjson, follow: true } }
    time: event.at
    strategy: sequential
  rows:
    source: { file: { path: ../changes.ndjson, follow: true } }
    time: event.n
    table:
      key: event.k
      delete_when: 'event.k % 5 == 0 and event.n % 1000 >= 500'
      as_of: event
      max_versions: 1000000
    emit: event.n
nodes:
  answer: { expr: '[asks.k, asks.at, rows[asks.k], len(rows)]' }
outputs:
  answers: { from: answer, sink: { file: { path: ../answers.ndjson } } }
durability: { mode: MODE, interval: 50ms }
`

// The keys of the rows, and how many changes a question is behind: what is read of the changes is not so far
// behind what is read of the questions, however busy the machine is.
const (
	asOfKeys   = 500
	asOfBehind = 10_000
)

// rowThen is the last change of a key up to n; ok is false where that deleted the row, or there is none.
func rowThen(k, n int64) (last int64, ok bool) {
	last = n - (n-k+asOfKeys)%asOfKeys
	return last, last >= 0 && !(k%5 == 0 && last%1000 >= 500)
}

// TestKillWithTableAsOf kills the daemon at random moments while rows are changed and looked up as they were
// (M3, M26, M28, M29): every answer is what the file says of that time.
func TestKillWithTableAsOf(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"checkpoint", "journal"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			killWithTableAsOf(t, strings.Replace(asOfGraph, "MODE", mode, 1))
		})
	}
}

func killWithTableAsOf(t *testing.T, graph string) {
	dir := declare(t, "then", graph)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	change := func(n int64) string { return fmt.Sprintf(`{"k":%d,"n":%d}`, n%asOfKeys, n) }
	var before strings.Builder
	for n := range int64(asOfBehind) {
		before.WriteString(change(n) + "\n")
	}
	if err := os.WriteFile(filepath.Join(dir, "changes.ndjson"), []byte(before.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	changes := startLines(ctx, t, filepath.Join(dir, "changes.ndjson"), 20, func(n int64) string {
		return change(n + asOfBehind)
	})
	asks := startLines(ctx, t, filepath.Join(dir, "asks.ndjson"), 20, func(n int64) string {
		return fmt.Sprintf(`{"k":%d,"at":%d}`, n*7%asOfKeys, changes.written.Load())
	})
	killAtRandom(t, dir, "then", max(kills(t, 0)/8, 6), nil)
	cancel()
	<-asks.done
	<-changes.done
	asked, changed := asks.written.Load(), changes.written.Load()+asOfBehind
	p := start(t, dir)
	p.until("all is taken in", stuck, func() bool {
		s := p.summary("then")
		return s.Counters.Consumed == asked+changed && pending(&s) == 0
	})
	if s := p.summary("then"); s.Counters.Received != asked+changed {
		t.Errorf("%d events were received of %d", s.Counters.Received, asked+changed)
	}
	if err := p.stop(); err != nil {
		t.Errorf("the daemon did not stop cleanly: %v\n%s", err, p.log)
	}
	answers(t, dir, asked, func(v [4]*int64) bool {
		last, ok := rowThen(*v[0], *v[1])
		if ok != (v[2] != nil) || ok && *v[2] != last {
			t.Fatalf("as of %d the row of %d is to be %d, %t", *v[1], *v[0], last, ok)
		}
		return ok
	})
}
