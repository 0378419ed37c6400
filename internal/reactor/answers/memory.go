package answers

import (
	"container/list"
	"time"
	"unsafe"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/kind"
)

// Memory is what nodes remember of what they were answered (0530). It goes by the order of epochs: what one has been
// answered is remembered when it ends, and what it has been given is then the most recently used, whenever the answers
// came. The zero Memory is empty.
type Memory struct {
	nodes  map[int]*remembered
	looked []kept // by the epoch at hand, in the order of its nodes
	held   int64  // bytes
}

type remembered struct {
	entries map[string]*list.Element // of *kept
	order   *list.List               // the most recently used first
	hits    int64
}

// kept is an answer that is remembered, or is to be when its epoch ends; had is that it has been.
type kept struct {
	node   int
	key    string
	at     time.Time
	most   int
	answer *kind.Answer
	had    bool
}

// Begin begins a try of an epoch: what the one before has looked up is void.
func (m *Memory) Begin() { m.looked = m.looked[:0] }

// Find is the answer that is remembered to what the epoch at hand asks for, nil where there is none.
func (m *Memory) Find(node int, r *kind.Request) *kind.Answer {
	if r.Keep.TTL <= 0 {
		return nil
	}
	a := m.Has(node, r)
	for i := range m.looked {
		if l := &m.looked[i]; l.node == node && l.key == r.Keep.Key {
			a = l.answer // of the same epoch, which has it from nowhere else
		}
	}
	if a != nil {
		m.looked = append(m.looked, kept{node: node, key: r.Keep.Key, answer: a, had: true})
	}
	return a
}

// Has is Find that uses nothing.
func (m *Memory) Has(node int, r *kind.Request) *kind.Answer {
	if n := m.nodes[node]; n != nil {
		if at, there := n.entries[r.Keep.Key]; there && r.At.Sub(at.Value.(*kept).at) < r.Keep.TTL {
			return at.Value.(*kept).answer
		}
	}
	return nil
}

// Learn has what the epoch at hand was answered remembered when it ends.
func (m *Memory) Learn(node int, r *kind.Request, a *kind.Answer) {
	m.looked = append(m.looked, kept{node: node, key: r.Keep.Key, at: r.At, most: r.Keep.Max, answer: a})
}

// End ends the epoch at hand.
func (m *Memory) End() {
	for i := range m.looked {
		l := &m.looked[i]
		n := m.nodes[l.node]
		if n == nil {
			if m.nodes == nil {
				m.nodes = map[int]*remembered{}
			}
			n = &remembered{entries: map[string]*list.Element{}, order: list.New()}
			m.nodes[l.node] = n
		}
		at, there := n.entries[l.key]
		if l.had {
			if n.hits++; there {
				n.order.MoveToFront(at)
			}
			continue
		}
		if there {
			m.remove(n, at)
		}
		one := *l
		n.entries[l.key] = n.order.PushFront(&one)
		m.held += one.size()
		for n.order.Len() > l.most {
			m.remove(n, n.order.Back())
		}
	}
	clear(m.looked)
	m.looked = m.looked[:0]
}

func (m *Memory) remove(n *remembered, at *list.Element) {
	one := n.order.Remove(at).(*kept)
	delete(n.entries, one.key)
	m.held -= one.size()
}

// size is about how many bytes an answer that is remembered holds.
func (k *kept) size() int64 {
	return boundary.OnHeap(int(unsafe.Sizeof(*k))) + boundary.OnHeap(len(k.key)) + weigh(k.answer)
}

// Hits is how many answers of a node were remembered ones.
func (m *Memory) Hits(node int) int64 {
	if n := m.nodes[node]; n != nil {
		return n.hits
	}
	return 0
}

// Weigh is about how many bytes are remembered.
func (m *Memory) Weigh() int64 { return m.held }

// Line is the epochs that come next, as one goes through them in their order: what several ask for that would be
// remembered the first of them asks.
type Line struct {
	Memory *Memory
	asked  map[place]bool
}

type place struct {
	node int
	key  string
}

// Stale reports whether an epoch is to be looked at, again where one before it has been answered what it waits for.
func (l *Line) Stale(e *Epoch) bool {
	if e == nil || !e.Known {
		return true
	}
	for i := range e.Asked {
		if a := &e.Asked[i]; a.behind && l.Memory.Has(a.Node, &a.Request) != nil {
			return true
		}
	}
	return false
}

// Next appends what the next of the epochs is to ask for now; fresh is that it has just been looked at.
func (l *Line) Next(asks []Ask, e *Epoch, fresh bool) []Ask {
	for i := range e.Asked {
		a, due := &e.Asked[i], fresh
		if a.Request.Keep.TTL > 0 {
			due = due || a.behind
			at := place{a.Node, a.Request.Keep.Key}
			if a.behind = l.asked[at]; a.behind {
				continue
			}
			if l.asked == nil {
				l.asked = map[place]bool{}
			}
			l.asked[at] = true
		}
		if due {
			asks = append(asks, *a)
		}
	}
	return asks
}
