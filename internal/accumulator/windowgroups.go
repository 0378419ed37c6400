package accumulator

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"

	"github.com/graphd/graphd/internal/accumulator/aggregate"
	"github.com/graphd/graphd/internal/boundary"
)

// group is the events of one key in one window.
type group struct {
	gen   uint64 // see groups
	hash  uint64
	key   boundary.Value // absent without a key
	owes  int64          // events that no boundary accounts for yet
	at    int64          // when the last event arrived
	dirty bool           // changed since it was last handed over early
	first boundary.Position
	last  boundary.Position
	cells []aggregate.Cell
}

// pageGroups is how many groups a page has: a page is what a checkpoint writes at once.
const pageGroups = 32

type page struct {
	gen    uint64
	groups [pageGroups]*group
}

// groups are the groups of one window, in the order in which they came, and an index of
// them by key.
//
// Snapshots share pages and groups with it. Each is owned by one generation: snapshot ends
// one, and what an older one owns is copied before it is written to. So a snapshot costs
// nothing at once, and later as much as is changed after it. The index is in no snapshot.
type groups struct {
	gen   uint64 // of the slice of pages
	pages []*page
	n     int
	// index is an open hash table: the higher half of an entry is that of the hash, the
	// lower is the group's number and 1. Its length is a power of two.
	index []uint64
}

func (t *groups) at(i int) *group { return t.pages[i/pageGroups].groups[i%pageGroups] }

// find is the number of the group of a key; -1 when there is none.
func (t *groups) find(hash uint64, key boundary.Value) int {
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

// own is group i, to be written to by generation gen.
func (t *groups) own(i int, gen uint64) *group {
	p := t.ownPage(i/pageGroups, gen)
	g := p.groups[i%pageGroups]
	if g.gen != gen {
		c := *g
		c.gen, c.cells = gen, aggregate.Clone(g.cells)
		g = &c
		p.groups[i%pageGroups] = g
	}
	return g
}

func (t *groups) ownPage(k int, gen uint64) *page {
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

func (t *groups) ownPages(gen uint64) {
	if t.gen != gen {
		t.pages = append(make([]*page, 0, len(t.pages)+len(t.pages)/8+1), t.pages...)
		t.gen = gen
	}
}

// add adds a group, whose key is not there, and returns its number.
func (t *groups) add(g *group, gen uint64) int {
	i := t.n
	t.ownPages(gen)
	if i%pageGroups == 0 {
		t.pages = append(t.pages, &page{gen: gen})
	}
	t.ownPage(i/pageGroups, gen).groups[i%pageGroups] = g
	t.n++
	if 2*t.n > len(t.index) {
		t.reindex()
	} else {
		t.enter(g.hash, i)
	}
	return i
}

func (t *groups) enter(hash uint64, i int) {
	mask := uint64(len(t.index) - 1)
	slot := hash & mask
	for t.index[slot] != 0 {
		slot = (slot + 1) & mask
	}
	t.index[slot] = hash>>32<<32 | uint64(i+1)
}

// reindex makes the index anew, with room to double.
func (t *groups) reindex() {
	size := 8
	for size < 4*t.n {
		size *= 2
	}
	t.index = make([]uint64, size)
	for i := range t.n {
		t.enter(t.at(i).hash, i)
	}
}

// sorted are the groups in the order of their keys.
func (t *groups) sorted() []*group {
	all := make([]*group, t.n)
	for i := range all {
		all[i] = t.at(i)
	}
	slices.SortFunc(all, func(a, b *group) int { return orderKeys(a.key, b.key) })
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
	return slices.Index([]boundary.Kind{boundary.KindBool, boundary.KindInt, boundary.KindTime, boundary.KindString, boundary.KindList}, k)
}

// badKey says what is wrong with a key, nil when nothing is.
func badKey(v boundary.Value, text string) *BadEvent {
	switch v.Kind() {
	case boundary.KindInt, boundary.KindBool, boundary.KindTime:
		return nil
	case boundary.KindString:
		if v.Len() > boundary.MaxKeyBytes {
			return &BadEvent{Stage: "key", Code: "bad_key", Text: fmt.Sprintf("a key of more than %d bytes is too long", boundary.MaxKeyBytes)}
		}
		return nil
	case boundary.KindNull, boundary.KindAbsent:
		return &BadEvent{Stage: "key", Code: "key_missing", Text: oneLine("the event has no key: " + text + " is null")}
	case boundary.KindList:
		if v.Len() == 0 {
			return &BadEvent{Stage: "key", Code: "key_missing", Text: oneLine("the event has no key: " + text + " is empty")}
		}
		for part := range v.Items() {
			if part.Kind() == boundary.KindList {
				return &BadEvent{Stage: "key", Code: "bad_key", Text: "a key cannot have a list within a list"}
			}
			if bad := badKey(part, text); bad != nil {
				return bad
			}
		}
		return nil
	}
	return &BadEvent{Stage: "key", Code: "bad_key", Text: "a key is a text, a whole number, a boolean or a time, or a list of these, and this is " + v.Kind().String()}
}
