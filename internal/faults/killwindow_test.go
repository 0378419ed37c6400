package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// windowsGraph folds the load into windows of a second of event time, a millisecond to an
// event, and writes them to files. Its inputs read the same events, some of their fields as
// they came or shaped, and have every policy for those that are late.
const windowsGraph = `graph: windows
accumulators:
  plain:
    source: { file: { path: ../events.ndjson, follow: true } }
    time: event.t
    window:
      tumbling: 1s
      lateness: 200ms
      key: event.n % 7
      late: strays
      aggregate: { n: count(), total: sum(event.n), first: first(event.n), kinds: distinct(event.n % 100) }
  shaped:
    source: { file: { path: ../events.ndjson, follow: true } }
    time: event.t
    emit: '{ "n": event.n, "pad": event.pad }'
    window:
      tumbling: 1s
      lateness: 200ms
      key: event.n % 7
      late: update
      retain: 1h
      aggregate: { n: count(), total: sum(event.n), first: min(event.n), kinds: distinct(event.n % 100) }
  letters:
    source: { file: { path: ../events.ndjson, follow: true } }
    time: event.t
    where: event.n >= 0
    window: { tumbling: 1s, lateness: 200ms, late: dead_letter, aggregate: { n: count() } }
reactor: { strategy: sequential }
nodes:
  numbers: { expr: strays.n }
outputs:
  plain: { from: plain, sink: { file: { path: ../plain.ndjson } } }
  shaped: { from: shaped, sink: { file: { path: ../shaped.ndjson } } }
  strays: { from: strays, sink: { file: { path: ../strays.ndjson } } }
  numbers: { from: numbers, sink: { drop: {} } }
  letters: { from: letters, sink: { drop: {} } }
durability: { interval: 50ms }
`

// How the load of windows is late: one event in so many, by so much, from lateFrom on.
const (
	lateEach = 50
	lateBy   = 3000
	lateFrom = 5000
)

func isLate(n int64) bool { return n >= lateFrom && n%lateEach == lateEach-1 }

// timedEvent is one event of the load; the windows do not read its padding.
func timedEvent(n int64) string {
	at := n
	if isLate(n) {
		at -= lateBy
	}
	return fmt.Sprintf(`{"n":%d,"t":%d,"pad":"%s"}`, n, at, strings.Repeat(string(rune('a'+n%26)), int(n%30)))
}

// lateUpTo is how many of the events before n are late.
func lateUpTo(n int64) (count int64) { return max(0, n/lateEach-lateFrom/lateEach) }

// TestKillWithOpenWindows kills the daemon at random moments under load (M3, M28, M42): a
// window is never handed over early, whatever it is restored from, and every copy of it that
// came out (the sink is at least once) is what a plain computation makes of the events. What
// is late comes to where its policy says, whole, and is counted once.
func TestKillWithOpenWindows(t *testing.T) {
	t.Parallel()
	dir := declare(t, "windows", windowsGraph)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	began := time.Now()
	l := startLines(ctx, t, filepath.Join(dir, "events.ndjson"), 20, timedEvent)
	rng := rand.New(rand.NewPCG(3, 4))
	n := max(kills(t, 0)/4, 10)
	for i := range n {
		killWindows(t, dir, i, rng)
	}
	rate := float64(l.written.Load()) / time.Since(began).Seconds()
	cancel()
	<-l.done
	total := l.written.Load()
	closed := (total - 1 - 200) / 1000 // the windows whose end the watermark has reached
	if isLate(total - 1) {
		closed = (total - 2 - 200) / 1000
	}

	p := start(t, dir)
	p.until("all is folded and what is complete is out", stuck, func() bool {
		s := p.summary("windows")
		for _, a := range s.Accumulators[:3] { // as they are declared
			if a.Counters.Received != total {
				return false
			}
		}
		return s.Counters.Queued == openEvents(total, closed) && pending(&s) == 0
	})
	// Late events account for nothing where they come out, and their letters come with a checkpoint.
	p.changes("POST", "/v1/graphs/windows/drain", "")
	s := p.summary("windows")
	late := lateUpTo(total)
	for i, want := range []counters{{Filtered: late}, {}, {DeadLettered: late}} {
		c := s.Accumulators[i].Counters
		if c.Filtered != want.Filtered || c.DeadLettered != want.DeadLettered || c.Received != total {
			t.Errorf("%s: %+v of %d events, of which %d are late", s.Accumulators[i].Name, c, total, late)
		}
	}
	if err := s.balanced(); err != nil {
		t.Error(err)
	}
	checkLateLetters(t, p, total)
	if err := p.stop(); err != nil {
		t.Errorf("the daemon did not stop cleanly: %v\n%s", err, p.log)
	}
	checkWindows(t, filepath.Join(dir, "plain.ndjson"), total, closed, false)
	checkWindows(t, filepath.Join(dir, "shaped.ndjson"), total, closed, true)
	checkStrays(t, filepath.Join(dir, "strays.ndjson"), total)
	if late < 10 {
		t.Errorf("the test is void: %d events were late, below 10", late)
	}
	t.Logf("%d kills at %.0f events/s: %d events in %d windows, %d late", n, rate, total, closed, late)
}

// killWindows starts the daemon and kills it at a random moment, when it has gone on.
func killWindows(t *testing.T, dir string, i int, rng *rand.Rand) {
	t.Helper()
	p := start(t, dir)
	first, checkpoint := int64(-1), int64(0)
	p.until("going on", stuck, func() bool {
		s := p.summary("windows")
		if err := s.balanced(); err != nil {
			t.Fatalf("kill %d: %v", i, err)
		}
		if first < 0 && s.Health == "live" {
			first, checkpoint = s.Counters.Received, s.Durability.CheckpointEpoch
		}
		// Every second time a new epoch is in a checkpoint first: three kills in a row without
		// one are a crash loop (M43).
		return first >= 0 && s.Counters.Received > first &&
			(i%2 == 1 || s.Durability.CheckpointEpoch > checkpoint)
	})
	<-time.After(time.Duration(rng.IntN(300)) * time.Millisecond) // the random moment
	p.kill()
}

// pending is how many values wait to be delivered.
func pending(s *summary) (n int64) {
	for _, o := range s.Outputs {
		n += o.Pending
	}
	return n
}

// openEvents is how many events the three inputs hold in windows that are not complete.
func openEvents(total, closed int64) (n int64) {
	for e := closed * 1000; e < total; e++ {
		if !isLate(e) {
			n++
		}
	}
	return 3 * n
}

// window is what comes out of one for one key.
type window struct {
	N, Total, First, Kinds int64
}

// plainWindow computes one, of the events that came in time and of the first so many late ones.
func plainWindow(from, key, total int64, late int) window {
	var w window
	kinds := map[int64]bool{}
	take := func(n int64) {
		if w.N == 0 || n < w.First {
			w.First = n
		}
		w.N++
		w.Total += n
		kinds[n%100] = true
	}
	for n := from; n < from+1000; n++ {
		if n%7 == key && !isLate(n) {
			take(n)
		}
	}
	for n := from + lateBy; n < from+lateBy+1000 && n < total && late > 0; n++ {
		if n%7 == key && isLate(n) {
			take(n)
			late--
		}
	}
	w.Kinds = int64(len(kinds))
	return w
}

// checkWindows compares the lines of the sink with a plain computation. In updates any number
// of the late events may be in, in the last of them all are.
func checkWindows(t *testing.T, path string, total, closed int64, updates bool) {
	t.Helper()
	type place struct{ from, key int64 }
	seen := map[place]window{}
	for _, line := range sinkLines(t, path) {
		var got struct {
			Key   int64
			Start time.Time
			window
		}
		if err := json.Unmarshal(line, &got); err != nil {
			t.Fatalf("%s: %s: %v", filepath.Base(path), line, err)
		}
		at := place{got.Start.UnixMilli(), got.Key}
		in := plainWindow(at.from, at.key, total, 0)
		for late := 1; updates && got.window != in && late <= 1000/lateEach; late++ {
			in = plainWindow(at.from, at.key, total, late)
		}
		if got.window != in {
			t.Fatalf("%s: the window from %d of key %d is %+v", filepath.Base(path), at.from, at.key, got.window)
		}
		if seen[at].N < in.N {
			seen[at] = in
		}
	}
	if int64(len(seen)) != 7*closed {
		t.Errorf("%s: %d groups came out, want 7 of each of %d windows", filepath.Base(path), len(seen), closed)
	}
	for at, w := range seen {
		if want := plainWindow(at.from, at.key, total, 1000); updates && w != want {
			t.Errorf("%s: the window from %d of key %d ends as %+v, want %+v", filepath.Base(path), at.from, at.key, w,
				want)
		}
	}
}

// sinkLines are the values of the whole lines that a file sink has written; a kill may leave
// half a one.
func sinkLines(t *testing.T, path string) (values []json.RawMessage) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		var l struct{ Value json.RawMessage }
		if json.Unmarshal([]byte(line), &l) == nil {
			values = append(values, l.Value)
		}
	}
	return values
}

// sameJSON says whether a value is the whole event that was sent.
func sameJSON(value []byte, event string) bool {
	var got, want map[string]any
	return json.Unmarshal(value, &got) == nil && json.Unmarshal([]byte(event), &want) == nil &&
		fmt.Sprint(got) == fmt.Sprint(want)
}

// checkStrays holds what came out of an input for late events: all of them, each whole.
func checkStrays(t *testing.T, path string, total int64) {
	t.Helper()
	var seen []int64
	for _, value := range sinkLines(t, path) {
		var v struct{ N int64 }
		if err := json.Unmarshal(value, &v); err != nil || !isLate(v.N) || !sameJSON(value, timedEvent(v.N)) {
			t.Fatalf("a late event is %s, want %s", value, timedEvent(v.N))
		}
		seen = append(seen, v.N)
	}
	slices.Sort(seen)
	if got := int64(len(slices.Compact(seen))); got != lateUpTo(total) {
		t.Errorf("%d late events came out, want %d", got, lateUpTo(total))
	}
}

// checkLateLetters holds the dead letters: each late event once, with its own bytes.
func checkLateLetters(t *testing.T, p *process, total int64) {
	t.Helper()
	seen := map[int64]int{}
	for cursor := ""; ; {
		var page struct {
			Items []struct {
				Code    string
				Payload json.RawMessage
			}
			Next string `json:"next"`
		}
		path := "/v1/graphs/windows/dead-letters?limit=1000"
		if cursor != "" {
			path += "&before=" + url.QueryEscape(cursor)
		}
		if err := p.do("GET", path, "", &page); err != nil {
			t.Fatal(err)
		}
		for _, l := range page.Items {
			var v struct{ N int64 }
			if err := json.Unmarshal(l.Payload, &v); err != nil || l.Code != "late_event" ||
				!sameJSON(l.Payload, timedEvent(v.N)) {
				t.Fatalf("a dead letter %s holds %s: %v", l.Code, l.Payload, err)
			}
			seen[v.N]++
		}
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	for n, times := range seen {
		if times != 1 || !isLate(n) {
			t.Errorf("event %d is %d times a dead letter", n, times)
		}
	}
	if int64(len(seen)) != lateUpTo(total) {
		t.Errorf("%d dead letters, want %d", len(seen), lateUpTo(total))
	}
}
