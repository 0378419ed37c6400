package graph

import (
	"testing"

	"github.com/graphd/graphd/internal/spec"
)

// hasty is a graph whose epochs have time for 15 ns, of which its first node takes so many as takes says.
func hasty(t *testing.T, inputs, rest string) (h *harness, takes *int64) {
	t.Helper()
	h = start(t, inputs, "nodes:\n  slow: { expr: a, priority: high }\n"+rest)
	now := int64(0)
	takes = new(int64)
	h.plan.steps[h.nodes["slow"]].program = slowly{func() { now += *takes }}
	h.plan.addEpochBudget(&spec.Reactor{Budget: 15, OnOverrun: "degrade"})
	h.e.Clock, h.e.Interrupt = func() int64 { return now }, func() error { return nil }
	return h, takes
}

// reopen has the harness go on from what was written of its state: by the cells, or as that of a key.
func (h *harness) reopen(cells map[int][]byte, asKey bool) {
	h.t.Helper()
	st := h.plan.NewState()
	if asKey {
		l, _, err := h.plan.ReadLayout(h.plan.AppendLayout(nil))
		if err == nil {
			frozen := h.plan.Freeze(h.st, h.plan.NewState().cells)
			err = h.plan.DecodeState(st, l, h.plan.AppendState(nil, &frozen))
		}
		if err != nil {
			h.t.Fatal(err)
		}
		cells = nil
	}
	for i, data := range cells {
		if err := h.plan.DecodeCell(st, i, data); err != nil {
			h.t.Fatal(err)
		}
	}
	h.st = st
}

// keep fires, and writes down the cells that have changed.
func (h *harness) keep(cells map[int][]byte) *harness {
	h.t.Helper()
	h.fire()
	for _, i := range touched(&h.r) {
		cells[i] = h.plan.EncodeCell(h.st, i)
	}
	return h
}

// M24: a node that an epoch has no time for is due in the next one, whatever changes: one that has never run as for the
// first time, another as if what it reads had just changed. A restart in between makes no difference.
func TestM24WhatIsLeftOutIsDueAgain(t *testing.T) {
	t.Parallel()
	for _, restart := range []string{"", "cells", "key"} {
		h, takes := hasty(t, "a* b", `
  late: { expr: b }
  reads: { expr: 'late ?? -1' }
  turn: { expr: '(turn ?? 0) < b ? (turn ?? 0) + 1 : turn' }
loops: { l: { nodes: [turn] } }
`)
		cells := map[int][]byte{}
		again := func() {
			if restart != "" {
				h.reopen(cells, restart == "key")
			}
		}
		*takes = 20
		h.set("b", 7).set("a", 1).keep(cells).want("slow ran 1; late failed; reads failed; turn failed")
		again()
		*takes = 0
		h.set("a", 2).keep(cells).want("late ran 7; reads ran 7; turn ran 7")
		again()
		h.set("a", 3).keep(cells).want("late idle 7; reads idle 7; turn idle 7")
		*takes = 20
		h.set("b", 9).set("a", 4).keep(cells).want("late failed 7; reads idle 7; turn failed 7")
		again()
		h.set("a", 5).keep(cells).want("late failed 7; reads idle 7; turn failed 7")
		again()
		*takes = 0
		h.set("a", 6).keep(cells).want("late ran 9; reads ran 9; turn ran 9")
		again()
		h.set("a", 7).keep(cells).want("late idle 9; reads idle 9; turn idle 9")
		if restart != "" {
			continue
		}
		*takes = 20
		h.set("b", 9).set("a", 8).keep(cells).want("late failed 9; reads idle 9")
		*takes = 0
		h.set("a", 9).keep(cells).want("late cut_off 9; reads idle 9")
		h.reopen(cells, false)
		h.set("a", 10).keep(cells).want("late idle 9; reads idle 9")
	}
}

// M23: the first run of a node that its lane had no room for, or that was away, is still to come.
func TestM23FirstRunThatALaneLeftOut(t *testing.T) {
	t.Parallel()
	for _, overflow := range []string{"drop_newest", "reject"} {
		for _, hands := range []Hands{nil, newCrew(2)} {
			h := start(t, "a* b c", `
lanes: { slow: { pool: { queue_capacity: 1, overflow: `+overflow+` } } }
nodes:
  beat: { expr: a }
  one: { expr: b, lane: slow }
  two: { expr: c, lane: slow, on_error: skip }
  reads: { expr: 'two ?? -1' }
`)
			h.e.Hands = hands
			cells := map[int][]byte{}
			h.set("b", 7).set("c", 8).set("a", 1).keep(cells).want("one ran 7; two failed; reads ran -1")
			h.reopen(cells, false)
			h.set("a", 2).keep(cells).want("one idle 7; two ran 8; reads ran 8")
			h.set("a", 3).keep(cells).want("one idle 7; two idle 8; reads idle 8")
		}
	}
	h := start(t, "a* b", `
lanes: { slow: { pool: {} } }
nodes: { beat: { expr: a }, away: { expr: b, lane: slow, on_error: skip } }
`)
	hands := newCrew(1)
	h.e.Hands = hands
	hands.away[h.nodes["away"]] = 1
	h.set("b", 7).set("a", 1).fire().want("away failed")
	clear(hands.away)
	h.set("a", 2).fire().want("away ran 7")
}

// M24: a node waits by the epochs that have a record: a try that misses an answer, or one aside, is none. What has run,
// and be it to an error of its own, waits anew.
func TestM24WaitingIsCountedByRecords(t *testing.T) {
	t.Parallel()
	h, takes := hasty(t, "a*", "  n: { expr: 1 / (a - 5), on_error: skip }\n")
	var counts Counts
	epoch := func(a int, tries int, want string) {
		t.Helper()
		h.set("a", a)
		for range tries {
			h.run()
		}
		h.fire().want(want)
		h.r.Count(&counts)
	}
	*takes = 20
	epoch(6, 9, "n failed")
	epoch(6, 9, "n failed")
	epoch(6, 9, "n ran 1") // lifted
	epoch(6, 9, "n failed 1")
	*takes = 0
	epoch(5, 0, "n failed") // by itself
	*takes = 20
	for range 2 {
		epoch(6, 0, "n failed")
	}
	epoch(6, 0, "n ran 1")
	if counts.Lifted != 2 {
		t.Errorf("%d were lifted", counts.Lifted)
	}
}
