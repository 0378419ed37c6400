// Package timeline puts the events of several streams in the order of their times: the
// earliest first, those of equal time in the order of their streams' ranks, as a bounded run
// takes them. It knows no clock: times are arguments.
//
// A stream of which it is known that more is to come holds the others back while its next
// event is not here: what comes next is not known. It does so for a while only, see [Order.Next].
package timeline

import "math"

// Never is before every time there is: an event of this time happens at the present instant.
const Never = math.MinInt64

// Order is the streams of one graph, each with its next event, if that is here. It belongs to one
// goroutine.
type Order struct {
	streams []stream
	free    []int // of streams, those that are not in use
	heap    []int // the streams whose next event is here
	missing []int // those that are behind and whose next event is not
	// patience is how long a stream that is behind and silent is waited for.
	patience int64
}

// stream is one stream's place in the order.
type stream struct {
	rank   uint64
	at     int64 // of its next event
	place  int   // in heap; -1 when its next event is not here
	gap    int   // in missing; -1 when nobody waits for it
	behind bool  // there is more to come than what is here
	sure   bool  // and it is known to come: patience does not end
	heard  int64 // when it was last heard of
}

// New makes an order without streams. patience is in the unit of the times that [Order.Next] is
// given, for streams that are behind; 0 is for ever.
func New(patience int64) *Order { return &Order{patience: patience} }

// Add makes a stream and answers its number. Nothing of it is here.
func (o *Order) Add(rank uint64) int {
	n := len(o.streams)
	if k := len(o.free); k > 0 {
		n, o.free = o.free[k-1], o.free[:k-1]
	} else {
		o.streams = append(o.streams, stream{})
	}
	o.streams[n] = stream{rank: rank, place: -1, gap: -1}
	return n
}

// Drop forgets a stream; its number may be given to another.
func (o *Order) Drop(n int) {
	o.Behind(n, false, 0)
	o.Sure(n, false)
	o.Clear(n)
	o.free = append(o.free, n)
}

// Rank gives a stream another rank.
func (o *Order) Rank(n int, rank uint64) {
	o.streams[n].rank = rank
	if o.streams[n].place >= 0 {
		o.fix(o.streams[n].place)
	}
}

// Set says that the next event of stream n is here, and its time.
func (o *Order) Set(n int, at int64) {
	s := &o.streams[n]
	s.at = at
	if s.place < 0 {
		s.place = len(o.heap)
		o.heap = append(o.heap, n)
		o.fill(n)
		o.up(s.place)
		return
	}
	o.fix(s.place)
}

// Clear says that the next event of stream n is not here.
func (o *Order) Clear(n int) {
	i := o.streams[n].place
	if i < 0 {
		return
	}
	last := len(o.heap) - 1
	moved := o.heap[last]
	o.heap = o.heap[:last]
	o.streams[n].place = -1
	if i < last {
		o.heap[i] = moved
		o.streams[moved].place = i
		o.fix(i)
	}
	o.open(n)
}

// Behind says whether there is more of stream n than what is here, as heard at a time: then the
// others wait for it. Where it was so before, the silence of the stream begins anew.
func (o *Order) Behind(n int, behind bool, heard int64) {
	s := &o.streams[n]
	s.behind, s.heard = behind, heard
	if behind {
		o.open(n)
	} else {
		o.fill(n)
	}
}

// Sure says whether it is certain that what stream n is behind with will come: then it is waited for however long that
// takes.
func (o *Order) Sure(n int, sure bool) { o.streams[n].sure = sure }

// Heard says that something came of stream n.
func (o *Order) Heard(n int, at int64) { o.streams[n].heard = at }

// IsBehind reports whether the others wait for stream n when its next event is not here.
func (o *Order) IsBehind(n int) bool { return o.streams[n].behind }

// First is the stream whose next event comes next, of those that are here.
func (o *Order) First() (n int, at int64, ok bool) {
	if len(o.heap) == 0 {
		return 0, 0, false
	}
	n = o.heap[0]
	return n, o.streams[n].at, true
}

// Next is the time of the next event of stream n; ok is false when that is not here.
func (o *Order) Next(n int) (at int64, ok bool) { return o.streams[n].at, o.streams[n].place >= 0 }

// Earliest is the least time of an event that is here and has one.
func (o *Order) Earliest() (at int64, ok bool) {
	for _, n := range o.heap {
		if t := o.streams[n].at; t != Never && (!ok || t < at) {
			at, ok = t, true
		}
	}
	return at, ok
}

// Missing is a stream that is waited for now, the one whose silence began last, and until when it
// is; ok is false when nobody is.
func (o *Order) Missing(now int64) (n int, until int64, ok bool) {
	for _, m := range o.missing {
		end := int64(math.MaxInt64)
		if o.patience > 0 && !o.streams[m].sure {
			end = o.streams[m].heard + o.patience
		}
		if end > now && (!ok || end > until) {
			n, until, ok = m, end, true
		}
	}
	return n, until, ok
}

// open puts a stream that is behind among those that are waited for, when its next event is not here.
func (o *Order) open(n int) {
	if s := &o.streams[n]; s.behind && s.place < 0 && s.gap < 0 {
		s.gap = len(o.missing)
		o.missing = append(o.missing, n)
	}
}

// fill takes a stream from those that are waited for.
func (o *Order) fill(n int) {
	i := o.streams[n].gap
	if i < 0 {
		return
	}
	last := len(o.missing) - 1
	moved := o.missing[last]
	o.missing[i] = moved
	o.streams[moved].gap = i
	o.missing = o.missing[:last]
	o.streams[n].gap = -1
}

func (o *Order) less(a, b int) bool {
	x, y := &o.streams[o.heap[a]], &o.streams[o.heap[b]]
	if x.at != y.at {
		return x.at < y.at
	}
	return x.rank < y.rank
}

func (o *Order) swap(a, b int) {
	o.heap[a], o.heap[b] = o.heap[b], o.heap[a]
	o.streams[o.heap[a]].place, o.streams[o.heap[b]].place = a, b
}

func (o *Order) fix(i int) {
	if !o.down(i) {
		o.up(i)
	}
}

func (o *Order) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !o.less(i, parent) {
			return
		}
		o.swap(i, parent)
		i = parent
	}
}

func (o *Order) down(i int) (moved bool) {
	for {
		least := 2*i + 1
		if least >= len(o.heap) {
			return moved
		}
		if right := least + 1; right < len(o.heap) && o.less(right, least) {
			least = right
		}
		if !o.less(least, i) {
			return moved
		}
		o.swap(i, least)
		i, moved = least, true
	}
}
