package flow_test

import (
	"testing"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/accumulator/pump"
	"github.com/graphd/graphd/internal/accumulator/pump/pace"
	"github.com/graphd/graphd/internal/live/flow"
)

// M26: an input that has something which may not come in yet is waited for, whatever is known of its source, and for
// longer than any silence: for the stream that it is of also while others of the input have something, and until it is
// said that nothing is held back any more.
func TestM26WhatIsHeldBackIsWaitedFor(t *testing.T) {
	t.Parallel()
	r, a, b := newPair(t) // both have caught up: nobody would wait for them
	b.Held("p1", pace.Passing)
	r.giveTo(a, "", 1, 20)
	for range 30 {
		r.mono += int64(flow.DefaultIdle) / 10
		r.want(r.turn(), "")
	}
	if by := r.flow.HeldBy(); by != "b" && by != "b p1" {
		t.Errorf("held back by %q", by)
	}
	r.giveTo(b, "p2", 1, 10) // of another stream: what p1 has may be earlier
	r.want(r.turn(), "")
	r.giveTo(b, "p1", 2, 5)
	b.Looked(b.Look())
	r.want(r.turn(), "") // p1 may have more of its instant
	r.mono += 3 * int64(flow.DefaultIdle)
	r.want(r.turn(), "")
	b.Held("", pace.Free)
	r.want(r.turn(), "[null,2] [null,1]")
}

// M26: what only the graph itself can make room for is waited for as long as who is silent, for the room may have to
// come from what the others have, or from the time.
func TestM26WhatIsHeldBackForRoomIsWaitedForAWhile(t *testing.T) {
	t.Parallel()
	r, a, b := newPair(t)
	b.Held("", pace.Lasting)
	r.giveTo(a, "", 1, 20)
	r.want(r.turn(), "")
	b.Looked(b.Look())
	r.want(r.turn(), "")
	for range 9 {
		r.mono += int64(flow.DefaultIdle) / 10
		r.want(r.turn(), "")
	}
	r.mono += int64(flow.DefaultIdle) / 10
	r.want(r.turn(), "[1,null]")
}

// M26: nobody is waited for who has nothing any more, whether that was said or not.
func TestM26WhoHasLeftHoldsNobodyBack(t *testing.T) {
	t.Parallel()
	for name, ends := range map[string]func(r *rig, b *pump.Line){
		"let in":      func(_ *rig, b *pump.Line) { b.Held("", pace.Free); b.Looked(b.Look()) },
		"another way": func(r *rig, b *pump.Line) { b.Held("", pace.Lasting); r.mono += 2 * int64(flow.DefaultIdle) },
		"left": func(r *rig, _ *pump.Line) {
			r.flow.Leave(1)
			r.mono += 2 * int64(flow.DefaultIdle)
		},
		"disconnected and let in": func(_ *rig, b *pump.Line) {
			b.Health(accumulator.Disconnected, "")
			b.Held("", pace.Free)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, a, b := newPair(t)
			b.Held("p1", pace.Passing)
			r.giveTo(a, "", 1, 20)
			r.mono += 2 * int64(flow.DefaultIdle)
			r.want(r.turn(), "")
			ends(r, b)
			for range 20 {
				r.turn()
				r.mono += int64(flow.DefaultIdle) / 10
			}
			r.giveTo(a, "", 2, 30)
			r.flow.Admit()
			if n := r.core.Epoch(); n == 0 {
				t.Error("the others are held back still")
			}
		})
	}
}
