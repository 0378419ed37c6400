package faults

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// poisonedGraph makes its events durable with the journal alone: no checkpoint is due for long.
const poisonedGraph = `graph: poisoned
accumulators: { events: { strategy: sequential, emit: event.n } }
nodes: { n: { expr: events } }
outputs: { out: { from: n, sink: { drop: {} } } }
durability: { mode: journal, interval: 60s }
`

// TestM43PoisonJournalEntry: an entry of the journal whose replay takes the process down is tried
// three times. Then its graph is quarantined, and the daemon stays up with the graph beside it.
// When the cause is fixed the graph goes on, with all that was acknowledged.
func TestM43PoisonJournalEntry(t *testing.T) {
	dir := declare(t, "poisoned", poisonedGraph)
	if err := os.WriteFile(filepath.Join(dir, "graphs", "idle.yaml"), []byte(idleGraph), 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, dir)
	const events = 5
	for n := range events {
		if err := p.do("POST", "/v1/graphs/poisoned/accumulators/events/events", fmt.Sprintf(`{"n":%d}`, n),
			nil); err != nil {
			t.Fatal(err)
		}
	}
	p.until("all fired", stuck, func() bool { return p.summary("poisoned").Counters.Consumed == events })
	p.kill()
	t.Setenv("GRAPHD_FAILPOINT", "replay:2")
	for range 3 {
		dies(t, dir)
	}
	p = start(t, dir)
	p.until("it is quarantined", stuck, func() bool { return p.summary("poisoned").Health == "failed" })
	if s := p.summary("poisoned"); s.HealthReason.Code != "crash_loop" {
		t.Errorf("%+v", s.HealthReason)
	}
	p.until("the graph beside it runs", stuck, func() bool { return runs(p.summary("idle").Health) })
	if err := p.stop(); err != nil {
		t.Errorf("the daemon did not stop cleanly: %v\n%s", err, p.log)
	}
	t.Setenv("GRAPHD_FAILPOINT", "")
	p = start(t, dir)
	p.until("it stays quarantined", stuck, func() bool { return p.summary("poisoned").Health == "failed" })
	if err := p.do("POST", "/v1/graphs/poisoned/restart", "{}", nil); err != nil {
		t.Fatal(err)
	}
	p.until("it goes on", stuck, func() bool { return runs(p.summary("poisoned").Health) })
	if c := p.summary("poisoned").Counters; c.Consumed != events || c.Received != events {
		t.Errorf("after the journal: %+v", c)
	}
	if err := p.stop(); err != nil {
		t.Error(err)
	}
}
