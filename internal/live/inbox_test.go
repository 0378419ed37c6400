package live

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/live/delivery"
	"github.com/graphd/graphd/internal/reactor"
)

// inboxOf is a core with a sequential input a and a latest input b, and its inbox.
func inboxOf(t *testing.T, capacity int) (*Inbox, *rig) {
	r := newRig(t, graphOf("  a: { strategy: sequential }\n  b: { strategy: latest }\n", "{ when: any }", pair))
	return NewInbox([]reactor.Lane{
		{Sequential: true, Capacity: capacity, MaxBytes: 1000}, {Capacity: capacity, MaxBytes: 1000},
	}), r
}

// handoff is boundaries of one event each, with a mark behind them.
func handoff(received int64, size int, values ...int64) *accumulator.Handoff {
	h := &accumulator.Handoff{Mark: accumulator.Mark{Counters: accumulator.Counters{Received: received}}}
	for _, v := range values {
		h.Boundaries = append(h.Boundaries, boundary.Boundary{Value: boundary.Int(v), Events: 1, Size: size})
	}
	return h
}

// M4: a full sequential input holds up its own accumulator and no other; a cut makes room.
func TestM4FullInputHoldsItsAccumulatorAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inbox, r := inboxOf(t, 2)
		a, b := inbox.Port(0), inbox.Port(1)
		if err := a.Put(t.Context(), handoff(2, 1, 1, 2)); err != nil {
			t.Fatal(err)
		}
		put := make(chan error, 1)
		go func() { put <- a.Put(t.Context(), handoff(3, 1, 3)) }()
		synctest.Wait()
		if len(put) > 0 {
			t.Fatal("a third boundary was taken where two fit")
		}
		if err := b.Put(t.Context(), handoff(1, 1, 10)); err != nil {
			t.Fatal(err)
		}
		inbox.Drain(r.now, r.c) // the boundaries are in the core's queue now, and still count
		synctest.Wait()
		if len(put) > 0 {
			t.Fatal("draining made room that only a cut can make")
		}
		r.c.Fire(r.now)
		r.c.DrainFreed(inbox.Free)
		if err := <-put; err != nil {
			t.Fatal(err)
		}
		if n, _ := inbox.Depth(0); n != 2 {
			t.Fatalf("depth %d, want 2", n)
		}
	})
}

// M4: the bound in bytes holds as well, and one handoff larger than the lane goes in alone.
func TestM4BytesAreBounded(t *testing.T) {
	inbox, _ := inboxOf(t, 100)
	a := inbox.Port(0)
	if err := a.Put(t.Context(), handoff(1, 5000, 1)); err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := a.Put(ended, handoff(2, 1, 2)); !errors.Is(err, context.Canceled) {
		t.Fatalf("a boundary was taken past the bound in bytes: %v", err)
	}
}

// M4, M9: a latest input never holds its accumulator up: it conflates in the inbox, counts
// what it overwrote, and keeps the newest mark and every dead letter.
func TestM4LatestConflatesInTheInbox(t *testing.T) {
	inbox, r := inboxOf(t, 2)
	b := inbox.Port(1)
	for i := range int64(5) {
		h := handoff(2*(i+1), 1, 2*i, 2*i+1)
		h.DeadLetters = []checkpoint.DeadLetter{{Accumulator: "b", Code: "x"}}
		if err := b.Put(t.Context(), h); err != nil {
			t.Fatal(err)
		}
	}
	inbox.Drain(r.now, r.c)
	r.sent["b"] = 10
	r.want(r.fire(), "out=[null,9]@1")
	if books := r.books("b"); books.Received != 10 || books.Conflated != 9 || books.Consumed != 1 ||
		r.c.DeadLettersPending() != 5 {
		t.Fatalf("%+v, %d letters", books, r.c.DeadLettersPending())
	}
}

// M5: an input that makes nothing but dead letters is held back until the reactor has taken them.
func TestM5LettersAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inbox, r := inboxOf(t, 2)
		b := inbox.Port(1)
		full := &accumulator.Handoff{DeadLetters: make([]checkpoint.DeadLetter, maxWaitingLetters)}
		if err := b.Put(t.Context(), full); err != nil {
			t.Fatal(err)
		}
		put := make(chan error, 1)
		go func() {
			put <- b.Put(t.Context(), &accumulator.Handoff{DeadLetters: make([]checkpoint.DeadLetter, 1)})
		}()
		synctest.Wait()
		if len(put) > 0 {
			t.Fatal("more letters were taken than the bound")
		}
		inbox.Drain(r.now, r.c)
		if err := <-put; err != nil {
			t.Fatal(err)
		}
	})
}

// M35: the words of an accumulator that has been replaced are void.
func TestM35OldPortIsVoid(t *testing.T) {
	inbox, r := inboxOf(t, 2)
	old := inbox.Port(0)
	now := inbox.Port(0)
	if err := old.Put(t.Context(), handoff(1, 1, 1)); !errors.Is(err, ErrStale) {
		t.Fatalf("an old incarnation was heard: %v", err)
	}
	old.Health(accumulator.Failed, "", "")
	now.Health(accumulator.Live, "", "")
	inbox.Drain(r.now, r.c)
	if h := r.c.Look().Inputs[0].Health; h != accumulator.Live {
		t.Fatalf("health %s", h)
	}
}

// A timer wakes a reactor that has nothing to do, and nothing else does: it is idle.
func TestReactorIsIdleWhenNothingIsDue(t *testing.T) {
	inbox, r := inboxOf(t, 2)
	live := New(Options{Core: r.c, Inbox: inbox, Writers: make([]*delivery.Writer, 1), Interval: time.Second,
		Head: new(checkpoint.Head)})
	live.Clock = newClock(func() (wall, mono int64) { return r.now.UnixNano(), 0 })
	live.proven, live.started = true, r.now
	live.nextSeal = r.now.Add(time.Second)
	if d := live.sleep(r.now); d < time.Minute {
		t.Fatalf("it sleeps for %v with nothing to do", d)
	}
	r.push("b", 1)
	if d := live.sleep(r.now); d != time.Second {
		t.Fatalf("it sleeps for %v with something to checkpoint", d)
	}
}

// keyedHandoff is boundaries of one event each, KEY=VALUE.
func keyedHandoff(received int64, items ...string) *accumulator.Handoff {
	h := &accumulator.Handoff{Mark: accumulator.Mark{Counters: accumulator.Counters{Received: received}}}
	for _, it := range items {
		key, v, _ := strings.Cut(it, "=")
		h.Boundaries = append(h.Boundaries, boundary.Boundary{
			Value: boundary.String(v), Key: boundary.KeyOf(boundary.String(key)), Events: 1, Size: 1,
		})
	}
	return h
}

// M4, M13: a keyed latest input conflates in the inbox within a key alone, and only when it
// is full; boundaries of more keys than it has room for hold its accumulator up.
func TestM13InboxConflatesPerKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, graphOf("  a: {}\n", "{ when: any }",
			"nodes:\n  n: { expr: '[key, a]' }\noutputs:\n  out: { from: n, sink: { drop: {} } }\n"), keyed)
		inbox := NewInbox([]reactor.Lane{{Keyed: true, Capacity: 3, MaxBytes: 1000}})
		p := inbox.Port(0)
		received := int64(0)
		put := func(items ...string) error {
			received += int64(len(items))
			return p.Put(t.Context(), keyedHandoff(received, items...))
		}
		depth := func(want int) {
			t.Helper()
			if n, _ := inbox.Depth(0); n != want {
				t.Fatalf("%d boundaries wait, want %d", n, want)
			}
		}
		for _, items := range [][]string{{"x=1", "y=1"}, {"x=2"}} {
			if err := put(items...); err != nil {
				t.Fatal(err)
			}
		}
		depth(3) // there is room, so nobody looks at keys
		for range 100 {
			if err := put("x=3", "z=1", "y=2"); err != nil {
				t.Fatal(err)
			}
		}
		depth(3)
		if len(inbox.order) > 4 {
			t.Fatalf("%d handoffs wait", len(inbox.order))
		}
		done := make(chan error, 1)
		go func() { done <- put("x=4", "v=1") }()
		synctest.Wait()
		if len(done) > 0 {
			t.Fatal("a fourth key was taken where three fit")
		}
		inbox.Drain(r.now, r.c)
		synctest.Wait()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		r.want(r.fire(), `out=["x","3"]@1 out=["y","2"]@2 out=["z","1"]@3`)
		inbox.Drain(r.now, r.c)
		r.want(r.fire(), `out=["x","4"]@4 out=["v","1"]@5`)
		if b := r.books("a"); b.Received != 305 || b.Conflated != 300 {
			t.Fatalf("books %+v", b)
		}
	})
}
