package virtual_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/boundary"
)

// M29, M50: what a shard passes over of a side counts for its join at its place among the events that it hands over:
// what comes behind it may be late by that, what came before is not. So it is after a replay of the journal too, and in
// a state that is gone on from.
func TestM50AJoinHearsOfOtherShardsInTheirPlace(t *testing.T) {
	t.Parallel()
	u := declared(t, threeInputs)
	now := time.Unix(200, 0).UTC()
	j := newJournaled(t, u)
	j.seal()
	j.drive.Begin(now)
	side := j.accs[0]
	add := func(name string, at int) {
		side.Add(j.drive.Touch(0), &boundary.Event{Raw: []byte(order(name, at))}, true)
	}
	pass := func(at int64, counts bool) {
		ev := &boundary.Event{Raw: []byte(order("theirs", int(at)))}
		side.Pass(j.drive.Touch(0), ev, fold.Fate{Elsewhere: true, Vouched: counts, At: at * int64(time.Second)})
	}
	pass(230, false) // where it is it is not folded
	pass(150, true)
	pass(140, true)
	add("w", 147) // behind 150 by more than two seconds, which is late
	add("x", 197)
	pass(199, true)
	pass(260, true) // nothing happens later than now
	add("y", 197)   // and so is this
	add("z", 198)
	pass(200, true)
	j.drive.Close()
	j.drive.Quiesce()
	j.entries = append(j.entries, j.core.DrainJournal()...)
	if b := j.core.Books(3); b.Received != 4 || b.Filtered != 2 || b.Queued != 2 {
		t.Errorf("books %+v", b)
	}
	again := j.replayed()
	if g, w := stateOf(t, again), stateOf(t, j.core); !reflect.DeepEqual(g, w) {
		t.Fatalf("replayed %+v\n  it was %+v", g, w)
	}
	var h accumulator.Handoff
	if side.Drain(&h) {
		t.Errorf("it had %+v left", h)
	}
}

// M50: what was heard of others goes with what is handed over next, and stays until then where nothing is complete.
func TestM50WhatIsHeardWaitsForWhatIsHandedOver(t *testing.T) {
	t.Parallel()
	u := declared(t, threeInputs)
	now, h := time.Unix(200, 0).UTC(), accumulator.Handoff{}
	side := accumulator.NewCore(u.Programs[0], accumulator.Limits{})
	pass := func(at int64) { side.Pass(now, &boundary.Event{}, fold.Fate{Vouched: true, At: at}) }
	pass(3)
	if pass(5); side.DrainPart(&h) {
		t.Fatalf("nothing is complete, and it hands over %+v", h)
	}
	side.Add(now, &boundary.Event{Raw: []byte(order("x", 100))}, true)
	pass(4)
	pass(7)
	if !side.DrainPart(&h) || !reflect.DeepEqual(h.Heard, []fold.Heard{{At: 5}, {Before: 1, At: 7}}) {
		t.Errorf("it has heard %+v", h.Heard)
	}
	pass(9)
	if h = (accumulator.Handoff{}); !side.Drain(&h) || !reflect.DeepEqual(h.Heard, []fold.Heard{{At: 9}}) {
		t.Errorf("it has heard %+v", h.Heard)
	}
	// What its sender takes back was not heard either.
	before := side.Moment()
	pass(11)
	side.GoBack(before)
	if h = (accumulator.Handoff{}); side.Drain(&h) && h.Heard != nil {
		t.Errorf("it has heard %+v", h.Heard)
	}
}
