package reactor

import (
	"bytes"
	"strings"
	"time"

	"github.com/graphd/graphd/internal/boundary"
)

// The keys of a keyed reactor (M13): one cell each, made on first sight and evicted after
// its ttl or when there are too many. Nothing here looks at all keys: an event costs the
// same whether there are ten of them or a million.

// keys is what a keyed core knows of its keys.
type keys struct {
	byKey  map[boundary.Key]*cell
	slots  int // per key
	agenda agenda
	// oldest and newest are the ends of the order of last arrival.
	oldest, newest *cell
	// waiting are the keys whose guard waits for an input.
	waiting map[*cell]struct{}
	// loose are keys with values that point into buffers they came in, looseBytes about
	// how large these values are.
	loose      []*cell
	looseBytes int
	queues     []*queue // empty ones, to be used again
	layout     int      // the number of the layout that cells are written in
	evicted    int64
}

// looseLimit is how many bytes of values may wait to be made compact. A value holds on to
// the buffer it was read into; that many bytes are a few buffers, and a millisecond of work.
const looseLimit = 1 << 20

func (ks *keys) init(slots int) {
	ks.slots = slots
	ks.byKey = make(map[boundary.Key]*cell)
	ks.waiting = make(map[*cell]struct{})
}

func (ks *keys) takeQueue() *queue {
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

func (ks *keys) giveQueue(q *queue) {
	if len(ks.queues) < spareQueues && cap(q.items) <= maxSpareQueue {
		ks.queues = append(ks.queues, q)
	}
}

// KeyCount is how many keys there are now, and how many have been evicted in all; both are
// 0 in an unkeyed graph.
func (c *Core) KeyCount() (keys int, evicted int64) { return len(c.keys.byKey), c.keys.evicted }

// HasKey reports whether the graph has this key now.
func (c *Core) HasKey(key boundary.Key) bool { return c.keys.byKey[key] != nil }

// Keyed reports whether the graph has keys.
func (c *Core) Keyed() bool { return c.cfg.Keys != nil }

// arrive finds the cell of a key that something arrived for, and makes it the most recent.
// It makes a new one on first sight, and evicts the least recent when that is one too many.
func (c *Core) arrive(key boundary.Key) *cell {
	k := c.keys.byKey[key]
	if k == nil {
		k = c.insert(c.newCell(boundary.Key(strings.Clone(string(key)))))
	}
	k.seen, k.arrival, k.overdue = nano(c.now), c.admitted, false
	c.keys.unlink(k)
	c.keys.link(k)
	return k
}

// insert adds a key.
func (c *Core) insert(k *cell) *cell {
	for len(c.keys.byKey) >= c.cfg.Keys.Max && c.keys.oldest != nil {
		c.evict(c.keys.oldest, "max_keys", "more keys than max_keys: this was the least recently used")
	}
	c.keys.byKey[k.key] = k
	c.keys.link(k)
	c.changes.touch(k)
	return k
}

// link appends k to the order of last arrival.
func (ks *keys) link(k *cell) {
	k.older, k.newer, k.listed = ks.newest, nil, true
	if ks.newest != nil {
		ks.newest.newer = k
	} else {
		ks.oldest = k
	}
	ks.newest = k
}

func (ks *keys) unlink(k *cell) {
	if !k.listed {
		return
	}
	if k.older != nil {
		k.older.newer = k.newer
	} else {
		ks.oldest = k.newer
	}
	if k.newer != nil {
		k.newer.older = k.older
	} else {
		ks.newest = k.older
	}
	k.older, k.newer, k.listed = nil, nil, false
}

// expire evicts the keys whose ttl has run out. A key that has an epoch to run is late, not
// abandoned: it runs first.
func (c *Core) expire() {
	if c.cfg.Keys == nil || c.cfg.Keys.TTL <= 0 {
		return
	}
	for k := c.keys.oldest; k != nil && k.seen+int64(c.cfg.Keys.TTL) <= nano(c.now); k = c.keys.oldest {
		if len(c.letters) >= maxLetters {
			return // the rest goes when the store has taken these
		}
		if k.on != offAgenda {
			c.keys.unlink(k)
			k.overdue = true
			continue
		}
		c.evict(k, "ttl", "nothing arrived for this key within ttl")
	}
}

// ttlDue is when the next key expires.
func (c *Core) ttlDue() (at time.Time, ok bool) {
	if c.cfg.Keys == nil || c.cfg.Keys.TTL <= 0 || c.keys.oldest == nil || len(c.letters) >= maxLetters {
		return time.Time{}, false
	}
	return time.Unix(0, c.keys.oldest.seen+int64(c.cfg.Keys.TTL)).UTC(), true
}

// evict forgets a key. What it had not consumed becomes dead letters or is filtered (M13).
func (c *Core) evict(k *cell, why, reason string) {
	for i := range c.cfg.Inputs {
		if c.isShared(i) {
			continue
		}
		s := c.slotOf(k, i)
		if s.pend != nil {
			c.abandon(i, c.lower(k, i), why, reason)
		}
		for s.queue.len() > 0 {
			c.abandon(i, c.pop(k, i).b, why, reason)
		}
	}
	c.keys.agenda.remove(k)
	c.keys.unlink(k)
	delete(c.keys.waiting, k)
	delete(c.keys.byKey, k.key)
	c.keys.evicted++
	c.changes.evicted(k)
}

// abandon settles the events of a boundary whose key is evicted.
func (c *Core) abandon(i int, b *boundary.Boundary, why, reason string) {
	if c.cfg.Keys.Drop {
		c.accs[i].filtered += b.Events
		return
	}
	c.bury(i, b, "evict", "key_evicted", why+": "+reason, 0)
}

// schedule puts a key on the agenda or takes it off, as its criteria say.
func (c *Core) schedule(k *cell) {
	completed, ok := c.completed(k)
	if !ok || k.waits {
		c.keys.agenda.remove(k)
		if k.overdue {
			c.evict(k, "ttl", "nothing arrived for this key within ttl")
		}
		return
	}
	due := int64(0)
	if c.cfg.RateLimit > 0 && k.started != 0 {
		due = k.started + int64(c.cfg.RateLimit)
	}
	c.keys.agenda.put(k, completed, due, nano(c.now))
}

// completed says whether a key's criteria hold (M8, M9), and which boundary completed them:
// the first under any, the last that was missing under all.
func (c *Core) completed(k *cell) (seq uint64, ok bool) {
	if c.cfg.All {
		return c.completedAll(k)
	}
	for i := range c.cfg.Inputs {
		in := &c.cfg.Inputs[i]
		if !in.Triggers || c.isShared(i) {
			continue
		}
		s := c.slotOf(k, i)
		at := s.since
		switch {
		case in.Sequential && s.queue.len() > 0:
			at = s.queue.at(0).seq
		case in.Sequential || s.pend == nil:
			continue
		}
		if !ok || at < seq {
			seq, ok = at, true
		}
	}
	return seq, ok
}

func (c *Core) completedAll(k *cell) (seq uint64, ok bool) {
	for i := range c.cfg.Inputs {
		in := &c.cfg.Inputs[i]
		if !in.Triggers || c.isShared(i) {
			continue
		}
		if !c.ready(k, i) {
			return 0, false
		}
		ok = true
		s := c.slotOf(k, i)
		switch {
		case in.Sequential:
			seq = max(seq, s.queue.at(0).seq)
		case s.pend != nil && (!c.zip || s.cur.IsAbsent()):
			seq = max(seq, s.since)
		}
	}
	return seq, ok
}

// next makes the key whose epoch comes first the one at hand.
func (c *Core) next() bool {
	c.keys.agenda.release(nano(c.now))
	if len(c.keys.agenda.ready) == 0 {
		return false
	}
	c.cell = c.keys.agenda.ready[0].k
	return true
}

// wakeAll lets every guard that waits be asked again: a value that all keys share has arrived.
func (c *Core) wakeAll() {
	for k := range c.keys.waiting { // each is put in its own place: the order does not matter
		delete(c.keys.waiting, k)
		k.waits = false
		c.schedule(k)
	}
}

// loosen notes that a key has got a value which points into the buffer it came in.
func (c *Core) loosen(k *cell, size int) {
	if !k.loose {
		k.loose = true
		c.keys.loose = append(c.keys.loose, k)
	}
	if c.keys.looseBytes += size; c.keys.looseBytes >= looseLimit {
		c.tighten()
	}
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
