package engine

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	memstore "github.com/graphd/graphd/internal/dal/memory"
)

// TestM3WatermarkByPartition: a summary says how far the time of events has come in a window, and by which partition of
// its input that goes: those furthest behind stand first, those that are silent last, and of very many the first.
func TestM3WatermarkByPartition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newTape(false)
		a.load()
		bed := newBed(t, memstore.New(), &scripted{source: func(string) accumulator.Source { return a }})
		defer bed.close()
		bed.apply(`graph: g
accumulators:
  a: { time: event.at, time_unit: s, window: { tumbling: 1h, lateness: 5s, idle: 1m, aggregate: { n: count() } } }
clock: arrival
nodes: { n: { expr: a } }
outputs: { o: { from: n, sink: { drop: {} } } }
`, "g")
		a.health(accumulator.Live)
		if w := bed.summary("g").Accumulators[0].Watermark; w != nil {
			t.Errorf("before the first event: %+v", w)
		}
		const noon = 946_000_000
		a.events("t/3", noon+10)
		time.Sleep(2 * time.Minute)
		a.events("t/1", noon+20) // first: a watermark never goes back
		a.events("t/0", noon+30)
		a.events("t/2", noon+40)
		time.Sleep(2 * time.Second) // a checkpoint takes its mark
		w := bed.summary("g").Accumulators[0].Watermark
		if w == nil {
			t.Fatal("there is no watermark")
		}
		said := fmt.Sprintf("%d by %s of %d:", w.At.Unix()-noon, w.HeldBy, w.All)
		for _, p := range w.Partitions {
			said += fmt.Sprintf(" %s %d %v,", p.Partition, p.Newest.Unix()-noon, p.Idle)
		}
		const want = "15 by t/1 of 4: t/1 20 false, t/0 30 false, t/2 40 false, t/3 10 true,"
		if said != want {
			t.Errorf("it says %q, not %q", said, want)
		}
		for i := range 100 {
			a.events(fmt.Sprint("u/", i), noon+50+i)
		}
		time.Sleep(2 * time.Second)
		if w = bed.summary("g").Accumulators[0].Watermark; w.All != 104 || len(w.Partitions) != 64 ||
			w.Partitions[0].Partition != "t/1" {
			t.Errorf("of many: %d of %d, %+v", len(w.Partitions), w.All, w.Partitions[0])
		}
	})
}
