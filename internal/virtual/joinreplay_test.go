package virtual_test

import (
	"testing"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/compile"
	"github.com/graphd/graphd/internal/reactor/drive"
)

const (
	joinedOn = `graph: g
accumulators:
  a: { time: event.at, time_unit: s }
  b: { time: event.at, time_unit: s }
  j: { join: { left: a, right: b, on: order, within: 10s, type: full } }
outputs: { j: { from: j, sink: { drop: {} } } }
`
	notJoined = `graph: g
accumulators:
  a: { time: event.at, time_unit: s, strategy: sequential }
  b: { time: event.at, time_unit: s, strategy: sequential }
nodes: { n: { expr: '[a?.at, b?.at]' } }
outputs: { j: { from: n, sink: { drop: {} } } }
`
	joinedOnAt = `graph: g
accumulators:
  a: { time: event.at, time_unit: s }
  b: { time: event.at, time_unit: s }
  j: { join: { left: a, right: b, on: at, within: 10s, type: full } }
outputs: { j: { from: j, sink: { drop: {} } } }
`
	joinedLonger = `graph: g
accumulators:
  a: { time: event.at, time_unit: s }
  b: { time: event.at, time_unit: s }
  j: { join: { left: a, right: b, on: order, within: 12s, type: full } }
outputs: { j: { from: j, sink: { drop: {} } } }
`
)

// crash has the graph gone on from, with another declaration.
func (j *journaled) crash(u *compile.Unit) {
	j.u = u
	j.core, j.accs = j.replayed(), nil
	j.core.Begin()
	now := j.core.Now()
	j.core.Start(now)
	j.drive = drive.New(j.core, nil, nil, j, now)
	for i, p := range u.Programs {
		j.core.SetHealth(now, i, accumulator.SocketOnly, "", "")
		var acc *accumulator.Core
		if !u.Spec.Accumulators[i].Fed() {
			acc = accumulator.NewCore(p, accumulator.Limits{})
			if err := acc.RestoreMark(j.core.ResumePoint(i)); err != nil {
				j.t.Fatal(err)
			}
		}
		j.accs = append(j.accs, acc)
		j.drive.Enter(i, acc)
	}
}

// M29, M33: what the journal has behind a checkpoint goes to the join that it was admitted to, where that is still
// there after a crash: also where the checkpoint knows nothing of it, and where there was another declaration in
// between. Else it is left as a dead letter: it would be joined by what it was not joined on.
func TestM33WhatWasAdmittedToAnotherJoinIsLeft(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		first, then, now string
		joined, left     int64
	}{
		"an input becomes a side":        {notJoined, "", joinedOn, 0, 3},
		"of another join":                {joinedOn, "", joinedOnAt, 0, 3},
		"the join is the same":           {joinedOn, "", joinedLonger, 3, 0},
		"nothing has changed":            {joinedOn, "", joinedOn, 3, 0},
		"it came in between":             {notJoined, joinedOn, joinedLonger, 3, 3},
		"it is back":                     {joinedOn, joinedOnAt, joinedOn, 3, 3},
		"it is back, and it was no join": {joinedOn, notJoined, joinedLonger, 3, 3},
	} {
		for _, sealed := range []bool{false, true} {
			j := newJournaled(t, declared(t, c.first))
			if sealed {
				j.core.DrainJournal() // that it has begun
				j.seal()
			}
			give := func(at int) {
				j.takeInto(0, at, order("x", at))
				j.takeInto(1, at+1, order("x", at+1))
				j.takeInto(0, at+2, order("y", at+2))
			}
			give(100)
			if c.then != "" {
				j.crash(declared(t, c.then))
				give(200)
			}
			j.u = declared(t, c.now)
			core := j.replayed()
			b := core.Books(2)
			left := core.Books(0).DeadLettered + core.Books(1).DeadLettered
			if b.Received != c.joined || left != c.left {
				t.Errorf("%s, sealed %t: the join has %d events, and %d are left", name, sealed, b.Received, left)
			}
			for _, l := range core.Seal(core.Now()).Commit().DeadLetters {
				if l.Code != "input_joined" || l.Stage != "join" {
					t.Errorf("%s: %+v", name, l)
				}
			}
		}
	}
}

// M33: what the journal has of a side of a join that is none any more is what the input hands over. In a graph with
// keys it has the key of the join, which is none of the graph's now: it is left as a dead letter there.
func TestM33WhatWasASideIsLeftWhereItHasAnotherKey(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		first, now   string
		queued, left int64
	}{
		"without keys": {joinedOn, notJoined, 3, 0},
		"with keys":    {joinedOn + "reactor: { key: order }\n", notJoined + "reactor: { key: at }\n", 0, 3},
		"never a side": {notJoined + "reactor: { key: at, when: all }\n",
			notJoined + "reactor: { key: at, when: any }\n", 3, 0},
	} {
		for _, sealed := range []bool{false, true} {
			j := newJournaled(t, declared(t, c.first))
			if sealed {
				j.core.DrainJournal() // that it has begun
				j.seal()
			}
			j.takeInto(0, 100, order("x", 100))
			j.takeInto(1, 101, order("x", 101))
			j.takeInto(0, 102, order("y", 102))
			j.u = declared(t, c.now)
			core := j.replayed()
			a, b := core.Books(0), core.Books(1)
			if a.Queued+b.Queued != c.queued || a.DeadLettered+b.DeadLettered != c.left {
				t.Errorf("%s, sealed %t: %+v, %+v", name, sealed, a, b)
			}
			for _, l := range core.Seal(core.Now()).Commit().DeadLetters {
				if l.Code != "input_joined" || l.Stage != "join" {
					t.Errorf("%s: %+v", name, l)
				}
			}
		}
	}
}
