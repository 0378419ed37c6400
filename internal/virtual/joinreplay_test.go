package virtual_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

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

// orders takes two orders of x, one by each side, and one of y.
func (j *journaled) orders(at int) {
	j.takeInto(0, at, order("x", at))
	j.takeInto(1, at+1, order("x", at+1))
	j.takeInto(0, at+2, order("y", at+2))
}

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
			j.orders(100)
			if c.then != "" {
				j.crash(declared(t, c.then))
				j.orders(200)
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

// M29, M33: a replay that runs no epoch again has a join let go of what it had let go of: it has room for what came
// behind that.
func TestM29AJoinGoesOnWhereNoEpochIsRunAgain(t *testing.T) {
	t.Parallel()
	bounded := func(within string) *compile.Unit {
		return declared(t, strings.Replace(joinedOn, "within: 10s", within, 1))
	}
	const first = "within: 10s, max_rows: 2"
	for name, c := range map[string]struct {
		now  string
		only bool
	}{
		"another declaration": {"within: 12s, max_rows: 2", false},
		"admitted alone":      {first, true},
		"run again":           {first, false},
	} {
		j := newJournaled(t, bounded(first))
		for i := range 5 {
			j.takeInto(i%2, 100+20*i, order("x", 100+20*i))
		}
		j.u, j.only = bounded(c.now), c.only
		core := j.replayed()
		left := core.Books(0).DeadLettered + core.Books(1).DeadLettered
		if b := core.Books(2); b.Received != 5 || left != 0 {
			t.Errorf("%s: books %+v, and %d are left", name, b, left)
		}
	}
}

// M13, M33: what the journal has behind a checkpoint was admitted under the key that its input had. Where that is
// another by now it is left as a dead letter, as what waits in such keys is; it is so by each start behind the
// checkpoint, and by each input.
func TestM33WhatWasAdmittedUnderAnotherKeyIsLeft(t *testing.T) {
	t.Parallel()
	read := func(key, strategy string) *compile.Unit {
		return declared(t, strings.Replace(notJoined, "strategy: sequential }", key+"strategy: sequential }", 1)+
			"reactor: "+strategy)
	}
	byOrder, byAt := read("", "{ key: order, when: all }"), read("", "{ key: at, when: all }")
	still, one := read("", "{ key: order, when: any }"), read("key: event.at, ", "{ key: order, when: all }")
	for name, c := range map[string]struct {
		first, then, now *compile.Unit
		queued, left     int64
	}{
		"another key":          {byOrder, nil, byAt, 0, 3},
		"the same key":         {byOrder, nil, still, 3, 0},
		"nothing has changed":  {byOrder, nil, byOrder, 1, 0},
		"another in between":   {byOrder, byAt, still, 3, 3},
		"another key of one":   {byOrder, nil, one, 1, 2},
		"it had one, and not":  {one, nil, still, 1, 2},
		"it had it in between": {byOrder, one, still, 4, 2},
		"no keys in between":   {byOrder, declared(t, notJoined), byAt, 0, 6},
	} {
		for _, sealed := range []bool{false, true} {
			j := newJournaled(t, c.first)
			if sealed {
				j.core.DrainJournal() // that it has begun
				j.seal()
			}
			j.orders(100)
			if c.then != nil {
				j.crash(c.then)
				j.orders(200)
			}
			j.u = c.now
			core := j.replayed()
			a, b := core.Books(0), core.Books(1)
			if a.Queued+b.Queued != c.queued || a.DeadLettered+b.DeadLettered != c.left {
				t.Errorf("%s, sealed %t: %+v, %+v", name, sealed, a, b)
			}
			for _, l := range core.Seal(core.Now()).Commit().DeadLetters {
				unkeyed := c.then != nil && c.then.Reactor().Keys == nil && !l.At.Before(time.Unix(200, 0))
				if (l.Code == "key_missing") != unkeyed || !unkeyed && l.Code != "key_evicted" || l.Payload == nil {
					t.Errorf("%s: %+v", name, l)
				}
			}
		}
	}
}

// M29, M33: so it is with late events, which the journal has apart: the input that they go to has a key, too.
func TestM33LateEventsAdmittedUnderAnotherKeyAreLeft(t *testing.T) {
	t.Parallel()
	by := func(key string) *compile.Unit {
		return declared(t, `graph: g
accumulators:
  a:
    time: event.at
    time_unit: s
    window: { tumbling: 10s, late: old, key: event.key, aggregate: { n: min(event.n) } }
nodes: { n: { expr: '[a?.n, old?.n]' } }
outputs: { n: { from: n, sink: { drop: {} } } }
reactor: { key: `+key+` }
`)
	}
	for key, left := range map[string]int{"key": 0, "n": 2} {
		j := newJournaled(t, by("key"))
		for _, at := range []int{100, 120, 101} {
			j.take(at, fmt.Sprintf(`{"key":"x","n":%d,"at":%d}`, at, at))
		}
		j.u = by(key)
		core := j.replayed()
		letters := map[string]int{}
		for _, l := range core.Seal(core.Now()).Commit().DeadLetters {
			letters[l.Code]++
		}
		if letters["key_evicted"] != left || len(letters) != min(left, 1) {
			t.Errorf("by %s dead letters are %v", key, letters)
		}
	}
}

// M33: a join that has taken another's place begins anew, and goes by nothing that this one has come to: its times may
// have been others.
func TestM33AJoinGoesOnByItsOwnTimeAlone(t *testing.T) {
	t.Parallel()
	j := newJournaled(t, declared(t, joinedOn))
	j.takeInto(0, 100, order("x", 100))
	j.takeInto(1, 130, order("y", 130))
	j.crash(declared(t, joinedOnAt))
	j.takeInto(0, 130, order("z", 105))
	if l, late := j.core.LateDrops(2); late || j.core.Books(2).Received != 1 {
		t.Errorf("late %+v, books %+v", l, j.core.Books(2))
	}
}
