package join

import (
	"cmp"
	"slices"
	"sort"

	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/boundary/traced"
)

// row is an event that is kept for its partners.
type row struct {
	at      int64
	key     boundary.Key
	value   boundary.Value
	pos     boundary.Position
	links   *traced.Links
	size    int   // about how many bytes it takes
	matches int64 // how many partners it has found
	owes    int64 // events that no boundary accounts for yet
	side    uint8
	gone    bool // its time was up
}

// weight is the size of what the row is of, as it was when it came: how a value is held may be another way after a
// restart, and what comes of it is bounded by that.
func (e *row) weight() int { return e.size - rowBytes - len(e.key) }

// pageRows is how many rows a page has room for: few enough to be copied when one of them changes, and many enough
// that a checkpoint of a large state has few parts.
const pageRows = 128

// page is rows of a side in the order in which they came. Its owner writes to it, see [fold.Generation].
type page struct {
	number  uint64
	gen     *fold.Generation
	version uint64 // another with each change
	rows    []row
	live    int // that are not gone
}

// own makes the page one that may be written to.
func (p *page) own(gen *fold.Generation) {
	p.version++
	if p.gen == gen {
		return
	}
	rows := make([]row, len(p.rows), pageRows)
	copy(rows, p.rows)
	p.rows, p.gen = rows, gen
}

// place is where a row stands, with the time that it goes by.
type place struct {
	at   int64
	page *page
	i    int
}

func (a *place) row() *row { return &a.page.rows[a.i] }

// less says that a comes before b: it is earlier, or of the same time and of a key before, see [Join.Order], or it came
// first.
func (a *place) less(b *place) bool {
	if a.at != b.at {
		return a.at < b.at
	}
	if c := cmp.Compare(a.row().key, b.row().key); c != 0 {
		return c < 0
	}
	if a.page != b.page {
		return a.page.number < b.page.number
	}
	return a.i < b.i
}

// group is the rows of one key, by side in the order of their times.
type group struct{ sides [2][]place }

// add takes in a row, which came last.
func (g *group) add(side int, at place) {
	rows := g.sides[side]
	i := len(rows)
	if i > 0 && at.at < rows[i-1].at {
		i = sort.Search(len(rows), func(k int) bool { return rows[k].at > at.at })
	}
	g.sides[side] = slices.Insert(rows, i, at)
}

// between are the rows of a side of times from low to high, both included.
func (g *group) between(side int, low, high int64) []place {
	rows := g.sides[side]
	from := 0
	if len(rows) > 0 && rows[0].at < low {
		from = sort.Search(len(rows), func(k int) bool { return rows[k].at >= low })
	}
	to := len(rows)
	if to > from && rows[to-1].at > high {
		to = sort.Search(to, func(k int) bool { return rows[k].at > high })
	}
	return rows[min(from, to):to]
}

// pop takes away the first row of a side.
func (g *group) pop(side int) {
	rows := g.sides[side]
	rows[0] = place{}
	if rows = rows[1:]; len(rows) == 0 {
		rows = nil
	}
	g.sides[side] = rows
}

// queue is rows of one side by their times: a heap.
type queue []place

func (q *queue) push(at place) {
	*q = append(*q, at)
	h := *q
	i := len(h) - 1
	for i > 0 {
		up := (i - 1) / 2
		if !at.less(&h[up]) {
			break
		}
		h[i] = h[up]
		i = up
	}
	h[i] = at
}

func (q *queue) pop() place {
	h := *q
	first, last := h[0], h[len(h)-1]
	h[len(h)-1] = place{}
	h = h[:len(h)-1]
	*q = h
	if len(h) == 0 {
		return first
	}
	i := 0
	for {
		down := 2*i + 1
		if down >= len(h) {
			break
		}
		if next := down + 1; next < len(h) && h[next].less(&h[down]) {
			down = next
		}
		if !h[down].less(&last) {
			break
		}
		h[i] = h[down]
		i = down
	}
	h[i] = last
	return first
}
