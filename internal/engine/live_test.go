package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/api"
	memstore "github.com/graphd/graphd/internal/dal/memory"
	"github.com/graphd/graphd/internal/watch"
)

// W6, M7: a boundary that arrives during an epoch always leads to a later epoch. Many push
// at once into a latest graph, on real goroutines; after each burst the newest value of
// every input has been seen by an epoch, with nothing left dirty.
func TestM7NoLostUpdateUnderConcurrentPushes(t *testing.T) {
	b := newBed(t, memstore.New(), &scripted{})
	defer b.close()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	doc := "graph: g\naccumulators: { a: {}, b: {} }\nnodes: { n: { expr: '[a ?? nil, b ?? nil]' } }\noutputs: { o: " +
		"{ from: n, sink: { drop: {} } } }\n"
	if _, err := b.e.Apply(ctx, api.Ref{Tenant: "default", Name: "g"}, []byte(doc), api.Change{}); err != nil {
		t.Fatal(err)
	}
	const bursts, each = 30, 50
	for burst := range bursts {
		var wg sync.WaitGroup
		for _, acc := range []string{"a", "b"} {
			wg.Go(func() {
				for i := range each {
					if _, err := b.e.Push(ctx, api.Ref{Tenant: "default", Name: "g"}, acc, []json.RawMessage{
						json.RawMessage(fmt.Sprint(burst*each + i)),
					}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		if _, err := b.e.Drain(ctx, api.Ref{Tenant: "default", Name: "g"}); err != nil {
			t.Fatal(err)
		}
		st, err := b.e.State(ctx, api.Ref{Tenant: "default", Name: "g"}, "")
		if err != nil {
			t.Fatal(err)
		}
		last := burst*each + each - 1
		if got := string(st.Nodes["n"]); got != fmt.Sprintf("[%d,%d]", last, last) || st.Dirty["a"] || st.Dirty["b"] {
			t.Fatalf("burst %d: the node saw %s, dirty %v", burst, got, st.Dirty)
		}
	}
	if c := b.summary("g").Counters; c.Received != 2*bursts*each || c.Consumed+c.Conflated != c.Received {
		t.Fatalf("%+v", c)
	}
}

// A watcher is told of every output in order; what a full queue lost is announced as one gap,
// and a resumed watcher gets what it missed from the ring.
func TestWatchAnnouncesGaps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, memstore.New(), &scripted{})
		defer b.close()
		g := api.Ref{Tenant: "default", Name: "g"}
		b.apply("graph: g\naccumulators: { a: { strategy: sequential } }\nnodes: { n: { expr: a } }\noutputs: { o: "+
			"{ from: n, sink: { websocket: {} } } }\nhistory: { keep: 100000 }\n", "g")
		sub, err := b.e.Watch(t.Context(), g, api.Wanted{Topics: []string{"outputs"}})
		if err != nil {
			t.Fatal(err)
		}
		defer sub.Close()
		const n = watch.MaxFrames + 1000
		for i := range n {
			b.push("g", "a", fmt.Sprint(i))
		}
		var got []string
		missed, last := int64(0), ""
		for f := sub.TryNext(); f != nil; f = sub.TryNext() {
			if f.Type == "gap" {
				missed = (f.To-f.From)/2 + 1 // each epoch numbers an output and a firing
				continue
			}
			got = append(got, string(f.Value))
			last = fmt.Sprintf("%d:%d", f.Incarnation, f.Seq)
		}
		if int64(len(got))+missed != n || missed == 0 {
			t.Fatalf("%d frames and %d announced as missed, of %d", len(got), missed, n)
		}
		again, err := b.e.Watch(t.Context(), g, api.Wanted{Topics: []string{"outputs"}, Since: last})
		if err != nil {
			t.Fatal(err)
		}
		defer again.Close()
		if f := again.TryNext(); f == nil || string(f.Value) != fmt.Sprint(len(got)) {
			t.Fatalf("the resumed watcher got %+v first, want the value %d", f, len(got))
		}
	})
}

// M32: dead letters past their number expire, oldest first.
func TestM32DeadLettersExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, memstore.New(), &scripted{})
		defer b.close()
		b.apply("graph: g\naccumulators: { a: { strategy: sequential } }\nnodes: { n: { expr: 1 / a } }\noutputs: { "+
			"o: { from: n, sink: { drop: {} } } }\ndead_letters: { max: 2, keep: 1h }\n", "g")
		b.push("g", "a", "0", "0", "0", "0", "1")
		if l := b.letters("g"); len(l) != 4 {
			t.Fatalf("%d letters", len(l))
		}
		time.Sleep(2 * sweepEvery)
		if l := b.letters("g"); len(l) != 2 || l[0].Epoch != 4 {
			t.Fatalf("letters %+v", l)
		}
		time.Sleep(2 * time.Hour)
		if l := b.letters("g"); len(l) != 0 {
			t.Fatalf("letters %+v", l)
		}
	})
}

func (b *bed) letters(graph string) []api.DeadLetter {
	b.t.Helper()
	page, err := b.e.DeadLetters(b.t.Context(), api.Ref{Tenant: "default", Name: graph}, api.LetterQuery{})
	if err != nil {
		b.t.Fatal(err)
	}
	return page.Items
}

// M5: a dead letter is listed, replayed as a new event linked to the old, and discarded.
func TestM5DeadLetterReplay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, memstore.New(), &scripted{})
		defer b.close()
		g := api.Ref{Tenant: "default", Name: "g"}
		b.apply("graph: g\naccumulators: { a: {}, by: { passive: true, default: 0 } }\nnodes: { n: { expr: a / by } "+
			"}\noutputs: { o: { from: n, sink: { drop: {} } } }\n", "g")
		b.push("g", "a", "8")
		l := b.letters("g")
		if len(l) != 1 || string(l[0].Payload) != "8" || l[0].Code != "not_finite" {
			t.Fatalf("letters %+v", l)
		}
		if _, err := b.e.ReplayDeadLetter(t.Context(), g, l[0].ID); err != nil { // it fails again
			t.Fatal(err)
		}
		synctest.Wait()
		again := b.letters("g")
		if len(again) != 1 || again[0].ReplayOf != l[0].ID {
			t.Fatalf("letters %+v", again)
		}
		b.push("g", "by", "2")
		if _, err := b.e.ReplayDeadLetter(t.Context(), g, again[0].ID); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		st, err := b.e.State(t.Context(), g, "")
		if err != nil || string(st.Nodes["n"]) != "4" || len(b.letters("g")) != 0 {
			t.Fatalf("%v %s, letters %v", err, st.Nodes["n"], b.letters("g"))
		}
		if err := b.e.DiscardDeadLetter(t.Context(), g, "nosuch"); err == nil {
			t.Fatal("a letter that is not there was discarded")
		}
		if got := b.e.Metrics(t.Context())[0].Letters["a"]; got["not_finite"] != 2 || len(got) != 1 {
			t.Errorf("dead letters by reason: %v", got)
		}
		if c := b.summary("g").Counters; c.Received != 4 || c.DeadLettered != 2 || c.Consumed != 2 {
			t.Fatalf("%+v", c)
		}
	})
}

// M33: an update keeps the state of what means the same, the watchers and the pushes on the way.
func TestM33UpdateKeepsState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, memstore.New(), &scripted{})
		defer b.close()
		g := api.Ref{Tenant: "default", Name: "g"}
		doc := "graph: g\naccumulators: { a: { state: { keep: 3 } } }\nnodes: { n: { expr: sum(a) %s } }\noutputs: " +
			"{ o: { from: n, sink: { websocket: {} } } }\n"
		b.apply(fmt.Sprintf(doc, ""), "g")
		b.push("g", "a", "1", "2")
		sub, err := b.e.Watch(t.Context(), g, api.Wanted{Topics: []string{"outputs"}})
		if err != nil {
			t.Fatal(err)
		}
		defer sub.Close()
		b.apply(fmt.Sprintf(doc, "* 10"), "g")
		b.push("g", "a", "3")
		if f := sub.TryNext(); f == nil || string(f.Value) != "60" {
			t.Fatalf("frame %+v, want the sum of 1, 2 and 3 times 10", f)
		}
		if s := b.summary("g"); s.Revision != 2 || s.Counters.Received != 3 {
			t.Fatalf("%+v", s)
		}
		if _, err := b.e.Apply(t.Context(), g, []byte("graph: g\nnodes: {"), api.Change{}); err == nil {
			t.Fatal("a broken declaration was taken")
		}
		b.push("g", "a", "4")
		if f := sub.TryNext(); f == nil || string(f.Value) != "90" {
			t.Fatalf("frame %+v: the graph did not stay as it was", f)
		}
	})
}

// W27: a pause is durable before it is answered, and does not wait for the interval.
func TestPauseIsDurableAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, memstore.New(), &scripted{})
		defer b.close()
		b.apply("graph: g\naccumulators: { a: {} }\nnodes: { n: { expr: a } }\noutputs: { o: { from: n, sink: { "+
			"drop: {} } } }\ndurability: { interval: 10s }\n", "g")
		b.push("g", "a", "1")
		before := time.Now()
		s, err := b.e.Pause(t.Context(), api.Ref{Tenant: "default", Name: "g"}, "ann")
		if err != nil || !s.Paused || s.PausedBy != "ann" || s.Durability.CheckpointEpoch != 1 {
			t.Fatalf("%v %+v", err, s)
		}
		if took := time.Since(before); took > 0 {
			t.Fatalf("it was answered after %v", took)
		}
	})
}

// M33: a push that waits when its graph is updated is taken by the updated graph.
func TestM33WaitingPushSurvivesAnUpdate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, memstore.New(), &scripted{})
		defer b.close()
		g := api.Ref{Tenant: "default", Name: "g"}
		doc := "graph: g\naccumulators: { a: { strategy: sequential, capacity: 2 } }\nnodes: { n: { expr: a + %d } " +
			"}\noutputs: { o: { from: n, sink: { drop: {} } } }\n"
		b.apply(fmt.Sprintf(doc, 0), "g")
		if _, err := b.e.Pause(t.Context(), g, "ann"); err != nil {
			t.Fatal(err)
		}
		type answer struct {
			res api.PushResult
			err error
		}
		done := make(chan answer, 1)
		go func() {
			res, err := b.e.Push(t.Context(), g, "a", []json.RawMessage{
				[]byte("1"), []byte("2"), []byte("3"), []byte("4"),
			})
			done <- answer{res, err}
		}()
		synctest.Wait()
		b.apply(fmt.Sprintf(doc, 100), "g")
		if _, err := b.e.Resume(t.Context(), g, "ann"); err != nil {
			t.Fatal(err)
		}
		if a := <-done; a.err != nil || a.res.Accepted != 4 {
			t.Fatalf("%+v", a)
		}
		synctest.Wait()
		if s := b.summary("g"); s.Epoch != 4 || s.Counters.Consumed != 4 {
			t.Fatalf("%+v", s)
		}
	})
}
