package engine

import (
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/checkpoint/checkpointtest"
	memstore "github.com/graphd/graphd/internal/dal/memory"
	"github.com/graphd/graphd/internal/watch"
)

// M32: a watcher gets each frame, or is told of it in a gap, however little history a graph keeps and however many
// epochs there are between two looks at it; one that comes back does, too.
func TestM32WhatIsNotKeptIsAGap(t *testing.T) {
	for _, mode := range []string{"checkpoint", "journal"} {
		for _, keep := range []int{0, 1, 2, 1000} {
			t.Run(fmt.Sprint(mode, keep), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { tellsOfAll(t, mode, keep) })
			})
		}
	}
}

func tellsOfAll(t *testing.T, mode string, keep int) {
	b := newBed(t, lasting{memstore.New()}, &scripted{})
	defer b.close()
	b.apply(fmt.Sprintf("graph: g\naccumulators: { a: { strategy: sequential } }\nnodes: { n: { expr: a } }\n"+
		"outputs: { o: { from: n, sink: { drop: {} } } }\nhistory: { keep: %d }\ndurability: { mode: %s }\n",
		keep, mode), "g")
	watch := func(since string) api.Subscription {
		sub, err := b.e.Watch(t.Context(), api.Ref{Tenant: "default", Name: "g"},
			api.Wanted{Topics: []string{"outputs", "firings"}, Since: since})
		if err != nil {
			t.Fatal(err)
		}
		return sub
	}
	last := int64(6) // of the frames that are there before anybody watches: two an epoch
	read := func(sub api.Subscription, after int64) int64 {
		for f := sub.TryNext(); f != nil; f = sub.TryNext() {
			from := f.Seq
			if f.Type == "gap" {
				from = f.From
			}
			if from != after+1 {
				t.Errorf("a %s of %d to %d comes after %d", f.Type, from, f.Seq, after)
			}
			after = f.Seq
		}
		return after
	}
	b.push("g", "a", "1", "2", "3")
	sub := watch("")
	defer sub.Close()
	for range 3 {
		b.push("g", "a", "1", "2", "3", "4", "5")
		last = read(sub, last)
	}
	back := watch("1:6")
	defer back.Close()
	if again := read(back, 6); last != 36 || again != 36 {
		t.Errorf("told of frames to %d, and who comes back to %d, of 36", last, again)
	}
}

// TestM53WatcherKnowsWhereItBegins: who watches a graph without shards is told where that begins, too, so that they go
// on from there when the connection is lost before anything has come.
func TestM53WatcherKnowsWhereItBegins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, lasting{memstore.New()}, &scripted{})
		defer b.close()
		b.apply("graph: g\naccumulators: { a: { strategy: sequential } }\nnodes: { n: { expr: a } }\n"+
			"outputs: { o: { from: n, sink: { drop: {} } } }\n", "g")
		b.push("g", "a", "1", "2")
		begin := func(since string) *watch.Queue {
			sub, err := b.e.Watch(t.Context(), api.Ref{Tenant: "default", Name: "g"},
				api.Wanted{Topics: []string{"firings"}, Since: since})
			if err != nil {
				t.Fatal(err)
			}
			return sub.(*watch.Queue)
		}
		first := begin("")
		at := first.Places()
		first.Close()
		if at != "1:4" {
			t.Errorf("it begins at %q", at)
		}
		b.push("g", "a", "3")
		again := begin(at)
		defer again.Close()
		if f := again.TryNext(); f == nil || f.Type != "firing" || f.Epoch != 3 {
			t.Errorf("what has come in between is %+v", f)
		}
	})
}

// TestM53WhoBeginsBeforeTheJournal: who begins to watch a journaled graph while epochs have run that the journal does
// not have yet, which nobody is told of before, and loses the connection at once, is told of them when they come back.
func TestM53WhoBeginsBeforeTheJournal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		faulty := checkpointtest.NewFaulty(memstore.New(), nil)
		b := newBed(t, lasting{faulty}, &scripted{})
		defer b.close()
		b.apply(journaled, "g")
		b.push("g", "a", "1")
		begin := func(since string) *watch.Queue {
			sub, err := b.e.Watch(t.Context(), api.Ref{Tenant: "default", Name: "g"},
				api.Wanted{Topics: []string{"firings"}, Since: since})
			if err != nil {
				t.Fatal(err)
			}
			return sub.(*watch.Queue)
		}
		faulty.Script(checkpointtest.OpAppendJournal, checkpointtest.Fault{Wait: gate})
		pushed := make(chan struct{})
		go func() {
			defer close(pushed)
			if _, err := b.e.Push(t.Context(), api.Ref{Tenant: "default", Name: "g"}, "a", []json.RawMessage{
				[]byte("2"), []byte("3")}); err != nil {
				t.Errorf("push: %v", err)
			}
		}()
		synctest.Wait()
		if s := b.summary("g"); s.Epoch != 3 {
			t.Fatalf("the reactor waits for the journal: epoch %d", s.Epoch)
		}
		first := begin("")
		at := first.Places()
		first.Close()
		close(gate)
		<-pushed
		synctest.Wait()
		again := begin(at)
		defer again.Close()
		for epoch := int64(2); epoch <= 3; epoch++ {
			if f := again.TryNext(); f == nil || f.Type != "firing" || f.Epoch != epoch {
				t.Errorf("behind %s it is told %+v, and not of epoch %d", at, f, epoch)
			}
		}
	})
}
