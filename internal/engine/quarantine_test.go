package engine

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/checkpoint/checkpointtest"
	memstore "github.com/graphd/graphd/internal/dal/memory"
)

// M43: an epoch that takes the process down is tried three times, and then the graph is
// quarantined instead of taking the daemon down for ever; an operator's restart tries again.
func TestM43CrashLoopQuarantines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		b := newBed(t, store, &scripted{})
		b.apply("graph: g\naccumulators: { a: {} }\nnodes: { n: { expr: a } }\noutputs: { o: { from: n, sink: { "+
			"drop: {} } } }\n", "g")
		b.close()
		diesOf(t, store, "g")
		b = newBed(t, store, &scripted{})
		defer b.close()
		synctest.Wait()
		if s := b.summary("g"); s.Health != "failed" || s.HealthReason.Code != "crash_loop" {
			t.Fatalf("%s %+v", s.Health, s.HealthReason)
		}
		if _, err := b.e.Restart(t.Context(), api.Ref{Tenant: "default", Name: "g"}, "", "ann"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if s := b.summary("g"); s.Health != "live" {
			t.Fatalf("revived: %s %+v", s.Health, s.HealthReason)
		}
	})
}

// M43: what clears the ledger of a graph that is being revived is what revives it: nobody else takes from it what it is
// about to run, nor is refused since it has been quicker.
func TestM43RestartTakesFromNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := checkpointtest.NewFaulty(memstore.New(), nil)
		b := newBed(t, store, &scripted{})
		b.apply("graph: g\naccumulators: { a: {} }\nnodes: { n: { expr: a } }\noutputs: { o: { from: n, sink: { "+
			"drop: {} } } }\n", "g")
		b.close()
		store.Script(checkpointtest.OpLoad, checkpointtest.Fault{Outcome: checkpointtest.Fail})
		b = newBed(t, store, &scripted{})
		defer b.close()
		synctest.Wait()
		if s := b.summary("g"); s.HealthReason == nil || s.HealthReason.Code != "restarting" {
			t.Fatalf("%s %+v", s.Health, s.HealthReason)
		}
		store.Script(checkpointtest.OpRelinquish, checkpointtest.Fault{Delay: time.Minute})
		if _, err := b.e.Restart(t.Context(), api.Ref{Tenant: "default", Name: "g"}, "", "ann"); err != nil {
			t.Errorf("while the graph is revived anyway: %v", err)
		}
		time.Sleep(5 * time.Minute)
		if s := b.summary("g"); s.Health != "live" {
			t.Errorf("revived: %s %+v", s.Health, s.HealthReason)
		}
	})
}
