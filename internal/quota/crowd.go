package quota

import (
	"slices"
	"sync"
)

// Crowd is told about ten times a second what the last collection found in use, and how much may be; 0 is no limit. It
// keeps the graph that has grown most from growing while there is little left, one more with each call, and lets all go
// when there is enough. Where that does not come, a graph that is large and grows no more goes on after a while, up to
// the last bit that is kept for checkpoints and garbage. It looks at those graphs alone that have moved of late, and is
// for one goroutine.
func (b *Book) Crowd(used, limit int64) {
	if b == nil {
		return
	}
	held, stirred := b.crowd.take() // which is known before there is a collection
	used = max(used, held)
	little, enough := limit != 0 && used >= limit/100*littleLeft, limit == 0 || used < limit/100*enoughLeft
	some := used < limit/100*someLeft
	var grown *Meter
	most := int64(leastGrowth)
	stirred = slices.DeleteFunc(stirred, func(m *Meter) bool {
		by, still := m.grew(enough, some)
		if by > most {
			grown, most = m, by
		}
		return still
	})
	b.crowd.put(stirred)
	if little && grown != nil {
		grown.mu.Lock()
		grown.crowded = true
		grown.mu.Unlock()
	}
}

const (
	// littleLeft is the share of the limit, in percent, past which the graph that grows most is held back, and
	// enoughLeft that below which none is. A checkpoint may take as much again as it writes. Below someLeft none is
	// that has not grown of late.
	littleLeft, enoughLeft, someLeft = 60, 50, 80
	// leastGrowth is below what nobody is held back for having grown.
	leastGrowth = 1 << 20
	// forgets is in how many calls of Crowd about two thirds of a growth are forgotten: half a minute.
	forgets = 300
)

// crowd is what all graphs hold, and which of them have moved of late: most rest, and need no look.
type crowd struct {
	mu      sync.Mutex
	held    int64
	stirred []*Meter // since the last take
}

// holds takes note that a meter has so much more. m.mu is held, which comes before that of the crowd. A nil crowd
// takes no note.
func (c *crowd) holds(m *Meter, more int64) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held += more
	if !m.stirred && m.memory.Total() != m.base {
		m.stirred = true
		c.stirred = append(c.stirred, m)
	}
}

func (c *crowd) take() (held int64, stirred []*Meter) {
	c.mu.Lock()
	defer c.mu.Unlock()
	held, stirred, c.stirred = c.held, c.stirred, nil
	return held, stirred
}

// put has those looked at again that are not still, beside those that have moved since they were taken.
func (c *crowd) put(stirred []*Meter) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stirred = append(stirred, c.stirred...)
}

// leave takes a meter out of the crowd, and out of what its tenant has: the graph is forgotten.
func (m *Meter) leave() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.crowd != nil {
		m.crowd.mu.Lock()
		m.crowd.held -= m.memory.Total()
		m.crowd.mu.Unlock()
		m.crowd = nil
	}
	if m.of != nil && !m.gone {
		m.of.meters-- // the book's lock is held
		for _, n := range m.keys {
			m.of.keys.Add(-int64(n))
		}
	}
	m.gone = true
}

// grew is by how much the graph has grown of late; 0 for one that is held back already. It is not any more where there
// is enough, or some and it has not grown. One that is still needs no further look until it holds something else.
func (m *Meter) grew(enough, some bool) (by int64, still bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.crowd == nil {
		m.stirred = false
		return 0, true
	}
	now := m.memory.Total()
	before := m.base
	m.base = min(now, m.base+(now-m.base)/forgets)
	if m.crowded && (enough || some && now-m.base < leastGrowth) {
		m.crowded = false
		m.tell()
	}
	if m.crowded {
		return 0, false
	}
	still = m.base == before
	m.stirred = !still
	return now - m.base, still
}

// Calm says that the graph has not grown of late, and is not held back. It is false for a nil Meter, of which nobody
// knows.
func (m *Meter) Calm() bool {
	if m == nil {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return !m.crowded && m.memory.Total()-m.base < leastGrowth
}
