package reactor

import (
	"unique"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/graph"
	"github.com/graphd/graphd/internal/reactor/form"
)

// cell is the state of one key. An unkeyed graph has one, with the empty key. A graph may
// have a million of them: every field counts.
type cell struct {
	key   boundary.Key
	slots []slot
	nodes graph.State
	times *times // nil in a keyed graph without timers

	// What follows is for the keys of a keyed graph; see keys.go.
	seen    int64  // its last arrival, in nanoseconds of engine time
	arrival uint64 // the admission sequence of it
	at      int32  // its place in the agenda, when it is on it
	on      heapID
	waits   bool // the head waits for an input the guard reads
	dirty   bool // it changed since the last seal
	sealed  bool // some seal holds it
	loose   bool // its values are not compact yet
	listed  bool // it is among the ages
	overdue bool // its ttl has passed while it had an epoch to run
	lined   bool // it has a place among the keys that wait
}

// TableKey is the key by which the table of keys finds it.
func (k *cell) TableKey() boundary.Key { return k.key }

// times are what the timers of a key look at: nanoseconds of engine time, or never.
type times struct {
	started int64 // start of its last epoch
	// first and last are when the first and the last boundary came that trigger and wait for a cut.
	first, last int64
}

// timesNow are the key's times; never where none are kept.
func (k *cell) timesNow() times {
	if k.times == nil {
		return times{form.Never, form.Never, form.Never}
	}
	return *k.times
}

// from is a position in two words: where a cached value came from.
type from struct {
	stream unique.Handle[string] // zero for none
	offset int64
}

// from is a position as cells keep it.
func (a *account) from(p boundary.Position) from {
	if a.last == (from{}) || a.last.stream.Value() != p.Stream || p == (boundary.Position{}) {
		a.last = placeOf(p)
	}
	f := a.last
	f.offset = p.Offset
	return f
}

func placeOf(p boundary.Position) from {
	if p == (boundary.Position{}) {
		return from{}
	}
	return from{unique.Make(p.Stream), p.Offset}
}

func (f from) position() boundary.Position {
	if f == (from{}) {
		return boundary.Position{}
	}
	return boundary.Position{Stream: f.stream.Value(), Offset: f.offset}
}

// slot is one input of one key.
type slot struct {
	// cur is the value as of the last cut that was kept, set at version. It is absent before the first: then the
	// input's default stands for it where version is not 0. 0 is of an input that has none, or whose value a command
	// has taken away. See [Core.worth].
	cur     boundary.Value
	version uint64
	at      from // where cur came from
	// pend is the newest boundary of a latest input that no cut has taken yet: its dirty
	// flag. since is the admission sequence of the one that raised the flag.
	pend  *boundary.Boundary
	since uint64
	// queue holds the boundaries of a sequential input in admission order; nil for empty.
	queue *queue
}

// layOut gives every input its slot and makes the cell that always is.
func (c *Core) layOut() {
	c.place = make([]int, len(c.cfg.Inputs))
	n := 0
	for i := range c.cfg.Inputs {
		if c.place[i] = i; c.cfg.Keys == nil {
			continue
		}
		if c.cfg.Inputs[i].Global {
			c.place[i] = -1
			continue
		}
		c.place[i] = n
		n++
	}
	for i := range c.cfg.Inputs {
		in := &c.cfg.Inputs[i]
		c.zip = c.zip || in.Sequential && in.Triggers && !in.Alone
		c.alone = c.alone || in.Alone
		c.queueing = c.queueing || c.cfg.Keys != nil && c.place[i] >= 0 && c.cfg.Inputs[i].queues()
	}
	c.timed = c.cfg.RateLimit > 0 || c.cfg.Debounce > 0 || c.cfg.Every > 0 || c.cfg.MaxWait > 0
	c.direct, c.short = c.isDirect(), c.isShort()
	c.keys.init(n)
	c.keys.layout, c.changes.layout = 1, c.cfg.Keys != nil
	c.shared = &cell{
		slots: make([]slot, len(c.cfg.Inputs)), nodes: *c.cfg.Plan.NewState(),
		times: &times{form.Never, form.Never, form.Never},
	}
	c.cell = c.shared
	c.layDefaults()
}

// newCell is the state of a key before its first epoch.
func (c *Core) newCell(key boundary.Key) *cell {
	k, slots, room := inOne(c.keys.slots, c.cfg.Plan.StateSize())
	k.key, k.seen, k.arrival = key, form.Nano(c.now), c.admitted
	if c.timed {
		k.times = &times{form.Never, form.Never, form.Never}
	}
	k.slots, k.nodes = slots, c.cfg.Plan.StateIn(room)
	for i, at := range c.place {
		if d := c.cfg.Inputs[i].Default; at >= 0 && !d.IsAbsent() {
			k.slots[at].version = 1
		}
	}
	return k
}

// Cells with the slots and values of small graphs beside them. With a million keys each
// piece of memory is a miss of the cache; in one piece they are fetched together.
type (
	cell1x0 struct {
		cell
		slots [1]slot
	}
	cell1x2 struct {
		cell
		slots [1]slot
		room  [2]boundary.Value
	}
	cell2x1 struct {
		cell
		slots [2]slot
		room  [1]boundary.Value
	}
	cell2x2 struct {
		cell
		slots [2]slot
		room  [2]boundary.Value
	}
	cell2x6 struct {
		cell
		slots [2]slot
		room  [6]boundary.Value
	}
)

// inOne makes a cell with room for so many slots and values, in one piece where they are few.
func inOne(slots, values int) (*cell, []slot, []boundary.Value) {
	switch {
	case slots == 1 && values == 0:
		c := new(cell1x0)
		return &c.cell, c.slots[:], nil
	case slots == 1 && values <= 2:
		c := new(cell1x2)
		return &c.cell, c.slots[:], c.room[:]
	case slots == 2 && values <= 1:
		c := new(cell2x1)
		return &c.cell, c.slots[:], c.room[:]
	case slots == 2 && values <= 2:
		c := new(cell2x2)
		return &c.cell, c.slots[:], c.room[:]
	case slots == 2 && values <= 6:
		c := new(cell2x6)
		return &c.cell, c.slots[:], c.room[:]
	}
	return new(cell), make([]slot, slots), make([]boundary.Value, values)
}

// slot is input i as the key at hand sees it.
func (c *Core) slot(i int) *slot { return c.slotOf(c.cell, i) }

func (c *Core) slotOf(k *cell, i int) *slot {
	if at := c.place[i]; at >= 0 {
		return &k.slots[at]
	}
	return &c.shared.slots[i]
}

// isShared reports whether input i has one value for all keys.
func (c *Core) isShared(i int) bool { return c.place[i] < 0 }

func (s *slot) dirty() bool { return s.pend != nil || s.queue.len() > 0 }

// queued is one waiting boundary with its place in the admission order.
type queued struct {
	b   *boundary.Boundary
	seq uint64
	// since and at are the place and the engine time of what has waited here first: of the
	// boundary itself, or of the oldest that it has overwritten.
	since uint64
	at    int64
}

// queue is a FIFO that reuses its array. Its length is bounded by the input's
// capacity, which the Inbox enforces, and for a key by max_waiting.
type queue struct {
	items []queued
	head  int32
	// own is how many at the head are the key's own: they take no room of the input. What is
	// own stays own.
	own int32
}

func (q *queue) len() int {
	if q == nil {
		return 0
	}
	return len(q.items) - int(q.head)
}

func (q *queue) at(i int) *queued { return &q.items[int(q.head)+i] }

// before is how many at the head came before the admission sequence seq.
func (q *queue) before(seq uint64) int {
	n := 0
	for n < q.len() && q.at(n).seq < seq {
		n++
	}
	return n
}

func (q *queue) push(it queued) { q.items = append(q.compact(), it) }
func (q *queue) compact() []queued {
	if q.head > 64 && int(q.head)*2 > len(q.items) {
		n := copy(q.items, q.items[q.head:])
		clear(q.items[n:])
		q.items, q.head = q.items[:n], 0
	}
	return q.items
}

func (q *queue) pop() queued {
	it := q.items[q.head]
	q.items[q.head] = queued{}
	if q.head++; int(q.head) == len(q.items) {
		q.items, q.head = q.items[:0], 0
	}
	return it
}

// take removes what is at a place, which is near the head.
func (q *queue) take(at int) (it queued, own bool) {
	it = *q.at(at)
	if own = at < int(q.own); own {
		q.own--
	}
	waiting := q.items[q.head:]
	copy(waiting[1:at+1], waiting[:at])
	q.pop()
	return it, own
}

// push queues a boundary of a sequential input.
func (c *Core) push(k *cell, i int, it queued) {
	s := c.slotOf(k, i)
	if s.queue == nil {
		s.queue = c.keys.emptyQueue()
	}
	s.queue.push(it)
	c.accs[i].waiting.add(it.b)
}

// pop takes the head of a queue. A key gives an emptied queue back for others to use.
func (c *Core) pop(k *cell, i int) queued { return c.takeAt(k, i, 0) }

// takeAt takes what is at a place of a queue.
func (c *Core) takeAt(k *cell, i, at int) queued {
	s := c.slotOf(k, i)
	it, own := s.queue.take(at)
	if k != c.shared && s.queue.len() == 0 {
		c.keys.recycleQueue(s.queue)
		s.queue = nil
	}
	c.forget(k, i, it, own)
	return it
}

// popLast takes the newest of a queue.
func (c *Core) popLast(k *cell, i int) queued {
	q := c.slotOf(k, i).queue
	last := len(q.items) - 1
	it := q.items[last]
	q.items[last] = queued{}
	own := int(q.own) == q.len()
	if q.items = q.items[:last]; own {
		q.own--
	}
	c.forget(k, i, it, own)
	return it
}

// forget settles what left a queue; own says that it has given its room back already.
func (c *Core) forget(k *cell, i int, it queued, own bool) {
	if it.seq <= c.changes.sealedTo[i] {
		c.changes.gone = append(c.changes.gone, queueCell{i, it.seq, k.key})
	}
	c.accs[i].waiting.remove(it.b)
	if own {
		c.accs[i].own.remove(it.b)
	} else if c.cfg.Inputs[i].bounded() {
		c.freed[i].add(it.b)
	}
}

// overwrite makes b, admitted as number seq, the newest value of a latest input; what it
// replaces was conflated (M4).
func (c *Core) overwrite(k *cell, i int, b *boundary.Boundary, seq uint64) {
	s := c.slotOf(k, i)
	if s.pend == nil {
		s.since = seq
	} else {
		c.conflate(i, s.pend, k.key)
		c.accs[i].waiting.remove(s.pend)
	}
	s.pend = b
	c.accs[i].waiting.add(b)
}

// lower takes the newest boundary of a latest input: its dirty flag is down again.
func (c *Core) lower(k *cell, i int) *boundary.Boundary {
	s := c.slotOf(k, i)
	b := s.pend
	s.pend = nil
	c.accs[i].waiting.remove(b)
	return b
}

// touch notes that input i of a key changed since the last seal.
func (c *Core) touch(k *cell, i int) {
	if k == c.shared || c.isShared(i) {
		c.changes.slots[i] = true
		return
	}
	c.changes.touch(k)
}
