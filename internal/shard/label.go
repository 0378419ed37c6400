package shard

import (
	"cmp"
	"math"

	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/reactor"
)

// never is the time of what happens before time has begun.
const never = math.MinInt64

// The phases of one time.
const (
	onTheWay  uint8 = iota // timers, before the events of the time
	instant                // the events
	ending                 // the end of all inputs
	leaving                // what no time completes, when it completes nothing more
	afterward              // timers of a time that has had its events
)

// round is when a graph came to rest.
type round struct {
	at    int64 // engine time
	seq   uint64
	phase uint8
}

func (r round) compare(o round) int {
	switch {
	case r.at != o.at:
		return cmp.Compare(r.at, o.at)
	case r.phase != o.phase:
		return cmp.Compare(r.phase, o.phase)
	}
	return cmp.Compare(r.seq, o.seq)
}

// What an accumulator hands over, in the order in which a core takes it in.
const (
	boundaries uint8 = iota
	late
	letters
)

// label is the place at which one graph would take something in: the round, then the input, then which event it
// came of. What one event completes is told apart by the fold; value is the boundary's then. What a join hands over in
// time comes behind all inputs: its own is counted on from theirs.
type label struct {
	round
	input int32
	kind  uint8
	seq   uint64
	value boundary.Value
}

// compare says which of two is taken in first. orders are by input.
func (l *label) compare(o *label, orders []fold.Ordering) int {
	if c := l.round.compare(o.round); c != 0 {
		return c
	}
	switch {
	case l.input != o.input:
		return cmp.Compare(l.input, o.input)
	case l.kind != o.kind:
		return cmp.Compare(l.kind, o.kind)
	case l.seq != o.seq:
		return cmp.Compare(l.seq, o.seq)
	case orders[l.input] == nil || l.value.IsAbsent() || o.value.IsAbsent():
		return 0
	}
	return orders[l.input].Order(l.value, o.value)
}

// labels are those of what a core has taken in, by its admission sequence, as long as it may be asked for.
type labels struct {
	first uint64 // the sequence of the first of list
	list  []label
	old   map[uint64]label // before first, and still waiting
	kept  int
	// arrivals: the last arrival of a key may be asked for as long as there is the key.
	arrivals bool
}

func (l *labels) add(of label) {
	if l.first == 0 {
		l.first = 1
	}
	l.list = append(l.list, of)
}

func (l *labels) get(seq uint64) label {
	if seq >= l.first {
		return l.list[seq-l.first]
	}
	return l.old[seq]
}

// forget lets go of what does not wait any more, once there is twice as much as there was left the last time. It looks
// at all keys, so it waits for as many to have been added.
func (l *labels) forget(core *reactor.Core) {
	keys, _ := core.KeyCount()
	if len(l.list) < max(4096, 2*keys, l.kept) {
		return
	}
	waiting := make(map[uint64]label)
	core.EachWaiting(func(seq uint64) { waiting[seq] = l.get(seq) })
	if l.arrivals {
		core.EachArrival(func(seq uint64) { waiting[seq] = l.get(seq) })
	}
	l.old, l.kept = waiting, len(waiting)
	l.first += uint64(len(l.list))
	clear(l.list)
	l.list = l.list[:0]
}
