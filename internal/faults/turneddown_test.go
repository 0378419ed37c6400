package faults

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // the ledger is read as an operator reads it
)

// Graphs whose guards let nothing through: one turns every cut down, one waits for what never comes.
const (
	turnsDown = `graph: down
accumulators: { a: { strategy: sequential } }
reactor: { guard: a > 100 }
nodes: { n: { expr: a } }
outputs: { o: { from: n, sink: { drop: {} } } }
durability: { interval: 20ms }
`
	waitsForMore = `graph: waits
accumulators: { a: { strategy: sequential }, b: { passive: true } }
reactor: { guard: a > b }
nodes: { n: { expr: a } }
outputs: { o: { from: n, sink: { drop: {} } } }
durability: { interval: 20ms }
`
)

// TestM43KillsBesideAGuard: a process that is killed while a guard has turned every cut down, or waits for more, has
// not died of an epoch: there was none.
func TestM43KillsBesideAGuard(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		dir := declare(t, "down", turnsDown)
		killedBeside(t, dir, func() (attempts int64) {
			db, err := sql.Open("sqlite", filepath.Join(dir, "data", "graphd.db")+"?_pragma=busy_timeout(20000)")
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = db.Close() }()
			if err := db.QueryRowContext(t.Context(), openAttempts+"graph_head").Scan(&attempts); err != nil {
				t.Fatal(err)
			}
			return attempts
		})
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		dsn, db := database(t)
		killedBeside(t, declare(t, "down", turnsDown), func() (attempts int64) {
			if err := db.QueryRow(context.Background(), openAttempts+"graphd.graph_head").Scan(&attempts); err != nil {
				t.Fatal(err)
			}
			return attempts
		}, "--store", dsn, "--lease", "2s") // a shorter one is lost on a busy machine, with what was pushed last
	})
}

// TestM43CrashLoopOfAGuard: what takes the process down before an epoch has come of it is found as an epoch is.
func TestM43CrashLoopOfAGuard(t *testing.T) {
	dir := declare(t, "history", strings.Replace(historyGraph, "reactor: {", "reactor: { guard: len(events) < 0,", 1))
	if err := os.WriteFile(filepath.Join(dir, "events.ndjson"), []byte("{\"n\":0}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GRAPHD_FAILPOINT", "cut:1")
	for range 4 {
		dies(t, dir)
	}
	p := start(t, dir)
	p.until("the graph is quarantined", stuck, func() bool { return p.summary("history").Health == "failed" })
	if s := p.summary("history"); s.HealthReason.Code != "crash_loop" || s.Epoch != 0 {
		t.Errorf("%+v at epoch %d", s.HealthReason, s.Epoch)
	}
}

// takes has a graph take an event, until it shows that it has. What is in no checkpoint goes with a lease that is lost,
// as on a busy machine it may be: the event is pushed again to the run that comes then.
func (p *process) takes(graph, input, event string, shows func(s *summary) bool) {
	p.t.Helper()
	given := int64(0) // the run that has it
	p.until(graph+" has taken "+event, stuck, func() bool {
		s := p.summary(graph)
		switch {
		case !runs(s.Health):
			return false
		case shows(&s):
			return true
		case s.Incarnation != given &&
			p.do("POST", "/v1/graphs/"+graph+"/accumulators/"+input+"/events", event, nil) == nil:
			given = s.Incarnation
		}
		return false
	})
}

// openAttempts are those that no commit has made void.
const openAttempts = "SELECT coalesce(sum(CASE WHEN attempted_epoch > epoch THEN attempts ELSE 0 END), 0) FROM "

func killedBeside(t *testing.T, dir string, attempts func() int64, args ...string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "graphs", "waits.yaml"), []byte(waitsForMore), 0o600); err != nil {
		t.Fatal(err)
	}
	up := func() *process {
		t.Helper()
		p := start(t, dir, args...)
		for _, graph := range []string{"down", "waits"} {
			p.until(graph+" runs", stuck, func() bool {
				s := p.summary(graph)
				if s.Health == "failed" {
					t.Fatalf("%s: %+v", graph, s.HealthReason)
				}
				return runs(s.Health)
			})
		}
		return p
	}
	for life := range int64(5) {
		p := up()
		p.takes("down", "a", "1", func(s *summary) bool { return s.Counters.Filtered == life+1 })
		p.takes("waits", "a", "1", func(s *summary) bool { return s.Counters.Queued == life+1 })
		for _, graph := range []string{"down", "waits"} {
			p.changes("POST", "/v1/graphs/"+graph+"/checkpoint", "")
		}
		p.until("no attempt is left", stuck, func() bool { return attempts() == 0 })
		p.kill()
	}
	p := up()
	p.takes("down", "a", "101", func(s *summary) bool { return s.Epoch == 1 })
	p.takes("waits", "b", "0", func(s *summary) bool { return s.Epoch == 5 })
	if err := p.stop(); err != nil {
		t.Error(err)
	}
}
