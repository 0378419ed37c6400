package pump

import (
	"cmp"
	"container/list"
	"errors"
	"slices"
)

// Stop has the mailbox refuse pushes with ErrStopped, those that wait too, until Start: they
// count as received and rejected. What the Unit has begun with is finished. The values of
// another graph are not refused: they wait, and with them the output that sends them, as when
// the accumulator is full; so none is missing after the start (M46). That holds for those in the
// queue too: a graph that feeds this one may have sent them before it was known to be stopped.
func (m *Mailbox) Stop() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed || m.stopped {
		return
	}
	m.stopped = true
	m.turnAway(ErrStopped, (*Push).carried)
	slices.SortStableFunc(m.queue[:m.taken], func(a, b *Push) int { // see pop
		return cmp.Compare(rank(a), rank(b))
	})
}

// turnAway answers the pushes that nobody has begun with, but for those that stay.
func (m *Mailbox) turnAway(why error, stays func(*Push) bool) {
	kept := m.queue[:m.taken]
	for _, p := range m.queue[m.taken:] {
		if stays(p) {
			kept = append(kept, p)
			continue
		}
		m.conclude(p, why)
	}
	clear(m.queue[len(kept):])
	m.queue = kept
	var next *list.Element
	for e := m.waiting.Front(); e != nil; e = next {
		next = e.Next()
		if w := e.Value.(*waiter); !stays(w.push) {
			m.waiting.Remove(e)
			m.finish(w.push, why)
			close(w.room)
		}
	}
}

// ErrElsewhere says that another daemon runs the graph by now, or is about to, or that this one is ending.
var ErrElsewhere = errors.New("the graph is not run here any more")

// Shut has the mailbox refuse pushes with ErrElsewhere, those that wait too, until Open: nobody here would take
// them. They count nowhere, for the graph's books are its owner's.
func (m *Mailbox) Shut() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed || m.shut {
		return
	}
	m.shut = true
	m.turnAway(ErrElsewhere, (*Push).carried)
	m.keys.Away(ErrElsewhere)
}

// Open ends a Shut.
func (m *Mailbox) Open() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.shut = false
	m.keys.Away(nil)
}

// Start ends a Stop.
func (m *Mailbox) Start() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stopped = false
	m.letIn()
	m.wake()
}

// rank orders what a stopped mailbox still hands out before what has to wait.
func rank(p *Push) int {
	if p.carried() {
		return 1
	}
	return 0
}

// carried says that the push holds values of another graph; see the function of that name.
func (p *Push) carried() bool { return len(p.events) > 0 && carried(&p.events[0]) }
