package keytable

import (
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/graphd/graphd/internal/boundary"
)

type cell struct{ key boundary.Key }

func (c *cell) TableKey() boundary.Key { return c.key }

// M13: the table of keys is a map, whatever comes and goes, also where hashes meet.
func TestKeyTable(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 1))
		table, want := New[*cell](), map[boundary.Key]*cell{}
		for range 20_000 {
			key := boundary.Key(strconv.Itoa(rng.IntN(1 + 1000*int(seed))))
			k := want[key]
			if got := table.Get(key); got != k {
				t.Fatalf("seed %d: %s is %p, want %p", seed, key, got, k)
			}
			switch {
			case k == nil:
				k = &cell{key: key}
				table.Put(k)
				want[key] = k
			case rng.IntN(2) == 0:
				table.Remove(key)
				delete(want, key)
			}
		}
		n := 0
		for k := range table.All() {
			if want[k.key] != k {
				t.Fatalf("seed %d: %s is there", seed, k.key)
			}
			n++
		}
		if n != len(want) || table.Len() != n {
			t.Errorf("seed %d: %d keys, counted %d, want %d", seed, n, table.Len(), len(want))
		}
	}
}

// One part, whose homes are few: what stands behind its home is found when a key before it has gone.
func TestKeyTableGaps(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	table := New[*cell]()
	var keys []boundary.Key
	for i := 0; len(keys) < 300; i++ {
		key := boundary.Key(strconv.Itoa(i))
		if p, _ := table.part(key); p == &table.parts[7] {
			keys = append(keys, key)
		}
	}
	there := map[boundary.Key]bool{}
	for range 50_000 {
		key := keys[rng.IntN(len(keys))]
		if there[key] = !there[key]; there[key] {
			table.Put(&cell{key: key})
		} else {
			table.Remove(key)
		}
		probe := keys[rng.IntN(len(keys))]
		if got := table.Get(probe) != nil; got != there[probe] {
			t.Fatalf("%s is there: %v, want %v", probe, got, there[probe])
		}
	}
}
