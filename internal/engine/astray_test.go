package engine

import (
	"testing"
	"testing/synctest"
	"time"

	memstore "github.com/graphd/graphd/internal/dal/memory"
)

// M26: what was persisted while the wall clock was a day ahead holds nothing up after a restart with
// the right one: a window of arrival time takes what comes and hands it over in its time.
func TestM26WindowAfterAClockADayAhead(t *testing.T) {
	store := lasting{memstore.New()}
	synctest.Test(t, func(t *testing.T) { // a bubble's clock begins where every bubble's does
		b := newBed(t, store, &scripted{})
		time.Sleep(24 * time.Hour)
		b.apply("graph: g\naccumulators:\n  a: { window: { tumbling: 10s, aggregate: { n: count() } } }\n"+
			"outputs: { o: { from: a, sink: { drop: {} } } }\n", "g")
		b.push("g", "a", "1", "2")
		time.Sleep(15 * time.Second)
		b.push("g", "a", "3")
		if s := b.summary("g"); s.Epoch != 1 || s.Counters.Consumed != 2 {
			t.Fatalf("%+v", s.Counters)
		}
		b.close()
	})
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, store, &scripted{})
		defer b.close()
		synctest.Wait()
		if s := b.summary("g"); s.Counters.Consumed != 3 {
			t.Errorf("what had arrived under the wrong clock waits for it: %+v", s.Counters)
		}
		b.push("g", "a", "4", "5")
		time.Sleep(15 * time.Second)
		if s := b.summary("g"); s.Health != "live" || s.Counters.Consumed != 5 || s.Counters.Filtered != 0 {
			t.Errorf("%s, %+v", s.Health, s.Counters)
		}
	})
}
