package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// lateGraph lists which events each window holds, and which came late: each must be in one
// or the other. The windows read two of three fields.
const lateGraph = `graph: effects
accumulators:
  events:
    time: event.t
    window: { tumbling: 1s, lateness: 2s, late: strays, aggregate: { ids: "collect(event.n, 10000)" } }
reactor: { strategy: sequential }
outputs:
  windows: { from: events, sink: { file: { path: ../windows.ndjson } } }
  strays: { from: strays, sink: { file: { path: ../strays.ndjson } } }
durability: { mode: journal, interval: 300ms }
`

// strayBy is by how much every fiftieth push is late.
const strayBy = 10_000

func strayEvent(n int64) string {
	at := n
	if n >= strayBy && n%50 == 0 {
		at -= strayBy
	}
	return fmt.Sprintf(`{"n":%d,"t":%d,"pad":"%s"}`, n, at, strings.Repeat(string(rune('a'+n%26)), int(n%40)))
}

// TestKillJournaledLate kills the daemon while clients push into journaled windows of which
// some fields are read, and a part of what they push is late (M3, M29): each push that was
// acknowledged is in one window or among the late ones, once and whole, and what left before
// a kill leaves again with the same id and content, or not at all.
func TestKillJournaledLate(t *testing.T) {
	t.Parallel()
	n := someKills(t, journalPoints)
	dir := declare(t, "effects", lateGraph)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	clients := startPushersOf(ctx, "/v1/graphs/effects/accumulators/events/events", 8, strayEvent)
	rng := rand.New(rand.NewPCG(11, 12))
	for i := range n {
		killed(t, dir, i, journalPoints, rng, func(p *process) { clients.base.Store(&p.base) })
	}
	p := start(t, dir, "--push-timeout", "1m") // what is pushed last is pushed once
	clients.base.Store(&p.base)
	enough := clients.next.Load() + 2*strayBy // so that some are late without a kill, too
	p.drains("some more without a kill", func() int64 { return enough - clients.next.Load() })
	cancel()
	clients.wg.Wait()
	end := clients.next.Load()
	last := fmt.Sprintf(`{"n":%d,"t":%d}`, end, end+1_000_000) // closes all windows but its own
	if err := p.do("POST", "/v1/graphs/effects/accumulators/events/events", last, nil); err != nil {
		t.Fatal(err)
	}
	p.drains("events of all windows but the last", func() int64 {
		s := p.summary("effects")
		open := s.Counters.Queued - 1 // the last event is in a window that stays open
		return 2*max(open, -open) + pending(&s)
	})
	// Late events account for nothing where they come out.
	p.changes("POST", "/v1/graphs/effects/drain", "")
	s := p.summary("effects")
	if err := s.balanced(); err != nil {
		t.Error(err)
	}
	if err := p.stop(); err != nil {
		t.Errorf("the daemon did not stop cleanly: %v\n%s", err, p.log)
	}
	where := make([]int, end) // in how many windows and among the late ones an event is
	for _, value := range stableLines(t, filepath.Join(dir, "windows.ndjson")) {
		var w struct{ IDs []int64 }
		if err := json.Unmarshal(value, &w); err != nil {
			t.Fatal(err)
		}
		for _, n := range w.IDs {
			where[n]++
		}
	}
	late := 0
	for _, value := range stableLines(t, filepath.Join(dir, "strays.ndjson")) {
		var v struct{ N int64 }
		if err := json.Unmarshal(value, &v); err != nil || v.N >= end || !sameJSON(value, strayEvent(v.N)) {
			t.Fatalf("a late event is %s, want %s", value, strayEvent(v.N))
		}
		where[v.N]++
		late++
	}
	lost, doubled := 0, 0
	for _, n := range clients.acked {
		if where[n] == 0 {
			lost++
		}
	}
	for _, times := range where {
		if times > 1 {
			doubled++
		}
	}
	if lost > 0 || doubled > 0 || len(clients.bad) > 0 {
		t.Errorf("%d acknowledged events are lost, %d events are doubled, answers %v", lost, doubled, clients.bad)
	}
	if each := len(clients.acked) / n; each < 2*pushBatch || late < 100 {
		t.Errorf("the test is void: %d events were acknowledged between two kills, below %d, or %d were late, below "+
			"100", each, 2*pushBatch, late)
	}
	t.Logf("%d kills: %d acknowledged, %d pushed, %d late", n, len(clients.acked), end, late)
}

// stableLines are the values of the lines that a file sink has written, one of each firing
// id: all of one id must be the same.
func stableLines(t *testing.T, path string) (values []json.RawMessage) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]json.RawMessage{}
	for line := range strings.Lines(string(data)) {
		var l struct {
			ID    string `json:"firing_id"`
			Value json.RawMessage
		}
		if json.Unmarshal([]byte(line), &l) != nil {
			continue // a kill has left half a line
		}
		if old, again := seen[l.ID]; again && !bytes.Equal(old, l.Value) {
			t.Fatalf("%s: two values under one id: %s and %s", filepath.Base(path), old, l.Value)
		} else if !again {
			seen[l.ID] = l.Value
			values = append(values, l.Value)
		}
	}
	return values
}
