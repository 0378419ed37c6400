package virtual_test

import (
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/reactor"
)

const joinedAgain = `graph: g
accumulators:
  a: { time: event.at, time_unit: s }
  b: { time: event.at, time_unit: s }
  c: { time: event.at, time_unit: s }
  again: { join: { left: both, right: c, on: order, within: 10s, type: full }, capacity: 3 }
  both: { join: { left: a, right: b, on: order, within: { after: 10s }, type: left } }
nodes: { n: { expr: '[again.left?.left?.at, again.left?.right?.at, again.right?.at]' } }
outputs: { n: { from: n, sink: { stdout: {} } } }
`

// M3, M42: a join of a join has what that hands over, of as far back as that may be, and each event is accounted for
// once.
func TestM3AJoinOfAJoin(t *testing.T) {
	t.Parallel()
	s := newStaged(t, joinedAgain)
	s.push(0, order("x", 100), order("y", 101))
	s.push(1, order("x", 104))
	s.push(2, order("y", 105), order("y", 109))
	s.want()
	// y is handed over alone when 111 is past, as of 101, and what it is joined with has waited for it.
	s.push(2, order("x", 112))
	s.want(`n [101,null,105]`, `n [101,null,109]`, `n [100,104,112]`)
	s.push(2, order("z", 130))
	s.want()
	s.must(s.g.Close())
	s.want(`n [null,null,130]`)
	for i, b := range s.balanced() {
		if b.Queued != 0 {
			t.Errorf("input %d has %+v", i, b)
		}
	}
}

// M4: while as much waits of a join as it has room for, the sides of the joins that it takes wait, too; and what a join
// hands over to another has taken no room that could be given back.
func TestM4SidesWaitForAllThatTakesThem(t *testing.T) {
	t.Parallel()
	u := declared(t, joinedAgain)
	j := newJournaled(t, u)
	j.takeInto(0, 100, order("x", 100))
	j.takeInto(1, 100, order("x", 100))
	j.core.Pause(j.drive.Time(), "ann")
	for i := range 4 {
		if j.core.Stuffed(0) || j.core.Stuffed(2) != (i > 2) {
			break
		}
		j.takeInto(2, 101, order("x", 101))
	}
	for i := range 3 {
		if !j.core.Stuffed(i) {
			t.Errorf("input %d goes on while %d wait behind it", i, j.core.Queued(3))
		}
	}
	j.core.Resume(j.drive.Time())
	j.drive.Stir()
	j.drive.Quiesce()
	freed := map[int]int{}
	j.core.DrainFreed(func(i int, c reactor.Credit) { freed[i] += c.Boundaries })
	if j.core.Stuffed(0) || freed[0] != 1 || freed[1] != 1 || freed[4] != 0 {
		t.Errorf("of its room the inputs have %v back", freed)
	}
}

// M3, M33: an update has the first join hand over alone what it has had since before, and the second has not waited for
// it: it is joined all the same, and accounted for.
func TestM33WhatAJoinHandsOverAfterAnUpdateIsNotLate(t *testing.T) {
	t.Parallel()
	j := newJournaled(t, declared(t, strings.Replace(joinedAgain, "type: left", "type: inner", 1)))
	j.takeInto(2, 95, order("w", 95))
	j.takeInto(0, 100, order("x", 100))
	j.takeInto(2, 107, order("x", 107)) // the second has let go of w, at 105
	j.seal()
	j.crash(declared(t, joinedAgain))
	j.takeInto(2, 112, order("y", 112)) // until 110 the x of 100 could have a partner in the first
	b := j.core.Books(3)
	if l, late := j.core.LateDrops(3); late || b.Received != 4 || b.Filtered != 0 || b.Consumed != 3 {
		t.Errorf("late %+v, books %+v", l, b)
	}
}
