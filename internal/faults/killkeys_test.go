package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// joinGraph joins two files by key: more keys wait for their other half at any time than an
// input has room for.
const joinGraph = `graph: join
accumulators:
  orders:
    source: { file: { path: ../orders.ndjson, follow: true } }
    capacity: 100
  payments:
    source: { file: { path: ../payments.ndjson, follow: true } }
    capacity: 100
reactor: { when: all, strategy: sequential, key: n }
nodes:
  pair: { expr: '[key, orders.n, payments.n]' }
outputs:
  pairs: { from: pair, sink: { file: { path: ../pairs.ndjson } } }
durability: { interval: 50ms }
`

// joinBlock is how many orders there are before the first of their payments.
const joinBlock = 2000

// paid is the order that payment n is for: they come block by block, the newest order first.
func paid(n int64) int64 { return n - n%joinBlock + joinBlock - 1 - n%joinBlock }

// TestKillWithWaitingKeys kills the daemon at random moments while thousands of keys wait for
// their other half (M13, M28, M42): each pair comes out, nothing else does, and what waits in the
// end is what has no other half.
func TestKillWithWaitingKeys(t *testing.T) {
	t.Parallel()
	dir := declare(t, "join", joinGraph)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	line := func(n int64) string { return fmt.Sprintf(`{"n":%d}`, n) }
	orders := startLines(ctx, t, filepath.Join(dir, "orders.ndjson"), 20, line)
	payments := startLines(ctx, t, filepath.Join(dir, "payments.ndjson"), 20, func(n int64) string {
		return line(paid(n))
	})
	most := 0
	killAtRandom(t, dir, "join", max(kills(t, 0)/4, 10), func(_ *process, s summary) {
		most = max(most, int(s.Counters.Queued))
	})
	cancel()
	<-orders.done
	<-payments.done
	ordered, payed := orders.written.Load(), payments.written.Load()
	both := map[int64]bool{}
	for n := range payed {
		if id := paid(n); id < ordered {
			both[id] = true
		}
	}
	alone := ordered + payed - 2*int64(len(both))

	p := start(t, dir)
	p.until("all pairs are out", stuck, func() bool {
		s := p.summary("join")
		return s.Counters.Received == ordered+payed && s.Counters.Queued == alone && pending(&s) == 0
	})
	s := p.summary("join")
	if err := s.balanced(); err != nil {
		t.Error(err)
	}
	if s.Counters.DeadLettered != 0 || s.Counters.Consumed != 2*int64(len(both)) {
		t.Errorf("%+v for %d pairs", s.Counters, len(both))
	}
	if err := p.stop(); err != nil {
		t.Errorf("the daemon did not stop cleanly: %v\n%s", err, p.log)
	}
	data, err := os.ReadFile(filepath.Join(dir, "pairs.ndjson"))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int64]bool{}
	for text := range bytes.Lines(data) {
		var l struct{ Value [3]int64 }
		if err := json.Unmarshal(text, &l); err != nil { // the last line before a kill may be torn
			continue
		}
		if v := l.Value; v[1] != v[0] || v[2] != v[0] || !both[v[0]] {
			t.Fatalf("a pair is %v", v)
		}
		seen[l.Value[0]] = true
	}
	if len(seen) != len(both) {
		t.Errorf("%d of %d pairs came out", len(seen), len(both))
	}
	if most < 1000 {
		t.Errorf("the test is void: at most %d events waited at once", most)
	}
	t.Logf("%d pairs, %d alone, up to %d waiting", len(both), alone, most)
}
