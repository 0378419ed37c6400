package window

import (
	"iter"
	"math"
	"slices"

	"github.com/graphd/graphd/internal/accumulator/aggregate"
	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/boundary"
)

// theEnd is after every time there is.
const theEnd = math.MaxInt64

// shelf keeps sessions in slots, which are used again, and finds them by key. Snapshots share its pages and sessions,
// as they share those of [panes]; how they are found is in no snapshot.
type shelf struct {
	whose *fold.Generation // is the slice of pages
	pages []*shelfPage
	n     int
	free  []int32          // the empty slots, the one that is used next last
	first map[uint64]int32 // by hash: the slot and 1 of a session
	chain []int32          // by slot: the slot and 1 of the next session with the hash; 0 for none
}

// shelfPage is what a checkpoint writes at once.
type shelfPage struct {
	gen      *fold.Generation
	sessions [pagePanes]*session
}

func newShelf() shelf { return shelf{first: map[uint64]int32{}} }

// at is the session in a slot; nil of one that is empty.
func (t *shelf) at(slot int32) *session {
	if int(slot)/pagePanes >= len(t.pages) {
		return nil
	}
	return t.pages[slot/pagePanes].sessions[slot%pagePanes]
}

// in appends the slots of the sessions of a key that have a moment between from and to.
func (t *shelf) in(hash uint64, key boundary.Value, from, to int64, slots []int32) []int32 {
	for next := t.first[hash]; next != 0; next = t.chain[next-1] {
		if x := t.at(next - 1); x.start < to && from < x.end && sameKey(x.key, key) {
			slots = append(slots, next-1)
		}
	}
	return slots
}

// slots are those that have a session.
func (t *shelf) slots() iter.Seq[int32] {
	return func(yield func(int32) bool) {
		for k := range t.pages {
			for i := range t.pages[k].sessions {
				if t.pages[k].sessions[i] != nil && !yield(int32(k*pagePanes+i)) {
					return
				}
			}
		}
	}
}

// own is the session in a slot, to be written to by generation gen.
func (t *shelf) own(slot int32, gen *fold.Generation) *session {
	p := t.ownPage(slot, gen)
	x := p.sessions[slot%pagePanes]
	if x.gen != gen {
		x = new(*x)
		x.gen, x.cells = gen, aggregate.Clone(x.cells)
		p.sessions[slot%pagePanes] = x
	}
	return x
}

func (t *shelf) ownPage(slot int32, gen *fold.Generation) *shelfPage {
	if t.whose != gen {
		t.pages = append(make([]*shelfPage, 0, len(t.pages)+len(t.pages)/8+1), t.pages...)
		t.whose = gen
	}
	k := slot / pagePanes
	if int(k) == len(t.pages) {
		t.pages = append(t.pages, &shelfPage{gen: gen})
		for range pagePanes {
			t.chain = append(t.chain, 0)
		}
	}
	if t.pages[k].gen != gen {
		t.pages[k] = new(*t.pages[k])
		t.pages[k].gen = gen
	}
	return t.pages[k]
}

// add puts a session into an empty slot.
func (t *shelf) add(x *session, gen *fold.Generation) (slot int32) {
	slot = int32(t.n)
	if n := len(t.free); n > 0 {
		slot, t.free = t.free[n-1], t.free[:n-1]
	}
	t.ownPage(slot, gen).sessions[slot%pagePanes] = x
	t.n++
	t.enter(slot, x.hash)
	return slot
}

func (t *shelf) enter(slot int32, hash uint64) {
	t.chain[slot], t.first[hash] = t.first[hash], slot+1
}

// remove empties a slot.
func (t *shelf) remove(slot int32, gen *fold.Generation) {
	hash := t.at(slot).hash
	t.ownPage(slot, gen).sessions[slot%pagePanes] = nil
	if t.first[hash] == slot+1 {
		if t.first[hash] = t.chain[slot]; t.chain[slot] == 0 {
			delete(t.first, hash)
		}
	} else {
		before := t.first[hash] - 1
		for t.chain[before] != slot+1 {
			before = t.chain[before] - 1
		}
		t.chain[before] = t.chain[slot]
	}
	t.chain[slot] = 0
	t.free = append(t.free, slot)
	t.n--
}

// adopt takes over pages of sessions whose hashes are of this process.
func (t *shelf) adopt(pages []*shelfPage) {
	*t = newShelf()
	t.pages = slices.Clone(pages)
	t.chain = make([]int32, len(pages)*pagePanes)
	for k := len(pages) - 1; k >= 0; k-- {
		for i := pagePanes - 1; i >= 0; i-- {
			slot := int32(k*pagePanes + i)
			if x := pages[k].sessions[i]; x != nil {
				t.n++
				t.enter(slot, x.hash)
			} else {
				t.free = append(t.free, slot)
			}
		}
	}
}

// endings are slots in the order in which the time of their sessions comes: a heap. A session that waits has an entry
// no later than its time; it may have more, and there may be entries of what is not there any more.
type endings []ending

type ending struct {
	at   int64
	slot int32
}

func (q *endings) push(e ending) {
	*q = append(*q, e)
	h := *q
	for i := len(h) - 1; i > 0 && h[i].at < h[(i-1)/2].at; i = (i - 1) / 2 {
		h[i], h[(i-1)/2] = h[(i-1)/2], h[i]
	}
}

// pop takes the first off.
func (q *endings) pop() {
	h := *q
	h[0] = h[len(h)-1]
	*q = h[:len(h)-1]
	q.sink(0)
}

// sink puts entry i where it belongs, which has become later.
func (q *endings) sink(i int) {
	h := *q
	for {
		least := i
		for k := 2*i + 1; k <= 2*i+2 && k < len(h); k++ {
			if h[k].at < h[least].at {
				least = k
			}
		}
		if least == i {
			return
		}
		h[i], h[least] = h[least], h[i]
		i = least
	}
}
