package engine

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
	memstore "github.com/graphd/graphd/internal/dal/memory"
)

// M43: a cut that the guard turns down is no attempt of the epoch that it did not become, nor is what waits for
// more or for a timer: owners that die beside it can be any number.
func TestM43NoEpochIsNoAttempt(t *testing.T) {
	const plain, timed = "{ strategy: sequential }", "{ strategy: sequential, time: event.at, emit: event.n }"
	for name, of := range map[string][2]string{
		"turned down":                {plain, "{ guard: 'a > 100' }"},
		"turned down by event time":  {timed, "{ guard: 'a > 100' }"},
		"waits for more":             {plain, "{ guard: 'b > 100', when: { any: [a] } }"},
		"waits for more of its time": {timed, "{ guard: 'b > 100', when: { any: [a] } }"},
		"waits for a timer":          {plain, "{ debounce: 1h }"},
		"waits for event time":       {timed, "{ debounce: 1h }"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				event := "1"
				if of[0] == timed {
					event = `{"at":"2026-01-01T00:00:00Z","n":1}`
				}
				store := memstore.New()
				b := newBed(t, store, &scripted{})
				b.apply("graph: g\naccumulators: { a: "+of[0]+", b: { passive: true } }\nreactor: "+of[1]+
					"\nnodes: { n: { expr: a } }\noutputs: { o: { from: n, sink: { drop: {} } } }\n", "g")
				b.close()
				for range 5 {
					dyingBeside(t, store, event)
				}
			})
		})
	}
}

// dyingBeside is an owner of the graph that follows on one that has died, takes in events, and dies itself.
func dyingBeside(t *testing.T, store *memstore.Store, event string) {
	t.Helper()
	taken := func(who string) {
		head, err := store.Acquire(t.Context(), checkpoint.ID{Tenant: "default", Graph: "g"})
		if err != nil || head.Attempts != 0 {
			t.Errorf("%s has left %d attempts, %v", who, head.Attempts, err)
		}
	}
	taken("an owner that has tried nothing")
	b := newBed(t, store, &scripted{})
	defer func() { _ = b.e.Close() }() // it is fenced by then
	synctest.Wait()
	for range 3 {
		b.push("g", "a", event)
		synctest.Wait()
	}
	time.Sleep(1100 * time.Millisecond) // one note is taken back at once, the next after the interval
	synctest.Wait()
	if s := b.summary("g"); s.Health != "live" || s.Epoch != 0 {
		t.Errorf("%s %+v at epoch %d", s.Health, s.HealthReason, s.Epoch)
	}
	taken("an owner without an epoch")
}
