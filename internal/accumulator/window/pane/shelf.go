package pane

import (
	"iter"
	"slices"

	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/boundary"
)

// Shelved is what a shelf keeps: a pane and what there is beside it. The zero one is nil.
type Shelved[T any] interface {
	comparable
	Head() *Pane
	// Owned is a copy that generation gen may write to.
	Owned(gen *fold.Generation) T
}

// Head is the pane itself, for what has one in it.
func (g *Pane) Head() *Pane { return g }

// Shelf keeps panes in slots, which are used again, and finds them by key. How they are found is in no snapshot.
type Shelf[T Shelved[T]] struct {
	whose *fold.Generation // is the slice of pages
	pages []*shelfPage[T]
	n     int
	free  []int32          // the empty slots, the one that is used next last
	first map[uint64]int32 // by hash: the slot and 1 of one
	chain []int32          // by slot: the slot and 1 of the next one with the hash; 0 for none
}

// shelfPage is what a checkpoint writes at once.
type shelfPage[T Shelved[T]] struct {
	gen *fold.Generation
	all [PerPage]T
}

// NewShelf makes an empty shelf.
func NewShelf[T Shelved[T]]() Shelf[T] { return Shelf[T]{first: map[uint64]int32{}} }

// At is what is in a slot; nil in one that is empty.
func (t *Shelf[T]) At(slot int32) (x T) {
	if int(slot)/PerPage < len(t.pages) {
		x = t.pages[slot/PerPage].all[slot%PerPage]
	}
	return x
}

// Find is the first slot of a key; -1 when there is none.
func (t *Shelf[T]) Find(hash uint64, key boundary.Value) int32 {
	for next := t.first[hash]; next != 0; next = t.chain[next-1] {
		if Same(t.At(next-1).Head().Key, key) {
			return next - 1
		}
	}
	return -1
}

// With are the slots of a hash, and what is in them.
func (t *Shelf[T]) With(hash uint64) iter.Seq2[int32, T] {
	return func(yield func(int32, T) bool) {
		for next := t.first[hash]; next != 0; next = t.chain[next-1] {
			if !yield(next-1, t.At(next-1)) {
				return
			}
		}
	}
}

// Len is how many there are.
func (t *Shelf[T]) Len() int { return t.n }

// Unused says that there was nothing yet since the shelf was made.
func (t *Shelf[T]) Unused() bool { return len(t.pages) == 0 }

// Slots are those that have something.
func (t *Shelf[T]) Slots() iter.Seq[int32] {
	return func(yield func(int32) bool) {
		var none T
		for k := range t.pages {
			for i := range t.pages[k].all {
				if t.pages[k].all[i] != none && !yield(int32(k*PerPage+i)) {
					return
				}
			}
		}
	}
}

// Own is what is in a slot, to be written to by generation gen.
func (t *Shelf[T]) Own(slot int32, gen *fold.Generation) T {
	p := t.ownPage(slot, gen)
	x := p.all[slot%PerPage]
	if x.Head().Gen != gen {
		x = x.Owned(gen)
		p.all[slot%PerPage] = x
	}
	return x
}

func (t *Shelf[T]) ownPage(slot int32, gen *fold.Generation) *shelfPage[T] {
	if t.whose != gen {
		t.pages = append(make([]*shelfPage[T], 0, len(t.pages)+len(t.pages)/8+1), t.pages...)
		t.whose = gen
	}
	k := slot / PerPage
	if int(k) == len(t.pages) {
		t.pages = append(t.pages, &shelfPage[T]{gen: gen})
		for range PerPage {
			t.chain = append(t.chain, 0)
		}
	}
	if t.pages[k].gen != gen {
		t.pages[k] = new(*t.pages[k])
		t.pages[k].gen = gen
	}
	return t.pages[k]
}

// Add puts something into an empty slot.
func (t *Shelf[T]) Add(x T, gen *fold.Generation) (slot int32) {
	slot = int32(t.n)
	if n := len(t.free); n > 0 {
		slot, t.free = t.free[n-1], t.free[:n-1]
	}
	t.ownPage(slot, gen).all[slot%PerPage] = x
	t.n++
	t.enter(slot, x.Head().Hash)
	return slot
}

func (t *Shelf[T]) enter(slot int32, hash uint64) {
	t.chain[slot], t.first[hash] = t.first[hash], slot+1
}

// Remove empties a slot.
func (t *Shelf[T]) Remove(slot int32, gen *fold.Generation) {
	var none T
	hash := t.At(slot).Head().Hash
	t.ownPage(slot, gen).all[slot%PerPage] = none
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

// Adopt goes on from a snapshot, whose hashes are of this process.
func (t *Shelf[T]) Adopt(h *Snapshot[T]) {
	var none T
	pages := h.pages
	*t = NewShelf[T]()
	t.pages = slices.Clone(pages)
	t.chain = make([]int32, len(pages)*PerPage)
	for k := len(pages) - 1; k >= 0; k-- {
		for i := PerPage - 1; i >= 0; i-- {
			slot := int32(k*PerPage + i)
			if x := pages[k].all[i]; x != none {
				t.n++
				t.enter(slot, x.Head().Hash)
			} else {
				t.free = append(t.free, slot)
			}
		}
	}
}
