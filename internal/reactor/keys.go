package reactor

import (
	"bytes"
	"strings"
	"time"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/reactor/form"
	"github.com/graphd/graphd/internal/reactor/keytable"
)

// The keys of a keyed reactor (M13): one cell each, made on first sight and evicted after
// its ttl or when there are too many. Nothing here looks at all keys: an event costs the
// same whether there are ten of them or a million.

// keys is what a keyed core knows of its keys.
type keys struct {
	byKey  *keytable.Table[*cell]
	slots  int // per key
	agenda agenda
	ages   ages // the keys by last arrival, but for those that are overdue
	// waiting are the keys whose guard waits for an input; nil before the first.
	waiting map[*cell]struct{}
	// loose are keys with values that point into buffers they came in, looseBytes about
	// how large these values are.
	loose      []*cell
	looseBytes int
	queues     []*queue // empty ones, to be used again
	layout     int      // the number of the layout that cells are written in
	evicted    int64
	// line are the keys that wait, deserters how many of them are gone, overflowed the boundaries
	// that keys could not hold; see waiting.go.
	line       line
	deserters  int
	overflowed int64
	gone       func(arrival uint64) // see [Core.OnExpiry]
	// halted is the key whose epoch the graph has halted on: it comes first when the graph goes on. nil for none.
	halted *cell
}

// looseLimit is how many bytes of values may wait to be made compact. A value holds on to
// the buffer it was read into; that many bytes are a few buffers, and a millisecond of work.
const looseLimit = 1 << 20

func (ks *keys) init(slots int) {
	ks.slots = slots
	ks.byKey = keytable.New[*cell]()
}

// wait has the guard of a key wait for an input.
func (ks *keys) wait(k *cell) {
	if ks.waiting == nil {
		ks.waiting = make(map[*cell]struct{})
	}
	ks.waiting[k] = struct{}{}
}

func (ks *keys) emptyQueue() *queue {
	if n := len(ks.queues); n > 0 {
		q := ks.queues[n-1]
		ks.queues = ks.queues[:n-1]
		return q
	}
	return &queue{}
}

// spareQueues bounds the empty queues that are kept, and maxSpareQueue the room in one.
const (
	spareQueues   = 1024
	maxSpareQueue = 64
)

func (ks *keys) recycleQueue(q *queue) {
	if len(ks.queues) < spareQueues && cap(q.items) <= maxSpareQueue {
		ks.queues = append(ks.queues, q)
	}
}

// KeyCount is how many keys there are now, and how many were evicted in all; both are 0 in an unkeyed graph.
func (c *Core) KeyCount() (keys int, evicted int64) { return c.keys.byKey.Len(), c.keys.evicted }

// HasKey reports whether the graph has this key now.
func (c *Core) HasKey(key boundary.Key) bool { return c.keys.byKey.Get(key) != nil }

// KeysOf yields the keys of a part of the table, in no order: when something last came, and how many boundaries wait.
func (c *Core) KeysOf(part int, yield func(key boundary.Key, arrived time.Time, waiting int)) {
	for k := range c.keys.byKey.Part(part) {
		waiting := 0
		for i := range k.slots {
			if waiting += k.slots[i].queue.len(); k.slots[i].pend != nil {
				waiting++
			}
		}
		yield(k.key, form.NanoTime(k.seen), waiting)
	}
}

// Keyed reports whether the graph has keys.
func (c *Core) Keyed() bool { return c.cfg.Keys != nil }

// arrive finds the cell of a key that something arrived for, and makes it the most recent.
// It makes a new one on first sight, and evicts the least recent when that is one too many.
func (c *Core) arrive(key boundary.Key) *cell {
	k := c.keys.byKey.Get(key)
	if k == nil {
		k = c.insert(c.newCell(boundary.Key(strings.Clone(string(key)))))
	}
	k.seen, k.arrival, k.overdue = form.Nano(c.now), c.admitted, false
	if !k.listed {
		c.keys.ages.put(k)
	}
	return k
}

// insert adds a key.
func (c *Core) insert(k *cell) *cell {
	for c.keys.byKey.Len() >= c.cfg.Keys.Max {
		oldest := c.keys.ages.oldest()
		if oldest == nil {
			break // all that are left are overdue, and go when they have run
		}
		c.keys.ages.drop()
		c.evict(oldest, "more keys than max_keys: this was the least recently used")
	}
	c.keys.byKey.Put(k)
	c.keys.ages.put(k)
	c.changes.touch(k)
	return k
}

// expire evicts the keys whose ttl has run out. A key that has an epoch to run is late, not
// abandoned: it runs first.
func (c *Core) expire() {
	if c.cfg.Keys == nil || c.cfg.Keys.TTL <= 0 {
		return
	}
	for {
		if seen, ok := c.keys.ages.soonest(); !ok || !c.expired(seen) {
			return
		}
		k := c.keys.ages.oldest()
		if !c.expired(k.seen) || len(c.deadLetters) >= MaxDeadLetters {
			return // with too many letters the rest goes when the store has taken them
		}
		c.keys.ages.drop()
		if k.on != offAgenda {
			k.overdue = true
			continue
		}
		if c.evict(k, noArrival); c.keys.gone != nil {
			c.keys.gone(k.arrival)
		}
	}
}

// OnExpiry has gone told of each key whose ttl has run out, right after it was evicted: with the admission sequence of
// its last arrival, by which keys of one time go. One that has an epoch to run goes later, and gone is not told of it.
func (c *Core) OnExpiry(gone func(arrival uint64)) { c.keys.gone = gone }

// expired reports whether the ttl of a key seen last at seen has run out.
func (c *Core) expired(seen int64) bool { return seen+int64(c.cfg.Keys.TTL) <= form.Nano(c.now) }

const noArrival = "nothing arrived for this key within ttl"

// ttlDue is when to look for expired keys again: not after the next one expires.
func (c *Core) ttlDue() (at time.Time, ok bool) {
	if c.cfg.Keys == nil || c.cfg.Keys.TTL <= 0 || len(c.deadLetters) >= MaxDeadLetters {
		return time.Time{}, false
	}
	seen, ok := c.keys.ages.soonest()
	return time.Unix(0, seen+int64(c.cfg.Keys.TTL)).UTC(), ok
}

// evict forgets a key that is not among the ages any more. What it had not consumed becomes
// dead letters or is filtered (M13).
func (c *Core) evict(k *cell, why string) {
	c.refuseKey(k, why)
	for i := range c.cfg.Inputs {
		if c.isShared(i) {
			continue
		}
		s := c.slotOf(k, i)
		if s.pend != nil {
			c.abandon(i, c.lower(k, i), "key_evicted", why)
		}
		for s.queue.len() > 0 {
			c.abandon(i, c.pop(k, i).b, "key_evicted", why)
		}
	}
	c.keys.agenda.remove(k)
	delete(c.keys.waiting, k)
	c.keys.tried(k)
	c.keys.byKey.Remove(k.key)
	c.answered(k.key)
	c.keys.evicted++
	c.keys.left(k)
	c.changes.evicted(k)
}

// abandon settles the events of a boundary that its key cannot hold any longer.
func (c *Core) abandon(i int, b *boundary.Boundary, code, why string) {
	if c.cfg.Keys.Drop {
		c.accs[i].filtered += b.Events
		return
	}
	c.deadLetter(i, b, "evict", code, why, 0)
}

// schedule puts a key on the agenda or takes it off, as its criteria say. What waits in one
// that may not fire now is its own from then on.
func (c *Core) schedule(k *cell) {
	r := c.readiness(k)
	switch {
	case !c.queueing:
	case r.ok && !k.waits && r.due <= form.Nano(c.now):
		c.boundZips(k)
		if c.cfg.Guard {
			c.enlist(k)
		}
	case c.settle(k):
		r = c.readiness(k)
	}
	if !r.ok || k.waits {
		c.keys.agenda.remove(k)
		if k.overdue {
			c.evict(k, noArrival)
		}
		return
	}
	c.keys.agenda.put(k, r.completed, r.due, form.Nano(c.now))
}

// next makes the key whose epoch comes first the one at hand.
func (c *Core) next() bool {
	a := &c.keys.agenda
	if a.promote(form.Nano(c.now)); len(a.ready) == 0 {
		return false
	}
	first := 0
	if k := c.keys.halted; k != nil && k.on == isReady {
		first = int(k.at)
	}
	c.cell, c.completedBy = a.ready[first].k, a.ready[first].tie
	return true
}

// tried notes that what the graph has halted on has come to something: k is a key like any other.
func (ks *keys) tried(k *cell) {
	if ks.halted == k {
		ks.halted = nil
	}
}

// wakeAll lets every guard that waits be asked again: a value that all keys share has arrived.
func (c *Core) wakeAll() {
	for k := range c.keys.waiting { // each is put in its own place: the order does not matter
		delete(c.keys.waiting, k)
		k.waits = false
		c.changes.touch(k)
		c.schedule(k)
	}
}

// loosen notes that a key has got a value which may point into the buffer it came in.
func (c *Core) loosen(k *cell, b *boundary.Boundary) {
	if b.Raw == nil && isScalar(b.Value) {
		return
	}
	if !k.loose {
		k.loose = true
		c.keys.loose = append(c.keys.loose, k)
	}
	if c.keys.looseBytes += b.Size; c.keys.looseBytes >= looseLimit {
		c.tighten()
	}
}

func isScalar(v boundary.Value) bool {
	k := v.Kind()
	return k != boundary.KindString && k != boundary.KindList && k != boundary.KindObject
}

// tighten gives cached values memory of their own, so that a key holds on to what it has
// and not to the buffer that was read with it.
func (c *Core) tighten() {
	for _, k := range c.keys.loose {
		k.loose = false
		for i := range k.slots {
			s := &k.slots[i]
			s.cur = s.cur.Compact()
			if s.pend != nil {
				own := *s.pend
				own.Value, own.Raw = own.Value.Compact(), bytes.Clone(own.Raw)
				s.pend = &own
			}
		}
		k.nodes.Compact()
	}
	clear(c.keys.loose)
	c.keys.loose, c.keys.looseBytes = c.keys.loose[:0], 0
}
