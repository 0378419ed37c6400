package faults

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// idleGraph has nothing to do, and dies with every process that the graph beside it takes down.
const idleGraph = `graph: idle
accumulators: { a: {} }
nodes: { n: { expr: a } }
outputs: { o: { from: n, sink: { drop: {} } } }
durability: { interval: 50ms }
`

func runs(health string) bool { return health == "warming" || health == "live" }

// TestM43CrashLoopOfTheProcess: an epoch that takes the process down each time it is tried is
// tried three times after that. Then the graph is quarantined and the daemon stays up, until an
// operator says that the cause is fixed. A graph beside it that tried nothing is not touched.
func TestM43CrashLoopOfTheProcess(t *testing.T) {
	dir := declare(t, "history", historyGraph)
	if err := os.WriteFile(filepath.Join(dir, "events.ndjson"), []byte("{\"n\":0}\n{\"n\":1}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "graphs", "idle.yaml"), []byte(idleGraph), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GRAPHD_FAILPOINT", "cut:1")
	for range 4 {
		dies(t, dir)
	}
	p := start(t, dir)
	p.until("the graph is quarantined", stuck, func() bool { return p.summary("history").Health == "failed" })
	if s := p.summary("history"); s.HealthReason.Code != "crash_loop" {
		t.Errorf("%+v", s.HealthReason)
	}
	p.until("the graph that tried nothing runs", stuck, func() bool { return runs(p.summary("idle").Health) })
	if err := p.stop(); err != nil {
		t.Errorf("the daemon did not stop cleanly: %v\n%s", err, p.log)
	}
	t.Setenv("GRAPHD_FAILPOINT", "")
	p = start(t, dir)
	p.until("it stays quarantined", stuck, func() bool { return p.summary("history").Health == "failed" })
	if err := p.do("POST", "/v1/graphs/history/restart", "{}", nil); err != nil {
		t.Fatal(err)
	}
	p.until("both fired", stuck, func() bool { return p.summary("history").Counters.Consumed == 2 })
}

// TestM43IdleKills: kills of the process are nothing that an idle graph did (M43).
func TestM43IdleKills(t *testing.T) {
	dir := declare(t, "idle", idleGraph)
	for range 5 {
		p := start(t, dir)
		p.until("it is there", stuck, func() bool { return runs(p.summary("idle").Health) })
		p.kill()
	}
	p := start(t, dir)
	p.until("it is there", stuck, func() bool { return runs(p.summary("idle").Health) })
	if err := p.do("POST", "/v1/graphs/idle/accumulators/a/events", `1`, nil); err != nil {
		t.Fatal(err)
	}
	p.until("it fires", stuck, func() bool { return p.summary("idle").Epoch == 1 })
	if err := p.stop(); err != nil {
		t.Error(err)
	}
}

// TestM44SkipLostOfTheProcess: a file that is not the one of the checkpoint halts its graph,
// and an operator's command lets it go on; the gap is counted and recorded.
func TestM44SkipLostOfTheProcess(t *testing.T) {
	dir := declare(t, "history", historyGraph)
	path := filepath.Join(dir, "events.ndjson")
	long := strings.Repeat("{\"n\":1}\n", 300) // more than the fingerprint covers
	if err := os.WriteFile(path, []byte(long), 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, dir)
	p.until("all fired", stuck, func() bool { return p.summary("history").Counters.Consumed == 300 })
	if err := p.stop(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("{\"n\":7}\n{\"n\":8}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p = start(t, dir)
	p.until("it is halted", stuck, func() bool { return p.summary("history").Health == "halted" })
	if s := p.summary("history"); s.HealthReason.Code != "source_data_lost" || s.Counters.Consumed != 300 {
		t.Errorf("%+v", s)
	}
	var answer skipped
	if err := p.do("POST", "/v1/graphs/history/skip-lost", `{"accumulator":"events"}`, &answer); err != nil {
		t.Fatal(err)
	}
	g := answer.Skipped
	if len(g) != 1 || !strings.HasSuffix(g[0].From, "@2400") || g[0].To != "start" || g[0].Reason != "replaced" {
		t.Errorf("gaps %+v", g)
	}
	if want := `graphd_source_gaps_total{accumulator="events",graph="history",tenant="default"} 1`; !strings.Contains(
		p.metrics(), want) {
		t.Errorf("the metrics have no %s", want)
	}
	p.kill() // where it goes on is durable
	p = start(t, dir)
	p.until("it goes on", stuck, func() bool { return p.summary("history").Counters.Consumed == 302 })
	if err := p.do("POST", "/v1/graphs/history/skip-lost", `{"accumulator":"events"}`, nil); err == nil ||
		!strings.Contains(err.Error(), "nothing_lost") {
		t.Errorf("a second time: %v", err)
	}
	var events struct{ Items []struct{ Kind string } }
	if err := p.do("GET", "/v1/graphs/history/recovery-events", "", &events); err != nil {
		t.Fatal(err)
	}
	kinds := map[string]bool{}
	for _, ev := range events.Items {
		kinds[ev.Kind] = true
	}
	if !kinds["source_data_lost"] || !kinds["gap_skipped"] {
		t.Errorf("recovery events %v", kinds)
	}
}
