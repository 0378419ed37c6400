package pump

import (
	"container/list"
	"context"
	"errors"
	"sync"

	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/pushkey"
	"github.com/graphd/graphd/internal/rest"
)

// ErrClosed says that the accumulator is gone for good.
var ErrClosed = errors.New("the accumulator has stopped")

// ErrStopped says that an operator has stopped the accumulator for the time being.
var ErrStopped = errors.New("the accumulator is stopped by an operator")

// Bounds of a mailbox where nothing else is said. Queued pushes only wait for their turn
// to be folded; the reactor's own queue behind them has as many places.
const (
	DefaultMailboxEvents = 1024
	DefaultMailboxBytes  = 8 << 20
)

// Rejection is one pushed event that was refused (M5).
type Rejection = pushkey.Rejection

// PushOutcome answers a push.
type PushOutcome = pushkey.Outcome

// Mailbox is an accumulator's socket: a bounded queue of pushes, first come first served.
// It outlives the Unit that reads it: what was not handed over before a restart is folded
// after it. Safe for concurrent use.
type Mailbox struct {
	maxEvents int
	maxBytes  int64
	ready     chan struct{} // capacity 1: something may be there for the Unit
	bell      rest.Bell     // what to ring besides

	mu      sync.Mutex
	queue   []*Push // admitted, in order; the first may be partly handed over
	events  int     // not yet handed over, of the queue
	bytes   int64
	waiting list.List // of *waiter: pushes that do not fit yet, in order
	taken   int       // leading pushes of the queue that the Unit has (parts of)
	refused int64     // refused events that no mark counts yet
	recall  func()    // ends the handoff in flight, nil when none is
	reader  int64     // the Line that reads, see claim
	closed  bool
	stopped bool    // see Stop
	shut    bool    // see Shut
	spare   []*Push // used up, for reuse; no more than were ever queued at once
	keys    pushkey.Book
}

// waiter is a push that waits for room.
type waiter struct {
	push *Push
	room chan struct{} // closed when it was admitted, or the mailbox closed
}

// Push is one caller's events on their way. Its methods are for one goroutine.
type Push struct {
	m      *Mailbox
	events []boundary.Event
	fates  []fold.Fate // by event; nil where all are folded here
	claim  *pushkey.Claim
	bytes  int64
	done   int // handed over so far
	gone   bool
	err    error
	out    PushOutcome
	answer chan struct{} // capacity 1: out and err are final
}

// NewMailbox makes an empty mailbox; 0 means the default bound. One push larger than
// the bounds is admitted when it is alone.
func NewMailbox(maxEvents int, maxBytes int64) *Mailbox {
	if maxEvents <= 0 {
		maxEvents = DefaultMailboxEvents
	}
	if maxBytes <= 0 {
		maxBytes = DefaultMailboxBytes
	}
	return &Mailbox{maxEvents: maxEvents, maxBytes: maxBytes, ready: make(chan struct{}, 1)}
}

// Push hands events over and waits until they are folded and the reactor has them. The
// events and what they point to belong to the mailbox from then on. When ctx is done
// first, the outcome says how many leading events were taken, with Full set; no error.
// The error is ErrClosed, ErrStopped or ErrElsewhere, and the outcome then tells what was taken before.
func (m *Mailbox) Push(ctx context.Context, events []boundary.Event) (PushOutcome, error) {
	p, err := m.Submit(ctx, events)
	if err != nil {
		return PushOutcome{}, err
	}
	return p.Wait(ctx)
}

// Submit queues events without waiting for the answer, so that a caller can have several
// pushes on the way; it waits for room. Wait must be called once on each.
func (m *Mailbox) Submit(ctx context.Context, events []boundary.Event) (*Push, error) {
	return m.submit(ctx, events, nil, nil)
}

func (m *Mailbox) submit(ctx context.Context, events []boundary.Event, fates []fold.Fate,
	claim *pushkey.Claim) (*Push, error) {
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return nil, ErrClosed
	}
	p := m.newPush(events)
	p.fates, p.claim = fates, claim
	if len(events) == 0 {
		p.answer <- struct{}{}
		m.mu.Unlock()
		return p, nil
	}
	if m.shut && !p.carried() {
		m.mu.Unlock()
		return nil, ErrElsewhere
	}
	if claim.Stale() {
		m.mu.Unlock()
		return nil, ErrAnew
	}
	if m.stopped && !p.carried() {
		m.refused += p.own()
		m.mu.Unlock()
		m.wake()
		return nil, ErrStopped
	}
	if m.waiting.Len() == 0 && m.fits(p) {
		m.admit(p)
		m.mu.Unlock()
		m.wake()
		return p, nil
	}
	w := &waiter{push: p, room: make(chan struct{})}
	e := m.waiting.PushBack(w)
	m.mu.Unlock()
	select {
	case <-w.room:
		return p, nil
	case <-ctx.Done():
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	select {
	case <-w.room: // admitted, or answered, in between
	default:
		m.waiting.Remove(e)
		m.finish(p, nil)
		m.letIn() // who came later may fit
	}
	return p, nil
}

// Wait waits for the answer to a push, or, when ctx is done, for what was taken of it.
func (p *Push) Wait(ctx context.Context) (PushOutcome, error) {
	select {
	case <-p.answer:
	case <-ctx.Done():
		p.m.withdraw(p)
		// Not a wait that could be long: a push in the Unit's hands is handed over or
		// given back as soon as the recalled handoff returns.
		<-p.answer
	}
	out, err := p.out, p.err
	p.m.recycle(p)
	return out, err
}

// Reject counts n events that never became events: bodies that could not be parsed.
func (m *Mailbox) Reject(n int) {
	m.mu.Lock()
	m.refused += int64(n)
	m.mu.Unlock()
	m.wake()
}

// Depth is how many events and bytes are queued and not yet handed over.
func (m *Mailbox) Depth() (events int, bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.events, m.bytes
}

// Bounds are the most events and bytes that are queued at once.
func (m *Mailbox) Bounds() (events int, bytes int64) { return m.maxEvents, m.maxBytes }

// Close answers every push, now and later, with ErrClosed. The Unit must have returned.
func (m *Mailbox) Close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	m.keys.Away(ErrClosed)
	for _, p := range m.queue {
		m.conclude(p, ErrClosed)
	}
	m.queue, m.taken, m.recall = nil, 0, nil
	for e := m.waiting.Front(); e != nil; e = m.waiting.Front() {
		w := m.waiting.Remove(e).(*waiter)
		m.finish(w.push, ErrClosed)
		close(w.room)
	}
}

// newPush makes a push, of a used-up one when there is one.
func (m *Mailbox) newPush(events []boundary.Event) *Push {
	var p *Push
	if n := len(m.spare); n > 0 {
		p, m.spare = m.spare[n-1], m.spare[:n-1]
	} else {
		p = &Push{m: m, answer: make(chan struct{}, 1)}
	}
	p.events = events
	for i := range events {
		p.bytes += int64(len(events[i].Raw))
	}
	return p
}

func (m *Mailbox) recycle(p *Push) {
	*p = Push{m: m, answer: p.answer}
	m.mu.Lock()
	defer m.mu.Unlock()
	const limit = 64 // callers at once that are served without allocating
	if len(m.spare) < limit {
		m.spare = append(m.spare, p)
	}
}

// fits reports whether p may join the queue.
func (m *Mailbox) fits(p *Push) bool {
	return !m.stopped &&
		(len(m.queue) == 0 || m.events+len(p.events) <= m.maxEvents && m.bytes+p.bytes <= m.maxBytes)
}

func (m *Mailbox) admit(p *Push) {
	m.queue = append(m.queue, p)
	m.events += len(p.events)
	m.bytes += p.bytes
}

// letIn admits who waits, in order, as far as there is room.
func (m *Mailbox) letIn() {
	for e := m.waiting.Front(); e != nil && m.fits(e.Value.(*waiter).push); e = m.waiting.Front() {
		w := m.waiting.Remove(e).(*waiter)
		m.admit(w.push)
		close(w.room)
		m.wake()
	}
}

// wake tells the Unit to look. The channel says "look", the queue holds the facts.
func (m *Mailbox) wake() {
	select {
	case m.ready <- struct{}{}:
	default:
	}
	m.bell.Ring()
}

// withdraw takes back what is not handed over of p, at once or when the Unit lets go of it.
func (m *Mailbox) withdraw(p *Push) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p.gone = true
	for i, q := range m.queue {
		if q != p {
			continue
		}
		if i < m.taken {
			if m.recall != nil {
				m.recall()
			}
			return
		}
		m.queue = append(m.queue[:i], m.queue[i+1:]...)
		m.conclude(p, nil)
		m.letIn()
		return
	}
}

// conclude answers p with what was handed over of it and takes the rest off the books of the queue.
func (m *Mailbox) conclude(p *Push, err error) {
	for i := p.done; i < len(p.events); i++ {
		m.bytes -= int64(len(p.events[i].Raw))
	}
	m.events -= len(p.events) - p.done
	m.finish(p, err)
}

// finish answers p, which is not in the queue (any more). What was not handed over was refused.
func (m *Mailbox) finish(p *Push, err error) {
	if rest := len(p.events) - p.done; rest > 0 {
		p.out.Full = err == nil
		if !m.shut && (!m.stopped || !p.carried()) { // that graph sends them again, after the start
			m.refused += p.own()
		}
		m.wake()
	}
	p.err = err
	p.answer <- struct{}{}
}
