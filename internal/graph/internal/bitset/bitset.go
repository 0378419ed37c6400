// Package bitset is sets of small numbers.
package bitset

import (
	"iter"
	"math/bits"
)

// Set is a set of small numbers, one bit each. Its length is fixed.
type Set []uint64

// New is an empty set with room for the numbers below n.
func New(n int) Set { return make(Set, (n+63)/64) }

// Has says whether i is a member.
func (b Set) Has(i int) bool { return b[i>>6]&(1<<(i&63)) != 0 }

// Set makes i a member.
func (b Set) Set(i int) { b[i>>6] |= 1 << (i & 63) }

// Clear takes i out.
func (b Set) Clear(i int) { b[i>>6] &^= 1 << (i & 63) }

// Empty says whether there is no member.
func (b Set) Empty() bool {
	for _, w := range b {
		if w != 0 {
			return false
		}
	}
	return true
}

// Fill sets the first n bits.
func (b Set) Fill(n int) {
	for i := range b {
		b[i] = ^uint64(0)
	}
	if n&63 != 0 {
		b[len(b)-1] = 1<<(n&63) - 1
	}
}

// Add is the union with o, which has the same length.
func (b Set) Add(o Set) {
	for i, w := range o {
		b[i] |= w
	}
}

// Least is the smallest member, -1 when there is none.
func (b Set) Least() int {
	for i, w := range b {
		if w != 0 {
			return i<<6 + bits.TrailingZeros64(w)
		}
	}
	return -1
}

// First is the smallest member of a word that has any.
func First(word uint64) int { return bits.TrailingZeros64(word) }

// All ranges over the members in ascending order.
func (b Set) All() iter.Seq[int] {
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
