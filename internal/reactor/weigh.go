package reactor

import (
	"slices"
	"unsafe"

	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/reactor/keytable"
)

// What a core holds is estimated from its parts. What there may be a million of is looked at a little at a time.

const (
	// weighKeys is about how many keys are looked at in one go, weighRecords how many records.
	weighKeys    = 1024
	weighRecords = 256
	// weighPieces is about how many values there may be in these.
	weighPieces = 1 << 14
	// weighEach is how many of a list of other things are.
	weighEach = 64
)

// About what these take beside what is in them, in bytes.
const (
	boundaryBytes = int64(unsafe.Sizeof(boundary.Boundary{}))
	queuedBytes   = int64(unsafe.Sizeof(queued{})) * 3 / 2 // a queue has room to grow
	letterBytes   = 512
	messageBytes  = 192
	// tableBytes is a key's place in the table of keys, which is half full, and among the ages and the keys to seal.
	tableBytes = 20 + 2*int64(unsafe.Sizeof(entry{}))
	valueBytes = int64(unsafe.Sizeof(boundary.Value{}))
)

// Weight is about how many bytes a core holds, by what holds them: what keys have, what accumulators keep, and nodes
// beside their values, what waits for an epoch, to be committed, or as a dead letter to be stored, and what records and
// the sample of what came to nothing show.
type Weight struct{ Keys, State, Queues, Outputs, Letters, Records int64 }

// weigher is what the last look has left behind.
type weigher struct {
	keys    *weighedKeys // nil while there are none
	records int64        // what the records of the ring hold
	to      int64        // of all records ever made, how many have been looked at
	// last is what the newest of these holds, next is used again.
	last, next boundary.Seen
}

// weighed is what some keys hold.
type weighed struct{ keys, bytes, waits int64 }

func (w *weighed) add(o weighed, sign int64) {
	w.keys, w.bytes, w.waits = w.keys+sign*o.keys, w.bytes+sign*o.bytes, w.waits+sign*o.waits
}

type weighedKeys struct {
	next  int // the part that is looked at next
	parts [keytable.Parts]weighed
	all   weighed // of all parts
}

// Weigh is about what the core holds. It looks at so little at a time that what has changed is in it after some
// calls.
func (c *Core) Weigh() (m Weight) {
	all := c.weighKeys()
	all.add(c.weighCell(c.shared), 1)
	m.Keys, m.Queues = all.bytes, all.waits
	if c.calls != nil {
		m.Queues += c.calls.book.Weigh() + c.calls.Memory.Weigh()
	}
	for i := range c.accs {
		m.State += weighState(&c.accs[i])
	}
	if c.cfg.Beside != nil {
		m.State += c.cfg.Beside()
	}
	if m.Records = c.weighRecords(); c.nothing != nil {
		m.Records += c.nothing.Weigh()
	}
	m.Letters = c.weighLetters()
	m.Outputs = c.holds.bytes + int64(c.holds.count)*messageBytes
	return m
}

// weighCell is what a key has, and what waits in it.
func (c *Core) weighCell(k *cell) weighed {
	w := weighed{keys: 1, bytes: boundary.OnHeap(int(unsafe.Sizeof(*k))+len(k.slots)*int(unsafe.Sizeof(slot{}))+
		c.cfg.Plan.StateSize()*int(valueBytes)) + boundary.OnHeap(len(k.key))}
	if k.times != nil {
		w.bytes += int64(unsafe.Sizeof(*k.times))
	}
	for i := range k.slots {
		s := &k.slots[i]
		w.bytes += s.cur.Held(nil, nil)
		if s.pend != nil {
			w.waits += weighBoundary(s.pend, nil, boundary.Seen{})
		}
		if s.queue.len() > 0 {
			w.waits += s.queue.weigh()
		}
	}
	w.bytes += int64(k.nodes.Size()) - int64(c.cfg.Plan.StateSize())*valueBytes
	return w
}

// weigh is what a queue holds, by the first of it: each counts for what the one before it does not hold too.
func (q *queue) weigh() (bytes int64) {
	last, next := boundary.Seen{}, boundary.Seen{}
	first, looks := int64(0), 0
	for pieces := 0; looks < min(q.len(), weighEach) && (looks < 2 || pieces < weighPieces); looks++ {
		n := weighBoundary(q.at(looks).b, last, next)
		if bytes += n; looks == 0 {
			first = n
		}
		pieces += len(next)
		last, next = next, last
		clear(next)
	}
	if rest := q.len() - looks; rest > 0 {
		bytes += int64(float64(bytes-first) / float64(looks-1) * float64(rest))
	}
	return bytes + int64(q.len())*queuedBytes
}

// weighBoundary is what a boundary holds that before does not.
func weighBoundary(b *boundary.Boundary, before, seen boundary.Seen) int64 {
	return boundaryBytes + b.Value.Held(before, seen) + seen.Bytes(b.Raw)
}

// weighKeys looks at the next keys, and answers what all have by those that have been looked at.
func (c *Core) weighKeys() (all weighed) {
	n := c.keys.byKey.Len()
	if n == 0 {
		c.weigher.keys = nil
		return all
	}
	if c.weigher.keys == nil {
		c.weigher.keys = new(weighedKeys)
	}
	w := c.weigher.keys
	for looked, parts := int64(0), 0; parts < keytable.Parts && looked < weighKeys; parts++ {
		now := weighed{}
		for k := range c.keys.byKey.Part(w.next) {
			now.add(c.weighCell(k), 1)
		}
		w.all.add(w.parts[w.next], -1)
		w.all.add(now, 1)
		w.parts[w.next] = now
		looked += now.keys
		w.next = (w.next + 1) % keytable.Parts
	}
	if w.all.keys == 0 {
		return all
	}
	scale := float64(n) / float64(w.all.keys)
	return weighed{int64(n), int64(float64(w.all.bytes)*scale) + int64(n)*tableBytes,
		int64(float64(w.all.waits) * scale)}
}

// weighState is what an accumulator keeps, or what a restart has found of it.
func weighState(acc *account) int64 {
	if s, ok := acc.mark.State.(fold.Weighed); ok {
		return s.Weight()
	}
	n := int64(len(acc.restored))
	for name, part := range acc.parts.restored {
		n += int64(len(name) + len(part))
	}
	return n
}

// weighRecords looks at the records that have come since: each counts for what the one before it does not hold too.
func (c *Core) weighRecords() int64 {
	w, r := &c.weigher, &c.ring
	if r.keep <= 0 {
		return 0
	}
	most := int64(min(max(weighPieces/max(len(w.last), 1), 2), weighRecords))
	from := max(w.to, r.total-most, r.oldest())
	since := int64(0) // what the last of those that it has missed holds, and the last one looked at does not
	if from > max(w.to, r.oldest()) {
		since = w.weighRecord(r.at(from - 1))
	}
	var looked []int64
	for n := from; n < r.total; n++ {
		rec := r.at(n)
		rec.held = w.weighRecord(rec)
		w.records += rec.held
		looked = append(looked, rec.held)
	}
	if missed := max(w.to, r.oldest()); missed < from {
		slices.Sort(looked) // one of many may be far larger: its values have moved, and others are where they were
		for each := max(looked[len(looked)/2], since/(from-missed)); missed < from; missed++ {
			r.at(missed).held = each
			w.records += each
		}
	}
	w.to = r.total
	return w.records + int64(cap(r.slots))*int64(unsafe.Sizeof(Record{}))
}

// weighRecord is what a record holds that the last one did not.
func (w *weigher) weighRecord(r *Record) int64 {
	if w.last == nil {
		w.last, w.next = boundary.Seen{}, boundary.Seen{}
	}
	clear(w.next)
	n := boundary.OnHeap(cap(r.Inputs)*int(valueBytes)) + boundary.OnHeap(cap(r.Cut)*int(unsafe.Sizeof(CutInput{}))) +
		boundary.OnHeap(cap(r.Nodes)*int(unsafe.Sizeof(r.Nodes[0]))) +
		boundary.OnHeap(cap(r.Emitted)*int(unsafe.Sizeof(r.Emitted[0]))) + boundary.OnHeap(len(r.Key)) +
		int64(len(r.Err))
	hold := func(v boundary.Value) { n += v.Held(w.last, w.next) }
	for _, v := range r.Inputs {
		hold(v)
	}
	for i := range r.Nodes {
		hold(r.Nodes[i].Value)
	}
	for i := range r.Emitted {
		hold(r.Emitted[i].Value)
	}
	for i := range r.Looked {
		n += int64(unsafe.Sizeof(r.Looked[i]))
	}
	w.last, w.next = w.next, w.last
	return n
}

// weighLetters is what dead letters hold that are not in the store, by some of them.
func (c *Core) weighLetters() int64 {
	n, looks := c.DeadLettersPending(), min(len(c.deadLetters), weighEach)
	bytes := int64(n) * letterBytes
	if looks == 0 {
		return bytes
	}
	held := 0
	for i := range looks {
		l := &c.deadLetters[i*len(c.deadLetters)/looks]
		held += len(l.Payload) + len(l.Message) + len(l.Reason)
	}
	return bytes + int64(float64(held)/float64(looks)*float64(n))
}
