package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"
)

// stagesGraph folds the load into windows of 200 ms of seven groups, and these into windows of a
// second of two.
const stagesGraph = `graph: windows
accumulators:
  fifths:
    source: { file: { path: ../events.ndjson, follow: true } }
    time: event.t
    window: { tumbling: 200ms, lateness: 50ms, key: event.n %% 7, aggregate: { n: count(), total: sum(event.n) } }
  whole:
    from: fifth
    time: event.start
    window:
      tumbling: 1s
      key: event.key %% 2
      aggregate: { parts: count(), n: sum(event.n), total: sum(event.total) }
reactor: { strategy: sequential }
nodes:
  fifth: { expr: fifths }
outputs:
  whole: { from: whole, sink: { file: { path: ../whole.ndjson } } }
idle: 5m
durability: { mode: %s, interval: 50ms }
`

// TestKillStages kills the daemon at random moments under load (M22, M26, M28, M42): every copy of a
// window of the second stage that comes out is what a plain computation makes of the events, none is
// missing, and both stages' books say what they have seen.
func TestKillStages(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"checkpoint", "journal"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			killStages(t, mode)
		})
	}
}

func killStages(t *testing.T, mode string) {
	t.Helper()
	dir := declare(t, "windows", fmt.Sprintf(stagesGraph, mode))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	l := startLines(ctx, t, filepath.Join(dir, "events.ndjson"), 20, func(n int64) string {
		return fmt.Sprintf(`{"n":%d,"t":%d}`, n, n)
	})
	rng := rand.New(rand.NewPCG(9, 6))
	n := max(kills(t, 0)/4, 8)
	for i := range n {
		killWindows(t, dir, i, rng)
	}
	for by := time.Now().Add(time.Minute); l.written.Load() < 5000 && time.Now().Before(by); {
		<-time.After(10 * time.Millisecond) // kills that come quickly leave little to see
	}
	cancel()
	<-l.done
	total := l.written.Load()
	fifths := (total - 1 - 50) / 200
	whole := fifths / 5

	p := start(t, dir)
	p.until("all is folded and what is complete is out", stuck, func() bool {
		s := p.summary("windows")
		first, second := s.Accumulators[0].Counters, s.Accumulators[1].Counters
		return first.Received == total && first.Queued == total-fifths*200 && second.Received == 7*fifths &&
			second.Queued == 7*(fifths-5*whole) && pending(&s) == 0
	})
	s := p.summary("windows")
	if err := s.balanced(); err != nil {
		t.Error(err)
	}
	if err := p.stop(); err != nil {
		t.Errorf("the daemon did not stop cleanly: %v\n%s", err, p.log)
	}
	checkWhole(t, filepath.Join(dir, "whole.ndjson"), whole)
	if whole < 3 {
		t.Errorf("the test is void: only %d windows of the second stage", whole)
	}
	t.Logf("%d kills: %d events in %d windows of the second stage", n, total, whole)
}

// checkWhole compares what came out with a plain computation.
func checkWhole(t *testing.T, path string, whole int64) {
	t.Helper()
	type second struct{ Key, Parts, N, Total int64 }
	type place struct{ from, key int64 }
	seen := map[place]bool{}
	for _, line := range sinkLines(t, path) {
		var got struct {
			Start time.Time
			second
		}
		if err := json.Unmarshal(line, &got); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		from, want := got.Start.UnixMilli(), second{Key: got.Key}
		for key := got.Key; key < 7; key += 2 {
			want.Parts += 5
		}
		for n := from; n < from+1000; n++ {
			if n%7%2 == got.Key {
				want.N++
				want.Total += n
			}
		}
		if got.second != want {
			t.Fatalf("the window from %d is %+v, want %+v", from, got.second, want)
		}
		seen[place{from, got.Key}] = true
	}
	if int64(len(seen)) != 2*whole {
		t.Errorf("%d groups came out, want both of %d windows", len(seen), whole)
	}
}
