package pane

import (
	"slices"

	"github.com/graphd/graphd/internal/accumulator/aggregate"
	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/boundary"
)

// Page is what a checkpoint writes at once.
type Page struct {
	gen   *fold.Generation
	Panes [PerPage]*Pane
}

// Table is the panes of one window, in the order in which they came, and an index of them by key, which is in no
// snapshot.
type Table struct {
	gen   *fold.Generation // of the slice of pages
	pages []*Page
	n     int
	// index is an open hash table: the higher half of an entry is that of the hash, the
	// lower is the pane's number and 1. Its length is a power of two.
	index []uint64
}

// TableOf is the table of n panes in pages, whose hashes are of this process.
func TableOf(pages []*Page, n int) Table {
	t := Table{pages: pages, n: n}
	t.reindex()
	return t
}

// Pages are those of a snapshot, which begins a generation.
func (t *Table) Pages() []*Page { return t.pages }

// Len is how many panes there are.
func (t *Table) Len() int { return t.n }

// At is pane i.
func (t *Table) At(i int) *Pane { return t.pages[i/PerPage].Panes[i%PerPage] }

// Find is the number of the pane of a key; -1 when there is none.
func (t *Table) Find(hash uint64, key boundary.Value) int {
	if len(t.index) == 0 {
		return -1
	}
	mask := uint64(len(t.index) - 1)
	for slot := hash & mask; ; slot = (slot + 1) & mask {
		e := t.index[slot]
		if e == 0 {
			return -1
		}
		if e>>32 == hash>>32 {
			if i := int(uint32(e)) - 1; Same(t.At(i).Key, key) {
				return i
			}
		}
	}
}

// Own is pane i, to be written to by generation gen.
func (t *Table) Own(i int, gen *fold.Generation) *Pane {
	p := t.ownPage(i/PerPage, gen)
	g := p.Panes[i%PerPage]
	if g.Gen != gen {
		c := *g
		c.Gen, c.Cells = gen, aggregate.Clone(g.Cells)
		g = &c
		p.Panes[i%PerPage] = g
	}
	return g
}

func (t *Table) ownPage(k int, gen *fold.Generation) *Page {
	t.ownPages(gen)
	p := t.pages[k]
	if p.gen != gen {
		c := *p
		c.gen = gen
		p = &c
		t.pages[k] = p
	}
	return p
}

func (t *Table) ownPages(gen *fold.Generation) {
	if t.gen != gen {
		t.pages = append(make([]*Page, 0, len(t.pages)+len(t.pages)/8+1), t.pages...)
		t.gen = gen
	}
}

// Add adds a pane, whose key is not there.
func (t *Table) Add(g *Pane, gen *fold.Generation) {
	i := t.n
	t.ownPages(gen)
	if i%PerPage == 0 {
		t.pages = append(t.pages, &Page{gen: gen})
	}
	t.ownPage(i/PerPage, gen).Panes[i%PerPage] = g
	t.n++
	if 2*t.n > len(t.index) {
		t.reindex()
	} else {
		t.enter(g.Hash, i)
	}
}

func (t *Table) enter(hash uint64, i int) {
	mask := uint64(len(t.index) - 1)
	slot := hash & mask
	for t.index[slot] != 0 {
		slot = (slot + 1) & mask
	}
	t.index[slot] = hash>>32<<32 | uint64(i+1)
}

// reindex makes the index anew, with room to double.
func (t *Table) reindex() {
	size := 8
	for size < 4*t.n {
		size *= 2
	}
	t.index = make([]uint64, size)
	for i := range t.n {
		t.enter(t.At(i).Hash, i)
	}
}

// Sorted are the panes in the order of their keys.
func (t *Table) Sorted() []*Pane {
	all := make([]*Pane, t.n)
	for i := range all {
		all[i] = t.At(i)
	}
	slices.SortFunc(all, func(a, b *Pane) int { return Order(a.Key, b.Key) })
	return all
}
