// Package keytable finds what a keyed reactor has for a key. A map would hold every key beside the
// cell that has it; a [Table] is the cells alone, with 32 bits of each hash, in small parts, so that
// it grows a little at a time and no event pays for all keys.
//
// A Table belongs to one goroutine, as the reactor does that has it.
package keytable

import (
	"hash/maphash"
	"iter"

	"github.com/graphd/graphd/internal/boundary"
)

// Cell is what a table holds: a pointer, nil for none.
type Cell interface {
	comparable
	// TableKey is the key by which it is found. It does not change.
	TableKey() boundary.Key
}

// Table finds cells by their keys. Make one with [New].
type Table[C Cell] struct {
	seed  maphash.Seed
	parts *[tableParts]part[C] // nil while there was no key: a graph without keys needs none
	n     int
	last  C // that was found last, for events of a key come one after the other; nil for none
}

// tableParts is a power of two: with a million keys a part has four thousand, and moves in microseconds.
const tableParts = 256

// part is a table with linear probing. A cell stands at the place that its hash says, or
// behind it without a gap between.
type part[C Cell] struct {
	cells  []C // a power of two, nil for none
	hashes []uint32
	n      int
}

// New makes an empty table.
func New[C Cell]() *Table[C] { return &Table[C]{seed: maphash.MakeSeed()} }

// Len is how many there are.
func (t *Table[C]) Len() int { return t.n }

// part is where a key belongs, and the hash that finds it there.
func (t *Table[C]) part(key boundary.Key) (*part[C], uint32) {
	if t.parts == nil {
		t.parts = new([tableParts]part[C])
	}
	h := maphash.String(t.seed, string(key))
	return &t.parts[h>>32%tableParts], uint32(h)
}

// Get is the cell of a key; nil when there is none.
func (t *Table[C]) Get(key boundary.Key) (none C) {
	if t.last != none && t.last.TableKey() == key {
		return t.last
	}
	if t.n == 0 {
		return none
	}
	p, hash := t.part(key)
	if p.n == 0 {
		return none
	}
	k := p.cells[p.find(key, hash)]
	if k != none {
		t.last = k
	}
	return k
}

// find is the place where a key is, or would be.
func (p *part[C]) find(key boundary.Key, hash uint32) int {
	mask := len(p.cells) - 1
	i := int(hash) & mask
	var none C
	for ; p.cells[i] != none; i = (i + 1) & mask {
		if p.hashes[i] == hash && p.cells[i].TableKey() == key {
			break
		}
	}
	return i
}

// Put adds a cell, whose key is not there.
func (t *Table[C]) Put(k C) {
	key := k.TableKey()
	p, hash := t.part(key)
	if p.n >= len(p.cells)*3/4 {
		p.grow()
	}
	i := p.find(key, hash)
	p.cells[i], p.hashes[i] = k, hash
	p.n++
	t.n++
}

func (p *part[C]) grow() {
	var none C
	before := *p
	size := max(8, 2*len(before.cells))
	p.cells, p.hashes = make([]C, size), make([]uint32, size)
	for i, k := range before.cells {
		if k == none {
			continue
		}
		at := int(before.hashes[i]) & (size - 1)
		for p.cells[at] != none {
			at = (at + 1) & (size - 1)
		}
		p.cells[at], p.hashes[at] = k, before.hashes[i]
	}
}

// Remove takes a key out, and closes the gap that this leaves.
func (t *Table[C]) Remove(key boundary.Key) {
	if t.n == 0 {
		return
	}
	p, hash := t.part(key)
	var none C
	if p.n == 0 {
		return
	}
	mask, gap := len(p.cells)-1, p.find(key, hash)
	if p.cells[gap] == none {
		return
	}
	t.last = none
	for i := (gap + 1) & mask; p.cells[i] != none; i = (i + 1) & mask {
		home := int(p.hashes[i]) & mask
		if (i-home)&mask >= (i-gap)&mask { // it may stand at the gap, which is not before its home
			p.cells[gap], p.hashes[gap] = p.cells[i], p.hashes[i]
			gap = i
		}
	}
	p.cells[gap] = none
	p.n--
	t.n--
}

// Parts is how many parts a table has.
const Parts = tableParts

// Part are the cells of a part, in no order; the table must not change meanwhile. All parts have about as many.
func (t *Table[C]) Part(i int) iter.Seq[C] {
	return func(yield func(C) bool) {
		var none C
		if t.n == 0 {
			return
		}
		for _, k := range t.parts[i].cells {
			if k != none && !yield(k) {
				return
			}
		}
	}
}

// All are the cells, in no order; the table must not change meanwhile.
func (t *Table[C]) All() iter.Seq[C] {
	return func(yield func(C) bool) {
		var none C
		if t.n == 0 {
			return
		}
		for i := range t.parts {
			for _, k := range t.parts[i].cells {
				if k != none && !yield(k) {
					return
				}
			}
		}
	}
}
