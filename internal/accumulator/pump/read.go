package pump

import (
	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/pushkey"
)

// The Unit's side of a Mailbox. One Unit reads at a time: pop a group of events, fold
// them, hand them over, and then either commit the group or give it back.

// span is a run of one push's events in a group, with what became of them.
type span struct {
	push               *Push
	lo, hi             int
	accepted, filtered int
	rejected           []Rejection
	rejectedCount      int
}

func (s *span) record(index int, o accumulator.Outcome) {
	switch o.Status {
	case accumulator.Filtered:
		s.accepted++
		s.filtered++
	case accumulator.Accepted, accumulator.DeadLettered: // who sent a value that was kept as a letter has nothing to do
		s.accepted++
	default:
		s.rejectedCount++
		if len(s.push.out.Rejected)+len(s.rejected) < pushkey.MaxRejections {
			s.rejected = append(s.rejected, Rejection{Index: index, Code: o.Code, Detail: o.Detail})
		}
	}
}

// pending reports whether there is something to pop.
func (m *Mailbox) pending() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.queue) > 0
}

// pop hands out the next events, at most n of them and, past the first, at most
// maxBytes of bytes. recall is called, from any goroutine, when the group should be given
// back if it is not handed over yet. While the mailbox is stopped the values of other graphs
// stay in it; they are behind all else.
func (m *Mailbox) pop(n int, maxBytes int64, recall func(), group []span) []span {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range m.queue {
		if n <= 0 || maxBytes <= 0 || m.stopped && p.carried() {
			break
		}
		lo := p.done
		hi := lo
		for hi < len(p.events) && n > 0 && maxBytes > 0 {
			maxBytes -= int64(len(p.events[hi].Raw))
			n--
			hi++
		}
		group = append(group, span{push: p, lo: lo, hi: hi})
		m.taken++
	}
	if m.taken > 0 {
		m.recall = recall
	}
	return group
}

// commit says that the group was handed over, up to each span's hi, and answers the
// pushes that are complete. ticket is for the handoff, nil where there is none.
func (m *Mailbox) commit(group []span, ticket accumulator.Ticket) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.deal(group, ticket)
}

func (m *Mailbox) deal(group []span, ticket accumulator.Ticket) {
	for i := range group {
		s := &group[i]
		p := s.push
		for k := s.lo; k < s.hi; k++ {
			m.bytes -= int64(len(p.events[k].Raw))
		}
		clear(p.events[s.lo:s.hi]) // the caller's answer must not keep them alive
		m.events -= s.hi - s.lo
		p.done = s.hi
		p.out.Taken = s.hi
		p.out.Accepted += s.accepted
		p.out.Filtered += s.filtered
		p.out.RejectedCount += s.rejectedCount
		p.out.Rejected = append(p.out.Rejected, s.rejected...)
		if ticket != nil {
			p.out.Tickets = append(p.out.Tickets, ticket)
		}
	}
	m.letGo()
}

// giveBack says that nothing of the group was handed over.
func (m *Mailbox) giveBack() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.letGo()
}

// letGo takes pushes that are complete or withdrawn off the queue. They are at its front.
func (m *Mailbox) letGo() {
	kept := m.queue[:0]
	for i, p := range m.queue {
		if i < m.taken && (p.done == len(p.events) || p.gone) {
			m.conclude(p, nil)
			continue
		}
		if p.claim.Stale() {
			m.conclude(p, ErrAnew)
			continue
		}
		kept = append(kept, p)
	}
	clear(m.queue[len(kept):])
	m.queue, m.taken, m.recall = kept, 0, nil
	m.letIn()
	if len(m.queue) > 0 {
		m.wake()
	}
}

// uncounted is how many refused events no mark counts yet.
func (m *Mailbox) uncounted() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.refused
}

// counted says that a mark that counts n refused events was handed over.
func (m *Mailbox) counted(n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.refused -= n
}
