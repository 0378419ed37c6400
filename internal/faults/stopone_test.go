package faults

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// oneByOne is a graph with two inputs and an outbox.
const oneByOne = `graph: parts
accumulators:
  events: { source: { file: { path: ../events.ndjson, follow: true } }, emit: event.n, strategy: sequential }
  note: { strategy: sequential }
nodes: { newest: { expr: events }, noted: { expr: note } }
outputs:
  newest: { from: newest, sink: { file: { path: ../newest.ndjson } }, delivery: outbox }
  noted: { from: noted, sink: { drop: {} } }
durability: { interval: 50ms }
`

// TestM11StoppedOverKills: an input and an output are stopped, the daemon is killed, and both
// still are; started, they go on where they were, and after another kill nothing is missing (M11, W27).
func TestM11StoppedOverKills(t *testing.T) {
	t.Parallel()
	dir := declare(t, "parts", oneByOne)
	path, out := filepath.Join(dir, "events.ndjson"), filepath.Join(dir, "newest.ndjson")
	delivered := func() int {
		text, _ := os.ReadFile(out) // there is none before the first
		return strings.Count(string(text), "\n")
	}
	command := func(p *process, verb, part string) {
		t.Helper()
		p.changes("POST", "/v1/graphs/parts/"+verb, part)
	}
	const input, output = `{"accumulator":"events"}`, `{"output":"newest"}`
	appendNumbers(t, path, 0, 300) // more than the fingerprint of the file covers
	p := start(t, dir)
	p.until("all delivered", stuck, func() bool { return delivered() == 300 })
	command(p, "stop", output)
	appendNumbers(t, path, 300, 310)
	p.until("ten wait", stuck, func() bool { return p.summary("parts").Outputs[0].Pending == 10 })
	command(p, "stop", input)
	appendNumbers(t, path, 310, 330)
	p.kill()

	p = start(t, dir)
	p.until("its sibling runs", stuck, func() bool { return p.summary("parts").Health == "live" })
	if err := p.do("POST", "/v1/graphs/parts/accumulators/note/events", "1", nil); err != nil {
		t.Fatal(err)
	}
	p.until("it has fired", stuck, func() bool { return p.summary("parts").Counters.Consumed >= 311 })
	if err := p.do("POST", "/v1/graphs/parts/accumulators/events/events", `{"n":2}`, nil); err == nil ||
		!strings.Contains(err.Error(), "input_stopped") {
		t.Errorf("a push to the stopped input: %v", err)
	}
	s := p.summary("parts")
	if s.HealthReason.Code != "part_stopped" || s.Accumulators[0].Health != "stopped" || delivered() != 300 ||
		s.Accumulators[0].Counters.Consumed != 310 {
		t.Errorf("%d delivered, %+v", delivered(), s)
	}
	command(p, "start", input)
	p.until("the input goes on", stuck, func() bool { return p.summary("parts").Outputs[0].Pending == 30 })
	p.kill()

	p = start(t, dir)
	p.until("the input is back", stuck, func() bool {
		return p.summary("parts").Accumulators[0].Health == "live"
	})
	command(p, "start", output)
	p.until("all delivered", stuck, func() bool { return delivered() >= 330 })
	s = p.summary("parts")
	if err := s.balanced(); err != nil || s.Accumulators[0].Counters.Consumed != 330 || delivered() != 330 {
		t.Errorf("%v, %d delivered, %+v", err, delivered(), s)
	}
	if err := p.stop(); err != nil {
		t.Error(err)
	}
}
