package table

import (
	"cmp"
	"slices"
	"sort"

	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/boundary"
)

// row is what one key has. It is not written to once it is in a trie.
type row struct {
	key     string // as text, see [boundary.AppendKey]
	value   boundary.Value
	changed int64 // engine time, in nanoseconds since 1970
	seq     int64 // of the change, over all rows
	bytes   int64 // of the key and the value, as they are kept
}

// A leaf holds the rows whose hashes begin alike. With more than leafRows it is split in four by the
// next two bits; where there are no more than that below a branch, it is a leaf. So the form of a
// trie follows from its rows, and a restart finds the leaves that the store has.
const (
	leafRows = 32
	digit    = 2 // bits
	fan      = 1 << digit
	deepest  = 64 / digit
)

// node is a branch or a leaf; nil is an empty one.
type node struct {
	gen   *fold.Generation
	n     int         // rows below
	kids  *[fan]*node // nil for a leaf
	slots []slot      // of a leaf, by hash and key
}

type slot struct {
	hash uint64
	row  *row
}

// hashOf is FNV-1a with its bits mixed: the first of them decide. It is part of the stored form.
func hashOf[T string | []byte](key T) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(key) {
		h = (h ^ uint64(key[i])) * 1099511628211
	}
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

// turn is which kid of a branch at a depth has the hash.
func turn(hash uint64, depth int) int { return int(hash>>(64-digit*(depth+1))) & (fan - 1) }

func order(a slot, hash uint64, key string) int {
	if c := cmp.Compare(a.hash, hash); c != 0 {
		return c
	}
	return cmp.Compare(a.row.key, key)
}

// place is where in a leaf a row is, or would be.
func (n *node) place(hash uint64, key string) (at int, found bool) {
	at = sort.Search(len(n.slots), func(i int) bool { return order(n.slots[i], hash, key) >= 0 })
	return at, at < len(n.slots) && n.slots[at].hash == hash && n.slots[at].row.key == key
}

// leaf is the leaf that has the hash, or would.
func (n *node) leaf(hash uint64) *node {
	for depth := 0; n != nil && n.kids != nil; depth++ {
		n = n.kids[turn(hash, depth)]
	}
	return n
}

// find is the row of a key; nil when there is none.
func (n *node) find(hash uint64, key []byte) *row {
	l := n.leaf(hash)
	if l == nil {
		return nil
	}
	for i := range l.slots {
		if s := &l.slots[i]; s.hash == hash && s.row.key == string(key) {
			return s.row
		}
	}
	return nil
}

// bySeq is the row with the hash that was last changed by change seq; nil when there is none.
func (n *node) bySeq(hash uint64, seq int64) *row {
	l := n.leaf(hash)
	if l == nil {
		return nil
	}
	for i := range l.slots {
		if s := &l.slots[i]; s.hash == hash && s.row.seq == seq {
			return s.row
		}
	}
	return nil
}

func (n *node) len() int {
	if n == nil {
		return 0
	}
	return n.n
}

// own is n, to be written to by generation gen.
func (n *node) own(gen *fold.Generation) *node {
	if n == nil {
		return &node{gen: gen}
	}
	if n.gen == gen {
		return n
	}
	c := &node{gen: gen, n: n.n}
	if n.kids != nil {
		kids := *n.kids
		c.kids = &kids
	} else {
		c.slots = append(make([]slot, 0, len(n.slots)+1), n.slots...)
	}
	return c
}

// set puts a row in, in the place of the one with its key, which it answers.
func (n *node) set(hash uint64, r *row, depth int, gen *fold.Generation) (now *node, was *row) {
	n = n.own(gen)
	if n.kids != nil {
		kid := &n.kids[turn(hash, depth)]
		if *kid, was = (*kid).set(hash, r, depth+1, gen); was == nil {
			n.n++
		}
		return n, was
	}
	at, found := n.place(hash, r.key)
	if found {
		was = n.slots[at].row
		n.slots[at].row = r
		return n, was
	}
	n.slots = slices.Insert(n.slots, at, slot{hash, r})
	n.n++
	n.split(depth, gen)
	return n, nil
}

// split makes a branch of a leaf that is too large.
func (n *node) split(depth int, gen *fold.Generation) {
	if len(n.slots) <= leafRows || depth == deepest {
		return
	}
	n.kids = new([fan]*node)
	for rest := n.slots; len(rest) > 0; {
		t, size := cut(rest, depth)
		kid := &node{gen: gen, n: size, slots: append(make([]slot, 0, size+1), rest[:size]...)}
		kid.split(depth+1, gen)
		n.kids[t], rest = kid, rest[size:]
	}
	n.slots = nil
}

// remove takes a row out, which is there.
func (n *node) remove(hash uint64, key string, depth int, gen *fold.Generation) *node {
	n = n.own(gen)
	if n.n--; n.n == 0 {
		return nil
	}
	if n.kids == nil {
		at, _ := n.place(hash, key)
		n.slots = slices.Delete(n.slots, at, at+1)
		return n
	}
	kid := &n.kids[turn(hash, depth)]
	*kid = (*kid).remove(hash, key, depth+1, gen)
	if n.n <= leafRows {
		slots := make([]slot, 0, leafRows+1)
		n.each(func(s slot) bool { slots = append(slots, s); return true })
		n.kids, n.slots = nil, slots
	}
	return n
}

// each walks the rows by hash and key, while yield answers true.
func (n *node) each(yield func(slot) bool) bool {
	if n == nil {
		return true
	}
	if n.kids == nil {
		for _, s := range n.slots {
			if !yield(s) {
				return false
			}
		}
		return true
	}
	for _, kid := range n.kids {
		if !kid.each(yield) {
			return false
		}
	}
	return true
}

// build makes a trie of rows by hash and key.
func build(slots []slot, gen *fold.Generation) *node {
	return buildAt(slots, 0, gen)
}

func buildAt(slots []slot, depth int, gen *fold.Generation) *node {
	if len(slots) == 0 {
		return nil
	}
	n := &node{gen: gen, n: len(slots)}
	if len(slots) <= leafRows || depth == deepest {
		n.slots = slices.Clip(slices.Clone(slots))
		return n
	}
	n.kids = new([fan]*node)
	for rest := slots; len(rest) > 0; {
		t, size := cut(rest, depth)
		n.kids[t], rest = buildAt(rest[:size], depth+1, gen), rest[size:]
	}
	return n
}

// cut is which kid at a depth the first of some rows is in, and how many of them are.
func cut(slots []slot, depth int) (t, size int) {
	t = turn(slots[0].hash, depth)
	return t, sort.Search(len(slots), func(i int) bool { return turn(slots[i].hash, depth) != t })
}

// leaves walks the leaves with their paths.
func (n *node) leaves(path []byte, yield func(path []byte, leaf *node) bool) bool {
	if n == nil {
		return true
	}
	if n.kids == nil {
		return yield(path, n)
	}
	for t, kid := range n.kids {
		if !kid.leaves(append(path, '0'+byte(t)), yield) {
			return false
		}
	}
	return true
}

// differ walks the leaves of b that a does not have as they are, and with gone those of a in whose place b
// has none. What both share is passed over.
func differ(a, b *node, path []byte, yield func(path []byte, leaf *node, gone bool) bool) bool {
	if a == b {
		return true
	}
	if a != nil && b != nil && a.kids != nil && b.kids != nil {
		for t := range fan {
			if !differ(a.kids[t], b.kids[t], append(path, '0'+byte(t)), yield) {
				return false
			}
		}
		return true
	}
	if !b.leaves(path, func(path []byte, leaf *node) bool { return yield(path, leaf, false) }) {
		return false
	}
	if a != nil && b != nil && a.kids == nil && b.kids == nil {
		return true // in the same place
	}
	return a.leaves(path, func(path []byte, leaf *node) bool { return yield(path, leaf, true) })
}

// changes walks the rows that differ from a to b, by hash and key: was is nil for one that is new, is for one
// that is gone.
func changes(a, b *node, yield func(hash uint64, was, is *row)) {
	switch {
	case a == b:
	case a != nil && b != nil && a.kids != nil && b.kids != nil:
		for t := range fan {
			changes(a.kids[t], b.kids[t], yield)
		}
	default:
		before, after := a.slotList(), b.slotList()
		for len(before) > 0 || len(after) > 0 {
			switch c := compare(before, after); {
			case c < 0:
				yield(before[0].hash, before[0].row, nil)
				before = before[1:]
			case c > 0:
				yield(after[0].hash, nil, after[0].row)
				after = after[1:]
			default:
				if before[0].row != after[0].row {
					yield(after[0].hash, before[0].row, after[0].row)
				}
				before, after = before[1:], after[1:]
			}
		}
	}
}

// compare orders the first of two lists; an empty one comes last.
func compare(a, b []slot) int {
	switch {
	case len(a) == 0:
		return 1
	case len(b) == 0:
		return -1
	}
	return order(a[0], b[0].hash, b[0].row.key)
}

// slotList are the rows below n.
func (n *node) slotList() []slot {
	if n == nil || n.kids == nil {
		if n == nil {
			return nil
		}
		return n.slots
	}
	list := make([]slot, 0, n.n)
	n.each(func(s slot) bool { list = append(list, s); return true })
	return list
}
