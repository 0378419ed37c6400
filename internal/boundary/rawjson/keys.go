package rawjson

import (
	"hash/maphash"
	"strconv"
)

// Key reads the field name at i and its colon, and refuses a name that the
// innermost object has already had.
func (sc *Scanner) Key(i int) (name string, at int) {
	if i >= len(sc.s) || sc.s[i] != '"' {
		return "", sc.Unexpected(i, "a field's name in double quotes")
	}
	end := sc.Text(i)
	if end < 0 {
		return "", -1
	}
	name = sc.s[i+1 : end-1]
	if sc.escape > i {
		name = Unescape(name)
	}
	if !sc.Add(name, i) {
		return "", sc.Fail(CodeDuplicateKey, i, "the object already has a field "+strconv.Quote(name))
	}
	return name, sc.colon(end)
}

// fewKeys is up to how many keys are compared one by one.
const fewKeys = 16

// Keys are the names that the innermost object has had, as long as it is open, and
// whether they ascend.
func (sc *Scanner) Keys() (names []string, sorted bool) {
	f := sc.top()
	return sc.keys[f.keys:], f.sorted
}

// Add notes a key, read at i, of the innermost object; false when it is there already.
func (sc *Scanner) Add(name string, i int) bool {
	f := sc.top()
	keys := sc.keys[f.keys:]
	switch n := len(keys); {
	case n == 0 || f.sorted && keys[n-1] < name:
		// Greater than the greatest: it cannot have come before.
	case n <= fewKeys:
		f.sorted, sc.loose = false, i
		for _, k := range keys {
			if k == name {
				return false
			}
		}
	default:
		f.sorted, sc.loose = false, i
		t := sc.table(len(sc.frames) - 1)
		if f.indexed == 0 {
			t.clear()
		}
		for ; f.indexed < n; f.indexed++ {
			t.add(keys, f.indexed)
		}
		if t.has(keys, name) {
			return false
		}
	}
	sc.keys = append(sc.keys, name)
	return true
}

// table is the key table for objects at a depth.
func (sc *Scanner) table(depth int) *keyTable {
	for len(sc.tables) <= depth {
		sc.tables = append(sc.tables, keyTable{})
	}
	return &sc.tables[depth]
}

// keyTable is a set of keys, as indexes into a slice of them: an open hash table that
// is cleared by counting up. The hash is seeded, so that nobody can choose keys that collide.
type keyTable struct {
	seed  maphash.Seed
	cells []uint64 // round<<32 | index; a power of two of them, at most half used
	round uint64
	used  int
}

func (t *keyTable) clear() {
	if t.cells == nil {
		t.seed = maphash.MakeSeed()
		t.cells = make([]uint64, 4*fewKeys)
	}
	if t.round++; t.round == 1<<32 {
		clear(t.cells)
		t.round = 1
	}
	t.used = 0
}

// add adds keys[i], which is not in the set.
func (t *keyTable) add(keys []string, i int) {
	if 2*t.used >= len(t.cells) {
		t.grow(keys, i)
	}
	t.put(keys[i], i)
	t.used++
}

func (t *keyTable) put(key string, i int) {
	mask := uint64(len(t.cells) - 1)
	h := maphash.String(t.seed, key) & mask
	for t.cells[h]>>32 == t.round {
		h = (h + 1) & mask
	}
	t.cells[h] = t.round<<32 | uint64(i)
}

// grow makes room; the set holds the first n keys.
func (t *keyTable) grow(keys []string, n int) {
	t.cells = make([]uint64, 2*len(t.cells))
	for i, key := range keys[:n] {
		t.put(key, i)
	}
}

func (t *keyTable) has(keys []string, key string) bool {
	mask := uint64(len(t.cells) - 1)
	for h := maphash.String(t.seed, key) & mask; t.cells[h]>>32 == t.round; h = (h + 1) & mask {
		if keys[uint32(t.cells[h])] == key {
			return true
		}
	}
	return false
}
