package engine

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	memstore "github.com/graphd/graphd/internal/dal/memory"
)

// M4, M11: a push that finds no room in a paused graph is answered at once, and told by whom it is paused; its events
// are in the books.
func TestPushToAPausedGraph(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, memstore.New(), &scripted{})
		defer b.close()
		b.apply("graph: g\naccumulators: { a: { strategy: sequential, capacity: 10 } }\nnodes: { n: { expr: a } }\n"+
			"outputs: { o: { from: n, sink: { drop: {} } } }\n", "g")
		if _, err := b.e.Pause(t.Context(), ofG, "ann"); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		began := time.Now()
		res, err := b.e.Push(ctx, ofG, "a", repeat("1", 5000))
		if err != nil || !res.Full || res.Why == nil || res.Why.Code != "paused" || time.Since(began) > time.Second {
			t.Fatalf("after %v: %+v, %v", time.Since(began), res, err)
		}
		if _, err := b.e.Resume(t.Context(), ofG, "ann"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		c := b.summary("g").Counters
		if c.Received != 5000 || c.Consumed != int64(res.Accepted) || c.Received != c.Consumed+c.Rejected {
			t.Errorf("%d were taken: %+v", res.Accepted, c)
		}
	})
}
