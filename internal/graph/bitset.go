package graph

import (
	"iter"
	"math/bits"
)

// bitset is a set of small numbers, one bit each. Its length is fixed.
type bitset []uint64

func newBitset(n int) bitset { return make(bitset, (n+63)/64) }

func (b bitset) has(i int) bool { return b[i>>6]&(1<<(i&63)) != 0 }
func (b bitset) set(i int)      { b[i>>6] |= 1 << (i & 63) }
func (b bitset) clear(i int)    { b[i>>6] &^= 1 << (i & 63) }

func (b bitset) empty() bool {
	for _, w := range b {
		if w != 0 {
			return false
		}
	}
	return true
}

// fill sets the first n bits.
func (b bitset) fill(n int) {
	for i := range b {
		b[i] = ^uint64(0)
	}
	if n&63 != 0 {
		b[len(b)-1] = 1<<(n&63) - 1
	}
}

// add is the union with o, which has the same length.
func (b bitset) add(o bitset) {
	for i, w := range o {
		b[i] |= w
	}
}

// first is the smallest member of a word that has any.
func first(word uint64) int { return bits.TrailingZeros64(word) }

// all ranges over the members in ascending order.
func (b bitset) all() iter.Seq[int] {
	return func(yield func(int) bool) {
		for i, w := range b {
			for ; w != 0; w &= w - 1 {
				if !yield(i<<6 + bits.TrailingZeros64(w)) {
					return
				}
			}
		}
	}
}
