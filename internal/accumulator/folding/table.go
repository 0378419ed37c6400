package folding

import (
	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/boundary/traced"
)

// cell is what one key has.
type cell struct {
	gen   *fold.Generation // see table
	key   boundary.Value   // absent without a key
	state boundary.Value   // null: the next event begins anew
	bytes int64            // of the key and the state, as they are kept
	used  int64            // by which of all events it was used last
	open  int64            // events that no boundary accounts for yet
	first boundary.Position
	last  boundary.Position
	links *traced.Links // of those
}

// Cells are kept by the page: a page is what a checkpoint writes at once. Pages hang on branches, so
// that what is copied for one event is small, however many keys there are.
const (
	pageCells   = 32
	branchPages = 64
)

type page struct {
	gen   *fold.Generation
	cells [pageCells]*cell
}

type branch struct {
	gen   *fold.Generation
	pages [branchPages]*page
}

// table are the cells of all keys, by number and without gaps.
//
// Snapshots share branches, pages and cells with it. Each is owned by one generation: a snapshot
// ends one, and what an older one owns is copied before it is written to.
type table struct {
	gen      *fold.Generation // of the slice of branches
	branches []*branch
	n        int
}

func (t *table) page(k int) *page { return t.branches[k/branchPages].pages[k%branchPages] }

func (t *table) at(i int) *cell { return t.page(i / pageCells).cells[i%pageCells] }

// own is cell i, to be written to by generation gen.
func (t *table) own(i int, gen *fold.Generation) *cell {
	at := &t.ownPage(i/pageCells, gen).cells[i%pageCells]
	if (*at).gen != gen {
		c := **at
		c.gen = gen
		*at = &c
	}
	return *at
}

// ownPage is page k, to be written to by generation gen.
func (t *table) ownPage(k int, gen *fold.Generation) *page {
	b := t.ownBranch(k/branchPages, gen)
	at := &b.pages[k%branchPages]
	switch {
	case *at == nil:
		*at = &page{gen: gen}
	case (*at).gen != gen:
		p := **at
		p.gen = gen
		*at = &p
	}
	return *at
}

// ownBranch is branch b, to be written to by generation gen.
func (t *table) ownBranch(b int, gen *fold.Generation) *branch {
	t.ownBranches(gen)
	switch {
	case b == len(t.branches):
		t.branches = append(t.branches, &branch{gen: gen})
	case t.branches[b].gen != gen:
		c := *t.branches[b]
		c.gen = gen
		t.branches[b] = &c
	}
	return t.branches[b]
}

func (t *table) ownBranches(gen *fold.Generation) {
	if t.gen != gen {
		t.branches = append(make([]*branch, 0, len(t.branches)+1), t.branches...)
		t.gen = gen
	}
}

// add adds a cell, and returns its number.
func (t *table) add(c *cell, gen *fold.Generation) int {
	i := t.n
	t.ownPage(i/pageCells, gen).cells[i%pageCells] = c
	t.n++
	return i
}

// remove takes cell i out. The last one takes its number.
func (t *table) remove(i int, gen *fold.Generation) {
	last := t.n - 1
	c := t.at(last)
	t.ownPage(i/pageCells, gen).cells[i%pageCells] = c
	k := last / pageCells
	t.ownPage(k, gen).cells[last%pageCells] = nil
	t.n = last
	if last%pageCells > 0 {
		return
	}
	t.ownBranch(k/branchPages, gen).pages[k%branchPages] = nil
	if k%branchPages == 0 {
		t.branches = t.branches[:k/branchPages]
	}
}
