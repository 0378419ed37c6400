package reactor

import (
	"bytes"
	"fmt"
	"math"
	"strings"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/reactor/form"
	"github.com/graphd/graphd/internal/refused"
)

// What waits in a key that may not fire now, for its counterpart, a guard or a timer, is the
// key's state and not the queue (M4, M13): it takes no room of the input, so that a key that
// waits holds up no other. Its bounds are max_waiting for each queue of a key, max_keys, and
// max_waiting_bytes over all keys; what is too much for them goes as what an evicted key holds.

// waitingOverhead is about what a boundary takes that waits, beside its value.
const waitingOverhead = 240

// settle makes what waits in the queues of a key that may not fire now the key's own, and gives
// its room back. It reports whether something had to go because it was more than max_waiting.
func (c *Core) settle(k *cell) (gone bool) {
	for i, at := range c.place {
		if at < 0 || k.slots[at].queue == nil {
			continue
		}
		q := k.slots[at].queue
		for bounded := c.cfg.Inputs[i].bounded(); bounded && q.len() > c.cfg.Keys.MaxWaiting; gone = true {
			c.overflow(k, i, 0)
		}
		c.own(i, q, k.key)
	}
	c.enlist(k)
	return gone
}

// enlist gives a key that holds something a place in the line.
func (c *Core) enlist(k *cell) {
	if k.lined {
		return
	}
	if seq := c.oldestOf(k); seq != math.MaxUint64 {
		c.keys.line.put(k, seq)
	}
}

// own makes all that is in a queue the key's own. It gets memory of its own: what it came with
// may be used again, and would be held on to for as long as the key waits.
func (c *Core) own(i int, q *queue, key boundary.Key) {
	for ; int(q.own) < q.len(); q.own++ {
		it := q.at(int(q.own))
		b := *it.b
		b.Value, b.Raw, b.Key, b.Origin = b.Value.Compact(), bytes.Clone(b.Raw), key, strings.Clone(b.Origin)
		it.b = &b
		c.accs[i].own.add(&b)
		if c.cfg.Inputs[i].bounded() {
			c.freed[i].add(&b)
		}
	}
}

// boundZips keeps to max_waiting what the zips that are complete will leave of sequential inputs,
// in a key that may fire. What they take does not count: it makes no difference whether they
// have run already.
func (c *Core) boundZips(k *cell) {
	if !c.zip || !c.cfg.All {
		return // its epochs leave nothing behind
	}
	zips := math.MaxInt
	for i := range c.cfg.Inputs {
		if in := &c.cfg.Inputs[i]; in.Sequential && in.Triggers && !in.Alone {
			zips = min(zips, c.slotOf(k, i).queue.len())
		}
	}
	zips = max(zips, 1) // it fires with less when max_wait is over
	for i := range c.cfg.Inputs {
		in := &c.cfg.Inputs[i]
		for in.Sequential && !in.Alone && c.slotOf(k, i).queue.len()-zips > c.cfg.Keys.MaxWaiting {
			c.overflow(k, i, zips)
		}
	}
}

// overflow gives up a boundary of a queue that holds more than max_waiting.
func (c *Core) overflow(k *cell, i, at int) {
	c.giveUp(k, i, at, "key_full", fmt.Sprintf("more than the %d boundaries of max_waiting waited in this key: "+
		"this was the oldest", c.cfg.Keys.MaxWaiting))
}

// giveUp takes a boundary out of the queue of a key that cannot hold it any longer.
func (c *Core) giveUp(k *cell, i, at int, code, why string) {
	c.keys.overflowed++
	b := c.takeAt(k, i, at).b
	c.refuse(refused.Full, i, b, k.key, code, why)
	c.abandon(i, b, code, why)
	if group := c.cfg.Inputs[i].Group; group != 0 && c.cfg.Inputs[i].Sequential {
		c.thin(k, group)
	}
	c.rewait(k)
	c.changes.touch(k)
}

// thin conflates the latest inputs of a sync_group after a sequential boundary has gone: what
// came of them before and after it is one now.
func (c *Core) thin(k *cell, group int) {
	for i := range c.cfg.Inputs {
		in := &c.cfg.Inputs[i]
		if in.Group != group || in.bounded() {
			continue
		}
		for n := c.slotOf(k, i).queue.before(c.barrier(k, group, 0)); n > 1; n-- {
			c.conflate(i, c.pop(k, i).b, k.key)
		}
	}
}

// waitingBytes is about what the boundaries hold that wait in queues of keys, the figure that
// max_waiting_bytes bounds. It counts those of keys that may fire too, so that it is the same
// after a restart; their part is bounded by the room of the inputs.
func (c *Core) waitingBytes() (n int64) {
	if !c.queueing {
		return 0
	}
	for i := range c.accs {
		if c.place[i] >= 0 && c.cfg.Inputs[i].bounded() {
			w := &c.accs[i].waiting
			n += w.bytes + int64(w.boundaries)*waitingOverhead
		}
	}
	return n
}

// boundBytes lets go of what has waited longest, over all keys, until the rest is within
// max_waiting_bytes.
func (c *Core) boundBytes() {
	for c.queueing && c.waitingBytes() > c.cfg.Keys.MaxWaitingBytes {
		k, i := c.longestWaiting()
		if k == nil {
			return // the keys may fire: what is in them has room of its own
		}
		c.giveUp(k, i, 0, "keys_full", fmt.Sprintf("more than the %d bytes of max_waiting_bytes waited in all keys: "+
			"this was the oldest", c.cfg.Keys.MaxWaitingBytes))
		c.schedule(k)
	}
}

// oldestOf is the admission sequence of what has waited longest in a key; none is greater than all.
func (c *Core) oldestOf(k *cell) (seq uint64) {
	seq = math.MaxUint64
	for i, at := range c.place {
		if at >= 0 && c.cfg.Inputs[i].bounded() && k.slots[at].queue.len() > 0 {
			seq = min(seq, k.slots[at].queue.at(0).seq)
		}
	}
	return seq
}

// longestWaiting is the key that may not fire now and holds what was admitted first, and the
// input that this is of; nil when there is none. It goes by the state alone, so that a restart
// makes no difference. Whether a guard waits is no state: where there is one, any key will do.
func (c *Core) longestWaiting() (*cell, int) {
	for len(c.keys.line) > 0 {
		first := &c.keys.line[0]
		k, seq := first.k, c.oldestOf(first.k)
		switch {
		case seq == math.MaxUint64 || !c.cfg.Guard && k.on == isReady:
			c.keys.line.drop()
		case !c.cfg.Guard && k.on == isDelayed && c.readiness(k).due <= form.Nano(c.now):
			c.schedule(k) // its time has come since
		case seq != first.seq:
			first.seq = seq
			c.keys.line.down()
		default:
			for i, at := range c.place {
				if at >= 0 && c.cfg.Inputs[i].bounded() && k.slots[at].queue.len() > 0 &&
					k.slots[at].queue.at(0).seq == seq {
					return k, i
				}
			}
		}
	}
	return nil, 0
}

// line orders keys by what has waited longest in them. What is noted of a key is as of when it
// was noted; it is brought up to date when it comes to the front, which is when there is too much.
type line []place

type place struct {
	seq uint64
	k   *cell
}

func (l *line) put(k *cell, seq uint64) {
	k.lined = true
	*l = append(*l, place{seq, k})
	h := *l
	for i := len(h) - 1; i > 0; {
		up := (i - 1) / 2
		if h[i].seq >= h[up].seq {
			return
		}
		h[i], h[up] = h[up], h[i]
		i = up
	}
}

func (l *line) drop() {
	h := *l
	h[0].k.lined = false
	last := len(h) - 1
	h[0], h[last] = h[last], place{}
	*l = h[:last]
	l.down()
}

func (l line) down() {
	for i := 0; ; {
		least := 2*i + 1
		if least >= len(l) {
			return
		}
		if right := least + 1; right < len(l) && l[right].seq < l[least].seq {
			least = right
		}
		if l[least].seq >= l[i].seq {
			return
		}
		l[i], l[least] = l[least], l[i]
		i = least
	}
}

// left notes that a key is gone. Places of such keys are cleared when they are most of the line:
// a key that is gone is not to be kept in memory for its place.
func (ks *keys) left(k *cell) {
	if !k.lined {
		return
	}
	if ks.deserters++; ks.deserters <= 1024+len(ks.line)/2 {
		return
	}
	stay := ks.line
	ks.line, ks.deserters = nil, 0
	for _, p := range stay {
		if p.k != k && ks.byKey.Get(p.k.key) == p.k {
			ks.line.put(p.k, p.seq)
		}
	}
}

// backlog is what waits for a cut: in queues, and in the dirty flags of latest inputs.
type backlog struct {
	boundaries int
	bytes      int64
	events     int64
}

func (w *backlog) add(b *boundary.Boundary) {
	w.boundaries++
	w.bytes += int64(b.Size)
	w.events += b.Events
}

func (w *backlog) remove(b *boundary.Boundary) {
	w.boundaries--
	w.bytes -= int64(b.Size)
	w.events -= b.Events
}
