package faults

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// lanesGraph asks a service about each number, and at the ticks of a lane about the newest one. Those of another lane
// come more often than answers do, so that ticks come while an epoch of a number waits, and numbers while a tick does.
const lanesGraph = `graph: effects
accumulators:
  events: { source: { file: { path: ../events.ndjson, follow: true } }, strategy: sequential }
lanes:
  beat: { fixed_rate: { period: 2ms } }
  ask: { fixed_rate: { period: 20ms } }
nodes:
  score:
    http: { url: "%[1]s", body: events, timeout: 2s }
    retry: { base: 5ms, max: 50ms }
  answer: { expr: '{ "n": events.n, "risk": score.risk }' }
  newest:
    http: { url: "%[1]s", body: events, timeout: 2s }
    retry: { base: 5ms, max: 50ms }
    lane: ask
  asked: { expr: '{ "n": events.n, "risk": newest.risk }', lane: ask }
  beats: { expr: '(beats ?? 0) + 1', delay: [beats], lane: beat }
  tick: { expr: '{ "beat": beats, "n": events.n, "at": now() }', lane: beat }
outputs:
  answers: { from: answer, delivery: outbox, sink: { file: { path: ../answers.ndjson } } }
  asked: { from: asked, delivery: outbox, sink: { file: { path: ../asked.ndjson } } }
  ticks: { from: tick, delivery: outbox, sink: { file: { path: ../ticks.ndjson } } }
durability: { mode: %[2]s, interval: %[3]s }
`

// TestKillLanes kills the daemon while epochs of events and ticks of a lane at a fixed rate wait for answers (M22, M23,
// M28, M29): each number has its own answer, once and in order; the ticks are counted without a gap, each at an instant
// of its own and with the answer that is its own, and they keep no number from coming.
func TestKillLanes(t *testing.T) {
	t.Parallel()
	// Of a journal there is to be something to replay.
	for mode, interval := range map[string]string{"checkpoint": "50ms", "journal": "500ms"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			killLanes(t, mode, interval)
		})
	}
}

func killLanes(t *testing.T, mode, interval string) {
	service := &scorer{asked: map[int64]int{}}
	server := httptest.NewServer(service)
	t.Cleanup(server.Close)
	dir := declare(t, "effects", fmt.Sprintf(lanesGraph, server.URL, mode, interval))
	total := killedWith(t, dir, pointsOf(mode), 100, rand.New(rand.NewPCG(17, 18)))
	p := start(t, dir)
	p.durablyThrough(unconsumed(total))
	if s := p.summary("effects"); s.Counters.Consumed != total || s.Counters.DeadLettered != 0 {
		t.Errorf("%+v", s.Counters)
	}
	if err := p.stop(); err != nil {
		t.Errorf("the daemon did not stop cleanly: %v\n%s", err, p.log)
	}
	answers := firstOf[putOut](t, filepath.Join(dir, "answers.ndjson"))
	for i, a := range answers {
		if a.N != int64(i) || a.Risk != riskOf(a.N) {
			t.Fatalf("answer %d of %d is %+v", i, len(answers), a)
		}
	}
	if int64(len(answers)) != total {
		t.Errorf("%d of %d numbers are answered", len(answers), total)
	}
	ticks := firstOf[putOut](t, filepath.Join(dir, "ticks.ndjson"))
	instant := func(at time.Time) int64 { return at.UnixNano() / int64(2*time.Millisecond) }
	for i := range ticks[min(1, len(ticks)):] {
		before, tick := ticks[i], ticks[i+1]
		if tick.Beat != before.Beat+1 || tick.N < before.N || instant(tick.At) <= instant(before.At) {
			t.Fatalf("tick %d of %d is %+v, after %+v", i+1, len(ticks), tick, before)
		}
	}
	asked := firstOf[putOut](t, filepath.Join(dir, "asked.ndjson"))
	for i, tick := range asked {
		if tick.Risk != riskOf(tick.N) {
			t.Fatalf("tick %d of those that ask is %+v", i, tick)
		}
	}
	if len(ticks) < 50 || len(asked) < 5 {
		t.Errorf("the test is void: only %d ticks, and %d that ask", len(ticks), len(asked))
	}
	calls := 0
	for _, n := range service.asked {
		calls += n
	}
	t.Logf("%d numbers and %d ticks, each with its own answer, by %d calls; %d other ticks", total, len(asked), calls,
		len(ticks))
}

// putOut is what the graph puts out of a number, or of a tick.
type putOut struct {
	Beat, N, Risk int64
	At            time.Time
}

// firstOf reads what a file sink has written, each firing once.
func firstOf[T any](t *testing.T, path string) (list []T) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for line := range bytes.Lines(data) {
		var l struct {
			FiringID string `json:"firing_id"`
			Value    T
		}
		if json.Unmarshal(line, &l) != nil || seen[l.FiringID] {
			continue // torn by a kill, and written again; or written twice
		}
		seen[l.FiringID] = true
		list = append(list, l.Value)
	}
	return list
}
