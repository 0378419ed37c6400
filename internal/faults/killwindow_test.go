package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// windowsGraph folds the load into windows of a second of event time, a millisecond to an
// event, and writes them to a file.
const windowsGraph = `graph: windows
accumulators:
  events:
    source: { file: { path: ../events.ndjson, follow: true } }
    time: event.n
    window:
      tumbling: 1s
      lateness: 200ms
      key: event.n % 7
      aggregate: { n: count(), total: sum(event.n), first: first(event.n), kinds: distinct(event.n % 100) }
reactor: { strategy: sequential }
outputs:
  windows: { from: events, sink: { file: { path: WINDOWS } } }
durability: { interval: 50ms }
`

// TestKillWithOpenWindows kills the daemon at random moments under load (M3, M28, M42): a
// window is never handed over early, whatever it is restored from, and every copy of it that
// came out (the sink is at least once) is what a plain computation makes of the events.
func TestKillWithOpenWindows(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "graphs"), 0o700); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "windows.ndjson")
	if err := os.WriteFile(filepath.Join(dir, "graphs", "windows.yaml"), []byte(strings.Replace(windowsGraph, "WINDOWS", out, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	began := time.Now()
	l := startLoad(ctx, t, filepath.Join(dir, "events.ndjson"))
	rng := rand.New(rand.NewPCG(3, 4))
	n := max(kills(t, 0)/4, 10)
	for i := range n {
		p := start(t, dir)
		first, checkpoint := int64(-1), int64(0)
		p.until("going on", 20*time.Second, func() bool {
			s := p.summary("windows")
			if err := s.balanced(); err != nil {
				t.Fatalf("kill %d: %v", i, err)
			}
			if first < 0 {
				first, checkpoint = s.Counters.Received, s.Durability.CheckpointEpoch
			}
			// Every second time a new epoch is in a checkpoint first: three kills in a row without
			// one are a crash loop (M43).
			return s.Health == "live" && s.Counters.Received > first && (i%2 == 1 || s.Durability.CheckpointEpoch > checkpoint)
		})
		<-time.After(time.Duration(rng.IntN(300)) * time.Millisecond) // the random moment
		p.kill()
	}
	rate := float64(l.written.Load()) / time.Since(began).Seconds()
	cancel()
	<-l.done
	total := l.written.Load()
	closed := (total - 1 - 200) / 1000 // the windows whose end the watermark has reached

	p := start(t, dir)
	p.until("all is folded and what is complete is out", 60*time.Second, func() bool {
		c := p.summary("windows").Counters
		return c.Received == total && c.Consumed == closed*1000
	})
	s := p.summary("windows")
	if err := s.balanced(); err != nil || s.Counters.Queued != total-closed*1000 {
		t.Errorf("%v; %d of %d events are in open windows, want %d", err, s.Counters.Queued, total, total-closed*1000)
	}
	if err := p.stop(); err != nil {
		t.Errorf("the daemon did not stop cleanly: %v\n%s", err, p.log)
	}
	checkWindows(t, out, closed)
	if rate < 1000 {
		t.Errorf("the test is void: the load was %.0f events/s, below 1,000", rate)
	}
	t.Logf("%d kills at %.0f events/s: %d events in %d windows", n, rate, total, closed)
}

// checkWindows compares the lines of the sink with a plain computation.
func checkWindows(t *testing.T, path string, closed int64) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	type result struct{ N, Total, First, Kinds int64 }
	seen := map[string]bool{}
	for line := range strings.Lines(string(data)) {
		var got struct {
			Value struct {
				Key   int64
				Start time.Time
				result
			}
		}
		if err := json.Unmarshal([]byte(line), &got); err != nil {
			continue // a kill may leave half a line
		}
		from, key := got.Value.Start.UnixMilli(), got.Value.Key
		want, kinds := result{}, map[int64]bool{}
		for n := from; n < from+1000; n++ {
			if n%7 != key {
				continue
			}
			if want.N == 0 {
				want.First = n
			}
			want.N++
			want.Total += n
			kinds[n%100] = true
		}
		want.Kinds = int64(len(kinds))
		if got.Value.result != want {
			t.Fatalf("the window from %d of key %d is %+v, want %+v", from, key, got.Value.result, want)
		}
		seen[fmt.Sprint(from, key)] = true
	}
	if int64(len(seen)) != 7*closed {
		t.Errorf("%d groups came out, want 7 of each of %d windows", len(seen), closed)
	}
}
