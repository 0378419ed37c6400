package window

import (
	"cmp"
	"hash/maphash"
	"slices"
	"strings"

	"github.com/graphd/graphd/internal/accumulator/aggregate"
	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/boundary/traced"
)

// pane is the events of one key in one window.
type pane struct {
	gen   *fold.Generation // see panes
	hash  uint64
	key   boundary.Value // absent without a key
	owes  int64          // events that no boundary accounts for yet
	at    int64          // when the last event arrived
	dirty bool           // changed since it was last handed over early
	first boundary.Position
	last  boundary.Position
	links *traced.Links // of its events
	cells []aggregate.Cell
}

// pagePanes is how many panes a page has: a page is what a checkpoint writes at once.
const pagePanes = 32

type page struct {
	gen   *fold.Generation
	panes [pagePanes]*pane
}

// panes are the panes of one window, in the order in which they came, and an index of
// them by key.
//
// Snapshots share pages and panes with it. Each is owned by one generation: snapshot ends
// one, and what an older one owns is copied before it is written to. So a snapshot costs
// nothing at once, and later as much as is changed after it. The index is in no snapshot.
type panes struct {
	gen   *fold.Generation // of the slice of pages
	pages []*page
	n     int
	// index is an open hash table: the higher half of an entry is that of the hash, the
	// lower is the pane's number and 1. Its length is a power of two.
	index []uint64
}

func (t *panes) at(i int) *pane { return t.pages[i/pagePanes].panes[i%pagePanes] }

// find is the number of the pane of a key; -1 when there is none.
func (t *panes) find(hash uint64, key boundary.Value) int {
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
			if i := int(uint32(e)) - 1; sameKey(t.at(i).key, key) {
				return i
			}
		}
	}
}

// own is pane i, to be written to by generation gen.
func (t *panes) own(i int, gen *fold.Generation) *pane {
	p := t.ownPage(i/pagePanes, gen)
	g := p.panes[i%pagePanes]
	if g.gen != gen {
		c := *g
		c.gen, c.cells = gen, aggregate.Clone(g.cells)
		g = &c
		p.panes[i%pagePanes] = g
	}
	return g
}

func (t *panes) ownPage(k int, gen *fold.Generation) *page {
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

func (t *panes) ownPages(gen *fold.Generation) {
	if t.gen != gen {
		t.pages = append(make([]*page, 0, len(t.pages)+len(t.pages)/8+1), t.pages...)
		t.gen = gen
	}
}

// add adds a pane, whose key is not there.
func (t *panes) add(g *pane, gen *fold.Generation) {
	i := t.n
	t.ownPages(gen)
	if i%pagePanes == 0 {
		t.pages = append(t.pages, &page{gen: gen})
	}
	t.ownPage(i/pagePanes, gen).panes[i%pagePanes] = g
	t.n++
	if 2*t.n > len(t.index) {
		t.reindex()
	} else {
		t.enter(g.hash, i)
	}
}

func (t *panes) enter(hash uint64, i int) {
	mask := uint64(len(t.index) - 1)
	slot := hash & mask
	for t.index[slot] != 0 {
		slot = (slot + 1) & mask
	}
	t.index[slot] = hash>>32<<32 | uint64(i+1)
}

// reindex makes the index anew, with room to double.
func (t *panes) reindex() {
	size := 8
	for size < 4*t.n {
		size *= 2
	}
	t.index = make([]uint64, size)
	for i := range t.n {
		t.enter(t.at(i).hash, i)
	}
}

// sorted are the panes in the order of their keys.
func (t *panes) sorted() []*pane {
	all := make([]*pane, t.n)
	for i := range all {
		all[i] = t.at(i)
	}
	slices.SortFunc(all, func(a, b *pane) int { return orderKeys(a.key, b.key) })
	return all
}

// hashKey is the same for keys that are equal, in this process.
func hashKey(seed maphash.Seed, v boundary.Value) uint64 {
	if s, ok := v.AsString(); ok {
		return maphash.String(seed, s)
	}
	switch v.Kind() {
	case boundary.KindInt:
		i, _ := v.AsInt()
		return mix(uint64(i) ^ 1<<62)
	case boundary.KindTime:
		t, _ := v.AsTime()
		return mix(uint64(t.UnixNano()))
	case boundary.KindBool:
		if b, _ := v.AsBool(); b {
			return mix(3)
		}
		return mix(5)
	}
	h := uint64(7)
	for part := range v.Items() {
		h = mix(h ^ hashKey(seed, part))
	}
	return h
}

// mix spreads the bits of an integer (the finalizer of splitmix64).
func mix(h uint64) uint64 {
	h += 0x9e3779b97f4a7c15
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

func sameKey(a, b boundary.Value) bool {
	if s, ok := a.AsString(); ok {
		t, ok := b.AsString()
		return ok && s == t
	}
	return a.IsAbsent() && b.IsAbsent() || boundary.Equal(a, b)
}

// orderKeys orders keys: false and true, ints, times, strings, and lists part by part.
func orderKeys(a, b boundary.Value) int {
	ak, bk := a.Kind(), b.Kind()
	if ak != bk {
		return cmp.Compare(keyRank(ak), keyRank(bk))
	}
	switch ak {
	case boundary.KindString:
		s, _ := a.AsString()
		t, _ := b.AsString()
		return strings.Compare(s, t)
	case boundary.KindInt:
		i, _ := a.AsInt()
		j, _ := b.AsInt()
		return cmp.Compare(i, j)
	case boundary.KindTime:
		s, _ := a.AsTime()
		t, _ := b.AsTime()
		return s.Compare(t)
	case boundary.KindBool:
		x, _ := a.AsBool()
		y, _ := b.AsBool()
		switch {
		case x == y:
			return 0
		case x:
			return 1
		}
		return -1
	case boundary.KindList:
		for i := range min(a.Len(), b.Len()) {
			if c := orderKeys(a.Index(i), b.Index(i)); c != 0 {
				return c
			}
		}
		return cmp.Compare(a.Len(), b.Len())
	}
	return 0
}

func keyRank(k boundary.Kind) int {
	return slices.Index([]boundary.Kind{
		boundary.KindBool, boundary.KindInt, boundary.KindTime, boundary.KindString, boundary.KindList,
	}, k)
}
