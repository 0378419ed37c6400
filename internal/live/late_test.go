package live

import (
	"testing"
	"testing/synctest"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/reactor"
)

// lateRig is a latest input a whose late events go to the sequential input b.
func lateRig(t *testing.T, opts ...option) *rig {
	return newRig(t, graphOf("  a: {}\n  b: { strategy: sequential }\n", "{ when: any }",
		"nodes:\n  last: { expr: b }\n"),
		append(opts, func(c *reactor.Config) { c.Inputs[0].LateTo = "b" })...)
}

// withLate is a handoff of the window a: late events and the mark behind them.
func withLate(received int64, late ...int64) *accumulator.Handoff {
	h := handoff(received, 1)
	h.Mark.Counters.Filtered = received
	for _, v := range late {
		h.Late = append(h.Late, boundary.Boundary{Value: boundary.Int(v), Size: 1})
	}
	return h
}

// M4: late events wait in the lane of their own input; when that is full the window is held up
// until a cut has made room, and handoffs that merge keep them all.
func TestM4LateEventsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := lateRig(t)
		inbox := NewInbox([]reactor.Lane{
			{Name: "a", LateTo: "b", Capacity: 10, MaxBytes: 1000}, {
				Name: "b", Sequential: true, Capacity: 3, MaxBytes: 1000,
			},
		})
		a := inbox.Port(0)
		for n := range int64(3) {
			if err := a.Put(t.Context(), withLate(n+1, n)); err != nil {
				t.Fatal(err)
			}
		}
		put := make(chan error, 1)
		go func() { put <- a.Put(t.Context(), withLate(4, 3)) }()
		synctest.Wait()
		if len(put) > 0 {
			t.Fatal("a fourth late event was taken where three fit")
		}
		inbox.Drain(r.now, r.c)
		synctest.Wait()
		if len(put) > 0 {
			t.Fatal("admitted late events gave back their room before they were cut")
		}
		fired := 0
		for r.c.Fire(r.now) {
			fired++
			r.c.DrainFreed(inbox.Free)
		}
		synctest.Wait()
		if fired != 3 || len(put) != 1 || <-put != nil {
			t.Fatalf("%d epochs, and the window is held up although there is room", fired)
		}
		inbox.Drain(r.now, r.c)
		for r.c.Fire(r.now) {
			fired++
		}
		if v := r.c.Look(); fired != 4 || v.Inputs[0].Books.Received != 4 || v.Inputs[0].Books.Filtered != 4 ||
			v.Inputs[1].Books.Consumed != 0 {
			t.Errorf("%d epochs, books %+v and %+v", fired, v.Inputs[0].Books, v.Inputs[1].Books)
		}
	})
}

// M29: late events are in the journal, and a replay takes them in as they came.
func TestM29LateEventsAreReplayed(t *testing.T) {
	t.Parallel()
	journaled := func(c *reactor.Config) { c.Journal = true }
	r := lateRig(t, journaled)
	r.c.Begin()
	r.c.Admit(r.now, 0, withLate(2, 5, 6), 0)
	for r.c.Fire(r.now) {
		r.c.ResetReleased()
	}
	r.c.Admit(r.now, 0, withLate(3, 7), 0)
	entries := r.c.DrainJournal()

	n := lateRig(t, journaled)
	replayer := reactor.NewReplayer(n.c, checkpoint.Head{})
	for _, e := range entries {
		if err := replayer.Entry(e); err != nil {
			t.Fatal(err)
		}
	}
	replayer.Done()
	if n.c.Epoch() != 2 || n.c.Look().Inputs[1].Depth != 1 {
		t.Fatalf("epoch %d, %d wait; want 2 and 1", n.c.Epoch(), n.c.Look().Inputs[1].Depth)
	}
	if m, _ := n.c.ResumePoint(0); m.Counters.Received != 3 {
		t.Errorf("the mark is of %d events, want 3", m.Counters.Received)
	}
}
