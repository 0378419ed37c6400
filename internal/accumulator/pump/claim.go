package pump

import "github.com/graphd/graphd/internal/accumulator"

// A Line reads a mailbox on the goroutine of its reactor. A reactor that was abandoned, because it
// was stuck in somebody's code, may come back when another has taken its place: what it still
// says of the mailbox is void.

// claim makes the caller the one who reads; who has read before does not any more, and what it had
// in its hands is back. ring is called, and must not block, when there may be something to read.
func (m *Mailbox) claim(ring func()) (reader int64) {
	m.bell.Hang(ring)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reader++
	m.letGo()
	return m.reader
}

// popFor is pop for a reader; nothing where it has lost its claim.
func (m *Mailbox) popFor(reader int64, recall func(), group []span) []span {
	m.mu.Lock()
	mine := m.reader == reader && !m.closed
	m.mu.Unlock()
	if !mine {
		return group[:0]
	}
	return m.pop(maxGroupEvents, maxGroupBytes, recall, group)
}

// commitFor is commit for a reader. When it has lost its claim, the senders get no answer from it.
func (m *Mailbox) commitFor(reader int64, group []span, ticket accumulator.Ticket) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.reader == reader && !m.closed {
		m.deal(group, ticket)
	}
}

// leave ends a claim: what was not folded is back.
func (m *Mailbox) leave(reader int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.reader == reader && !m.closed {
		m.bell.Take()
		m.letGo()
	}
}
