package order

import (
	"math/rand/v2"
	"testing"
)

// Parts are what leads to each other, and each is behind what it rests on.
func TestParts(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 0))
		under := make([][]int, 1+r.IntN(12))
		for i := range under {
			for range r.IntN(3) {
				under[i] = append(under[i], r.IntN(len(under)))
			}
		}
		part := make([]int, len(under)) // by node, from 1
		for at, nodes := range Parts(under) {
			for _, n := range nodes {
				if part[n] > 0 {
					t.Fatalf("seed %d: %d is in two parts", seed, n)
				}
				part[n] = at + 1
			}
		}
		for a := range under {
			leads := walk(a, under)
			for b := range under {
				_, there := leads[b]
				_, back := walk(b, under)[a]
				if together := a == b || there && back; together != (part[a] == part[b]) || there && part[b] > part[a] {
					t.Fatalf("seed %d: of %v, %d and %d are in the parts %v", seed, under, a, b, part)
				}
			}
			if part[a] == 0 {
				t.Fatalf("seed %d: %d is in no part", seed, a)
			}
		}
	}
}
