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

// M4, M5: where a push finds no room, those that were accepted and those that were rejected are together the events
// that need not be sent again: one more, and an event would be left out.
func TestPushWithRejectionsFindsNoRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, memstore.New(), &scripted{})
		defer b.close()
		b.apply("graph: g\naccumulators: { a: { strategy: sequential, capacity: 10, schema: { type: integer } } }\n"+
			"nodes: { n: { expr: a } }\noutputs: { o: { from: n, sink: { drop: {} } } }\n", "g")
		if _, err := b.e.Pause(t.Context(), ofG, "ann"); err != nil {
			t.Fatal(err)
		}
		events := repeat("1", 5000)
		for i := range 3 {
			events[2*i] = []byte(`"no number"`)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		res, err := b.e.Push(ctx, ofG, "a", events)
		if err != nil || !res.Full || len(res.Rejected) != 3 {
			t.Fatalf("%+v, %v", res, err)
		}
		if _, err := b.e.Resume(t.Context(), ofG, "ann"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if c := b.summary("g").Counters; c.Consumed != int64(res.Accepted) {
			t.Errorf("%d were accepted, as the answer says: %+v", res.Accepted, c)
		}
	})
}
