package live

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/live/rising"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/rest"
)

// ErrStale refuses the words of an accumulator that has been replaced since (M35).
var ErrStale = errors.New("this accumulator has been replaced")

// maxWaitingLetters bounds the dead letters a handoff may leave waiting per input: a
// source of nothing but poison is held back like any other that outruns the reactor.
const maxWaitingLetters = 1024

// Inbox is the bounded handoff between accumulators and the reactor (M4). Each input
// has room of its own: a full sequential input holds up its accumulator alone, a latest
// input conflates. Put is for the accumulators' goroutines, the rest for the reactor's.
type Inbox struct {
	mu     sync.Mutex
	lanes  []lane
	order  []handed      // as they came, over all inputs: the admission order
	spare  []handed      // the array the reactor has emptied, to be filled next
	health []healthNote  // the newest of each input that has said something since the last drain
	wake   chan struct{} // capacity 1: "look"; the state is in the fields above
	bell   rest.Bell     // for a reactor at rest
	held   bool          // nothing is let in; see Reactor.Release

	// In a journaled graph: handoffs that came, that the core has, and that are durable.
	journal       bool
	puts, drained int64
	journaled     rising.Mark
}

type lane struct {
	sequential bool
	keyed      bool
	table      bool // the newest boundary has all that those before it had
	grouped    bool // in a sync_group: the order among inputs matters, so nothing is conflated here
	handoffs   int  // of a grouped latest input, in the inbox
	capacity   int
	maxBytes   int64
	// boundaries in the inbox and, of a sequential input, in the core's queues
	depth   int
	bytes   int64 // what they hold
	letters int   // dead letters in the inbox
	// index+1 in order of a latest input's handoff that can still be conflated
	waiting   int
	conflated int64                               // events overwritten in the inbox since the last drain
	newest    map[boundary.Key]*boundary.Boundary // of a keyed latest lane that was full; nil before
	late      int                                 // index+1 of the lane that this one's late events go to
	from      int                                 // index+1 of the lane that late events come from
	room      chan struct{}
	port      int64 // the incarnation that may put
	refused   bool  // there was no room for what was put last
}

type handed struct {
	input     int
	h         *accumulator.Handoff
	conflated int64
}

type healthNote struct {
	input        int
	health       accumulator.Health
	code, detail string
}

// NewInbox makes an inbox with one lane per input.
func NewInbox(lanes []reactor.Lane) *Inbox {
	b := &Inbox{lanes: make([]lane, len(lanes)), wake: make(chan struct{}, 1)}
	for i, l := range lanes {
		b.lanes[i] = lane{sequential: l.Sequential, keyed: l.Keyed, grouped: l.Grouped, table: l.Table,
			capacity: l.Capacity, maxBytes: l.MaxBytes, room: make(chan struct{}, 1)}
	}
	for i, from := range lanes {
		for k, to := range lanes {
			if from.LateTo != "" && to.Name == from.LateTo {
				b.lanes[i].late, b.lanes[k].from = k+1, i+1
			}
		}
	}
	return b
}

// Port is input i's way in for a new incarnation of its accumulator. Ports given out
// before are void from now on.
func (b *Inbox) Port(i int) accumulator.Port {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lanes[i].port++
	b.lanes[i].refused = false
	return &port{inbox: b, input: i, incarnation: b.lanes[i].port}
}

type port struct {
	inbox       *Inbox
	input       int
	incarnation int64
}

// Put hands h over; see [accumulator.Port].
func (p *port) Put(ctx context.Context, h *accumulator.Handoff) error {
	l := &p.inbox.lanes[p.input]
	for {
		ok, err := p.inbox.put(p, h)
		if ok || err != nil {
			return err
		}
		select {
		case <-l.room:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Health reports the accumulator's health; it never blocks.
func (p *port) Health(h accumulator.Health, code, detail string) {
	b := p.inbox
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.lanes[p.input].port != p.incarnation {
		return
	}
	note := healthNote{p.input, h, code, detail}
	if i := slices.IndexFunc(b.health, func(n healthNote) bool { return n.input == p.input }); i >= 0 {
		b.health[i] = note
	} else {
		b.health = append(b.health, note)
	}
	b.ring()
}

func (b *Inbox) ring() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
	b.bell.Ring()
}

func (b *Inbox) put(p *port, h *accumulator.Handoff) (ok bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := &b.lanes[p.input]
	if l.port != p.incarnation {
		return false, ErrStale
	}
	if b.held {
		return false, nil
	}
	late := b.lateLane(l, h)
	if late != nil && !late.hasRoom(h.Late) {
		b.refuse(late)
		return false, nil
	}
	defer func() {
		if ok {
			b.puts++
			if len(h.Boundaries) > 0 { // the books of a push that gave up make no room
				l.refused = false
			}
			if late != nil {
				late.occupy(h.Late)
				late.refused = false
			}
		}
	}()
	if l.letters > 0 && l.letters+len(h.DeadLetters) > maxWaitingLetters {
		return false, nil
	}
	switch {
	case l.sequential:
		if !l.fits(h.Boundaries) {
			b.refuse(l)
			return false, nil
		}
	case l.grouped:
		if l.handoffs >= l.capacity {
			return false, nil
		}
		if l.handoffs++; !l.keyed {
			l.trim(h)
		}
	case l.keyed:
		if !b.fitsByKey(p.input, h) {
			return false, nil
		}
		if len(h.Boundaries) == 0 && l.waiting > 0 {
			b.merge(l, h)
			b.ring()
			return true, nil
		}
	case b.conflate(l, h):
		b.ring()
		return true, nil
	}
	l.letters += len(h.DeadLetters)
	b.order = append(b.order, handed{input: p.input, h: h, conflated: l.conflated})
	l.conflated = 0
	if !l.sequential {
		l.waiting = len(b.order)
	}
	b.ring()
	return true, nil
}

// fitsByKey takes room for the boundaries of a keyed latest input. Only when there is not
// enough does it look at keys: what waits is conflated then, key by key, and so is what
// comes until the next drain. Boundaries of more keys than there is room for are held back.
func (b *Inbox) fitsByKey(input int, h *accumulator.Handoff) bool {
	l := &b.lanes[input]
	if l.newest == nil {
		if l.fits(h.Boundaries) {
			return true
		}
		l.newest = make(map[boundary.Key]*boundary.Boundary, l.depth)
		for i := range b.order {
			if o := &b.order[i]; o.input == input {
				o.h.Boundaries = l.conflateByKey(o.h.Boundaries)
				o.conflated += l.conflated // of what has been handed over, so its mark counts it
				l.conflated = 0
			}
		}
	}
	fresh, size := l.freshKeys(h.Boundaries)
	if l.depth > 0 && fresh > 0 && (l.depth+fresh > l.capacity || l.bytes+size > l.maxBytes) {
		return false
	}
	for i := range h.Boundaries {
		l.depth++
		l.bytes += int64(h.Boundaries[i].Size)
	}
	h.Boundaries = l.conflateByKey(h.Boundaries)
	return true
}

// freshKeys counts the keys of bs that do not wait yet, and what their boundaries hold.
func (l *lane) freshKeys(bs []boundary.Boundary) (n int, size int64) {
	seen := make(map[boundary.Key]bool)
	for i := range bs {
		if k := bs[i].Key; l.newest[k] == nil && !seen[k] {
			seen[k] = true
			n++
			size += int64(bs[i].Size)
		}
	}
	return n, size
}

// conflateByKey keeps, of boundaries that are counted in already, the newest of each key, in
// the place of the oldest: a key's turn goes by what came first.
func (l *lane) conflateByKey(bs []boundary.Boundary) []boundary.Boundary {
	kept := bs[:0]
	for i := range bs {
		old := l.newest[bs[i].Key]
		if old == nil {
			kept = append(kept, bs[i])
			l.newest[bs[i].Key] = &kept[len(kept)-1]
			continue
		}
		l.conflated += old.Events
		l.depth--
		l.bytes -= int64(old.Size)
		*old = bs[i]
	}
	clear(bs[len(kept):])
	return kept
}

// drained forgets what waited in a lane whose boundaries count only while they are in the inbox.
func (l *lane) drained() (hadAny bool) {
	if !l.keyed || l.sequential {
		return false
	}
	hadAny = l.depth > 0
	l.depth, l.bytes, l.newest = 0, 0, nil
	return hadAny
}

// trim conflates the boundaries of one handoff.
func (l *lane) trim(h *accumulator.Handoff) {
	if n := len(h.Boundaries); n > 1 {
		for i := range n - 1 {
			l.conflated += h.Boundaries[i].Events
		}
		h.Boundaries = h.Boundaries[n-1:]
	}
}

// conflate keeps only the newest boundary of h, and folds it into the handoff of the
// same input that still waits, if there is one: then it reports true.
func (b *Inbox) conflate(l *lane, h *accumulator.Handoff) bool {
	l.trim(h)
	if l.waiting == 0 {
		return false
	}
	if len(h.Boundaries) > 0 {
		old := b.order[l.waiting-1].h
		for i := range old.Boundaries {
			if l.table {
				h.Boundaries[0].Events += old.Boundaries[i].Events
			} else {
				l.conflated += old.Boundaries[i].Events
			}
		}
		old.Boundaries = h.Boundaries
	}
	b.merge(l, h)
	return true
}

// merge folds the rest of h, whose boundaries have their place, into the handoff that waits.
func (b *Inbox) merge(l *lane, h *accumulator.Handoff) {
	old := &b.order[l.waiting-1]
	l.letters += len(h.DeadLetters)
	old.h.DeadLetters = append(old.h.DeadLetters, h.DeadLetters...)
	old.h.Late, old.h.Keys = append(old.h.Late, h.Late...), append(old.h.Keys, h.Keys...)
	old.h.Mark, old.h.Refused = h.Mark, old.h.Refused.Then(h.Refused)
	old.conflated += l.conflated
	l.conflated = 0
}

// DrainHealth takes in what accumulators say of themselves, and no more; it reports whether
// there was any.
func (b *Inbox) DrainHealth(now time.Time, c *reactor.Core) bool {
	b.mu.Lock()
	health := b.health
	b.health = nil
	b.mu.Unlock()
	for _, n := range health {
		c.SetHealth(now, n.input, n.health, n.code, n.detail)
	}
	return len(health) > 0
}

// Drain admits everything that waits, in the order it came, and reports whether there was any.
func (b *Inbox) Drain(now time.Time, c *reactor.Core) bool {
	b.mu.Lock()
	order, health := b.order, b.health
	b.order, b.spare, b.health = b.spare[:0], nil, nil
	b.drained = b.puts
	for i := range b.lanes {
		l := &b.lanes[i]
		l.waiting, l.letters = 0, 0
		if l.drained() || l.handoffs >= l.capacity {
			b.signal(i)
		}
		l.handoffs = 0
	}
	b.mu.Unlock()
	for i := range order {
		c.Admit(now, order[i].input, order[i].h, order[i].conflated)
		if len(order[i].h.DeadLetters) > 0 {
			b.signal(order[i].input)
		}
	}
	for _, n := range health {
		c.SetHealth(now, n.input, n.health, n.code, n.detail)
	}
	clear(order)
	b.mu.Lock()
	b.spare = order[:0]
	b.mu.Unlock()
	return len(order) > 0 || len(health) > 0
}

// Free gives back room that a cut has made.
func (b *Inbox) Free(i int, freed reactor.Credit) {
	b.mu.Lock()
	b.lanes[i].depth -= freed.Boundaries
	b.lanes[i].bytes -= freed.Bytes
	b.lanes[i].refused = false
	from := b.lanes[i].from
	b.mu.Unlock()
	b.signal(i)
	if from > 0 {
		b.signal(from - 1)
	}
}

// Occupy takes room for boundaries that a checkpoint brought back.
func (b *Inbox) Occupy(i, boundaries int, bytes int64) {
	b.mu.Lock()
	b.lanes[i].depth += boundaries
	b.lanes[i].bytes += bytes
	b.mu.Unlock()
}

func (b *Inbox) signal(i int) {
	select {
	case b.lanes[i].room <- struct{}{}:
	default:
	}
}

// Depth is how many boundaries wait for input i, in the inbox and the core's queue.
func (b *Inbox) Depth(i int) (boundaries int, bytes int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.lanes[i].depth, b.lanes[i].bytes
}

// KeepJournal says that the graph is journaled: handoffs get tickets. It comes before any Port.
func (b *Inbox) KeepJournal() { b.journal = true }

// Ticket waits until what was put last is in the journal; nil where there is none. See
// [accumulator.Ticketer].
func (p *port) Ticket() accumulator.Ticket {
	b := p.inbox
	if !b.journal {
		return nil
	}
	b.mu.Lock()
	n := b.puts
	b.mu.Unlock()
	return func(ctx context.Context) error { return b.journaled.Wait(ctx, n) }
}

// Drained is how many handoffs the core has.
func (b *Inbox) Drained() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.drained
}

// Journaled says that handoffs up to a number are durable.
func (b *Inbox) Journaled(puts int64) { b.journaled.Raise(puts) }
