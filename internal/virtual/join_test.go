package virtual_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/reactor"
)

const paidOrders = `graph: g
accumulators:
  orders: { time: event.at, time_unit: s }
  payments: { time: event.at, time_unit: s }
  paid: { join: { left: orders, right: payments, on: order, within: { after: 10s }, %s } }
nodes:
  n: { expr: '[paid.order, paid.left?.at, paid.right?.at, paid.nth_left, paid.nth_right]' }
outputs:
  n: { from: n, sink: { stdout: {} } }
`

func order(order string, at int) string { return fmt.Sprintf(`{"order":%q,"at":%d}`, order, at) }

// M3, M42: a pair comes out when both are there, what has no partner when its time is up and at the end, and each event
// is accounted for once.
func TestM3AJoin(t *testing.T) {
	t.Parallel()
	s := newStaged(t, fmt.Sprintf(paidOrders, "type: full, lateness: 2s"))
	s.push(0, order("a", 100))
	s.push(1, order("a", 103), order("x", 104), order("a", 110))
	// Before 110 the join has come past the orders that the payment of 104 could be of.
	s.want(`n ["a",100,103,1,1]`, `n ["x",null,104,0,0]`, `n ["a",100,110,2,1]`)
	s.push(0, order("b", 110), order("c", 108)) // one behind 110 by two seconds is not late, and
	s.push(0, order("d", 107))                  // by three it is
	s.push(0, order("e", 112))
	s.want()
	s.push(0, order("e", 121)) // of 108 a payment may come until 118, in time until 120
	s.want(`n ["c",108,null,0,0]`)
	if b := s.balanced(); b[0].Consumed != 6 || b[2].Received != 9 || b[2].Filtered != 1 || b[2].Queued != 3 {
		t.Errorf("books %+v", b)
	}
	if l, ok := s.g.LateDrops(2); !ok || l.Events != 1 {
		t.Errorf("late: %+v", l)
	}
	s.must(s.g.Close())
	s.want(`n ["b",110,null,0,0]`, `n ["e",112,null,0,0]`, `n ["e",121,null,0,0]`)
	for i, b := range s.balanced() {
		if b.Queued != 0 {
			t.Errorf("input %d has %+v", i, b)
		}
	}
}

// An event that the join has no room for is a dead letter of its side, and an epoch that fails takes nothing back that
// the join has.
func TestM5WhatAJoinRefuses(t *testing.T) {
	t.Parallel()
	s := newStaged(t, fmt.Sprintf(paidOrders, "max_rows: 2"))
	s.push(0, order("a", 100), order("b", 101), order("c", 102))
	s.push(1, `{"order":null,"at":102}`)
	b := s.balanced()
	if b[0].DeadLettered != 1 || b[1].DeadLettered != 1 || b[2].Received != 2 {
		t.Errorf("books %+v", b)
	}
	letters := s.g.Letters()
	if len(letters) != 2 || letters[0].Accumulator != "orders" || letters[0].Code != "join_full" ||
		string(letters[0].Payload) != order("c", 102) || letters[1].Code != "key_missing" {
		t.Errorf("letters %+v", letters)
	}
}

// M4, M11: in a pause what a join makes waits within the bounds of its queue. Its sides have their room back when it is
// taken, and nothing is late that has waited.
func TestM4AJoinInAPause(t *testing.T) {
	t.Parallel()
	u := declared(t, `graph: g
accumulators:
  a: { time: event.at, time_unit: s }
  b: { time: event.at, time_unit: s }
  j: { join: { left: a, right: b, on: order, within: 10s, type: full }, capacity: 3 }
outputs:
  j: { from: j, sink: { drop: {} } }
`)
	j := newJournaled(t, u)
	freed := func() (n [3]int) {
		j.core.DrainFreed(func(i int, c reactor.Credit) { n[i] += c.Boundaries })
		return n
	}
	j.takeInto(0, 100, order("x", 100))
	if got := freed(); got != [3]int{1, 0, 0} {
		t.Errorf("freed %v", got)
	}
	j.core.Pause(j.drive.Time(), "ann")
	for i := range 5 {
		j.takeInto(1, 101+i, order("x", 101+i))
	}
	if got, waits := freed(), j.core.Queued(2); got != [3]int{0, 2, 0} && got != [3]int{0, 0, 0} || waits != 5 {
		t.Errorf("freed %v, %d wait", got, waits)
	}
	// What finds no partner is handed over in a pause too, and waits.
	j.takeInto(0, 200, order("y", 200))
	j.takeInto(1, 220, order("w", 220))
	if waits, b := j.core.Queued(2), j.core.Books(2); waits != 6 || b.Filtered != 0 || b.Queued != 8 {
		t.Errorf("%d wait, books %+v", waits, b)
	}
	j.core.Resume(j.drive.Time())
	j.drive.Stir()
	j.drive.Quiesce()
	if got, waits := freed(), j.core.Queued(2); got != [3]int{1, 6, 0} && got != [3]int{1, 4, 0} || waits != 0 {
		t.Errorf("freed %v, %d wait", got, waits)
	}
}

const threeInputs = `graph: g
accumulators:
  a: { time: event.at, time_unit: s }
  b: { time: event.at, time_unit: s }
  c: { time: event.at, time_unit: s }
  j: { join: { left: a, right: b, on: order, within: 10s, lateness: 2s, type: full } }
outputs: { j: { from: j, sink: { drop: {} } } }
`

// M26: a join has come as far as engine time at rest, also where nothing was due in it: what is late does not depend on
// what waits.
func TestM26AJoinComesAsFarAsItsGraph(t *testing.T) {
	t.Parallel()
	s := newStaged(t, threeInputs)
	late := func() int64 {
		l, _ := s.g.LateDrops(3)
		return l.Events
	}
	s.push(2, order("", 100), order("", 200))
	if s.push(0, order("x", 197), order("y", 198)); late() != 1 {
		t.Errorf("%d events are late at 200", late())
	}
	s.push(2, order("", 300)) // the rest of 198 has gone
	if s.push(1, order("y", 297), order("y", 298)); late() != 2 {
		t.Errorf("%d events are late at 300", late())
	}
}

// M26, M28, M29: so it is where a process ends within an instant, of which more comes behind it.
func TestM29AJoinKnowsHowFarItHasComeWithinAnInstant(t *testing.T) {
	t.Parallel()
	u := declared(t, threeInputs)
	second := func(n int64) time.Time { return time.Unix(n, 0).UTC() }
	for name, sealed := range map[string]bool{"in the journal": false, "in a checkpoint": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := newJournaled(t, u)
			j.seal()
			j.takeInto(2, 200, order("", 200))
			j.drive.Reach(second(210))
			j.core.OpenInstant(second(210).UnixNano())
			hand := func(core *reactor.Core, i, at int) {
				acc := accumulator.NewCore(u.Programs[i], accumulator.Limits{})
				acc.Add(second(210), &boundary.Event{Raw: []byte(order("x", at))}, true)
				var h accumulator.Handoff
				acc.Drain(&h)
				core.Admit(second(210), i, &h, 0)
			}
			if sealed {
				j.seal()
			} else {
				hand(j.core, 2, 210)
				j.entries = append(j.entries, j.core.DrainJournal()...)
			}
			for _, core := range []*reactor.Core{j.replayed(), j.core} {
				hand(core, 0, 207)
				hand(core, 0, 208)
				if b := core.Books(3); b.Received != 2 || b.Filtered != 1 {
					t.Errorf("books %+v", b)
				}
			}
		})
	}
}

// M13: pairs that wait for their counterpart in their keys take no room of the join: its sides go on, however small it
// is.
func TestM13PairsThatWaitInKeysHoldNoSide(t *testing.T) {
	t.Parallel()
	u := declared(t, `graph: g
accumulators:
  a: { time: event.at, time_unit: s }
  b: { time: event.at, time_unit: s }
  c: { strategy: sequential, time: event.at, time_unit: s }
  j: { join: { left: a, right: b, on: order, within: 10s }, capacity: 3 }
reactor: { key: order, when: all }
nodes: { n: { expr: '[j.left.at, c.at]' } }
outputs: { n: { from: n, sink: { drop: {} } } }
`)
	j := newJournaled(t, u)
	const keys = 1100
	freed := [4]int{}
	drain := func() { j.core.DrainFreed(func(i int, c reactor.Credit) { freed[i] += c.Boundaries }) }
	for i := range keys {
		key := fmt.Sprint(i)
		j.takeInto(0, 100, order(key, 100))
		j.takeInto(1, 100, order(key, 100))
		if drain(); j.core.Stuffed(0) || j.core.Stuffed(1) || freed[0] != i+1 || freed[1] != i+1 {
			t.Fatalf("after %d pairs its sides have %v of their room back", i+1, freed)
		}
	}
	for i := range keys {
		j.takeInto(2, 101, order(fmt.Sprint(i), 101))
	}
	if n := j.core.Epoch(); n != keys {
		t.Errorf("%d epochs of %d keys", n, keys)
	}
}

// M4, M29: the room of what was in the journal nobody has counted after a restart, so it is given back to nobody.
func TestM29ReplayedSidesOweNoRoom(t *testing.T) {
	t.Parallel()
	u := declared(t, `graph: g
accumulators:
  a: { time: event.at, time_unit: s }
  b: { time: event.at, time_unit: s }
  j: { join: { left: a, right: b, on: order, within: 10s }, capacity: 1 }
outputs: { j: { from: j, sink: { drop: {} } } }
`)
	j := newJournaled(t, u)
	j.seal()
	j.takeInto(0, 100, order("x", 100))
	j.core.Pause(j.drive.Time(), "ann")
	for i := range 3 {
		j.takeInto(1, 101+i, order("x", 101+i))
	}
	c := j.replayed()
	if n := c.Queued(2); n != 3 {
		t.Fatalf("%d pairs wait", n)
	}
	c.Start(c.Now())
	for i := range 3 {
		c.SetHealth(c.Now(), i, accumulator.SocketOnly, "", "")
	}
	c.Resume(c.Now())
	for c.Fire(c.Now()) {
		c.ResetReleased()
	}
	if n := c.Queued(2); n != 0 {
		t.Fatalf("%d pairs wait", n)
	}
	c.DrainFreed(func(i int, freed reactor.Credit) { t.Errorf("input %d is given %+v", i, freed) })
}

// While something of a side may not come in yet, the join does not go on: what waits there would be late.
func TestAJoinWaitsForWhatIsHeldBack(t *testing.T) {
	t.Parallel()
	u := declared(t, fmt.Sprintf(paidOrders, "type: left"))
	j := newJournaled(t, u)
	j.takeInto(0, 100, order("a", 100))
	j.drive.Hold(1, true)
	j.takeInto(0, 150, order("b", 150)) // in this time the payment of 100 has waited
	if b := j.core.Books(2); b.Consumed != 0 || b.Queued != 2 {
		t.Errorf("books %+v", b)
	}
	j.takeInto(1, 151, order("a", 105))
	if b := j.core.Books(2); b.Consumed != 2 || b.Queued != 1 || b.Filtered != 0 {
		t.Errorf("books %+v", b)
	}
	j.drive.Hold(1, false)
	j.takeInto(0, 170, order("c", 170))
	if b := j.core.Books(2); b.Consumed != 3 || b.Queued != 1 {
		t.Errorf("books %+v", b)
	}
}

// M28, M29: a checkpoint and the journal behind it give the join that was there, whenever the process ends.
func TestM29JoinsAreReplayed(t *testing.T) {
	t.Parallel()
	u := declared(t, fmt.Sprintf(paidOrders, "type: full, lateness: 3s"))
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 3))
		j := newJournaled(t, u)
		j.seal()
		for i := range 120 {
			second := 1000 + i
			j.takeInto(rng.IntN(2), second, order(string(rune('a'+rng.IntN(4))), second-rng.IntN(4)))
			if rng.IntN(15) == 0 {
				j.seal()
			}
			if i%7 != 0 {
				continue
			}
			if g, w := stateOf(t, j.replayed()), stateOf(t, j.core); !reflect.DeepEqual(g, w) {
				t.Fatalf("seed %d, event %d:\nreplayed %+v\n  it was %+v", seed, i, g, w)
			}
		}
		if b := j.core.Books(2); b.Consumed < 50 {
			t.Fatalf("seed %d is void: %+v", seed, b)
		}
	}
}

// A stage behind a join goes by where the join has come, and not past what waits there.
func TestStageBehindAJoin(t *testing.T) {
	t.Parallel()
	s := newStaged(t, `graph: g
accumulators:
  a: { time: event.at, time_unit: s }
  b: { time: event.at, time_unit: s }
  j: { join: { left: a, right: b, on: order, within: { after: 10s }, type: left } }
  w: { from: n, time: event.at, window: { tumbling: 10s, aggregate: { n: count(), paid: 'sum(event.m ? 1 : 0)' } } }
nodes:
  n: { expr: '{"at": j.left.at * 1000, "m": j.matched}' }
  m: { expr: '[w.n, w.paid]' }
outputs:
  m: { from: m, sink: { stdout: {} } }
`)
	s.push(0, order("x", 100))
	s.push(1, order("x", 101))
	s.push(0, order("y", 105), order("z", 112))
	s.want() // of 105 a payment may still come
	s.push(0, order("z", 116))
	s.want("m [2,1]")
}
