package aggregate

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"sort"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
)

// Up to how many different values count_distinct counts: where nothing is said, and what can be asked for, which is
// some 20 MB for each group.
const (
	DefaultCounted = 100_000
	MaxCounted     = 1_000_000
)

// fingerprint is what a value is told from others by: half of its SHA-256, so that nobody can make two values of one.
type fingerprint [16]byte

func fingerprintOf(v boundary.Value) fingerprint {
	var room [64]byte
	sum := sha256.Sum256(appendText(room[:0], v))
	return fingerprint(sum[:])
}

// leafSize is how many fingerprints a leaf has at most. A new value costs a copy of one.
const leafSize = 32

// different is what count_distinct keeps: the fingerprints of the values in their order, in leaves of some. A leaf is
// never written to, so that copies share them.
type different struct {
	leaves [][]fingerprint // none is empty
	n      int
	over   bool // there were more than could be counted; then there are no leaves
}

func (s *Cell) different() *different {
	if s.ext == nil {
		s.ext = &different{}
	}
	return s.ext.(*different)
}

func (d *different) add(p fingerprint, limit int) {
	if d.over {
		return
	}
	if d.n == 0 {
		d.leaves, d.n = [][]fingerprint{{p}}, 1
		return
	}
	k := max(sort.Search(len(d.leaves), func(i int) bool { return compare(d.leaves[i][0], p) > 0 })-1, 0)
	leaf := d.leaves[k]
	i, found := slices.BinarySearchFunc(leaf, p, compare)
	if found {
		return
	}
	if d.n == limit {
		*d = different{over: true}
		return
	}
	d.n++
	leaf = slices.Concat(leaf[:i], []fingerprint{p}, leaf[i:])
	if len(leaf) <= leafSize {
		d.leaves[k] = leaf
		return
	}
	half := len(leaf) / 2
	d.leaves[k] = leaf[:half:half]
	d.leaves = slices.Insert(d.leaves, k+1, leaf[half:])
}

func compare(a, b fingerprint) int { return bytes.Compare(a[:], b[:]) }

func (d *different) join(o *different, limit int) {
	if o.over {
		*d = different{over: true}
	}
	for _, leaf := range o.leaves {
		for _, p := range leaf {
			d.add(p, limit)
		}
	}
}

// counted is how many there are, or says that they are too many.
func (d *different) counted(limit int) (boundary.Value, error) {
	if d.over {
		return boundary.Value{}, &expression.EvalError{Code: expression.CodeLimitExceeded, Text: fmt.Sprintf(
			"count_distinct: there are more than %d different values; let its second argument be larger, up to %d, "+
				"or take distinct, which estimates", limit, MaxCounted)}
	}
	return boundary.Int(int64(d.n)), nil
}

func (d *different) clone() extra {
	return &different{leaves: slices.Clone(d.leaves), n: d.n, over: d.over}
}

// weight: a leaf that was split has the room of two, half of which the other has.
func (d *different) weight(bool) int64 {
	return 64 + boundary.OnHeap(cap(d.leaves)*24) + int64(d.n)*18
}

func (d *different) append(dst []byte) []byte {
	if d.over {
		return append(dst, 1)
	}
	dst = binary.AppendUvarint(append(dst, 0), uint64(d.n))
	for _, leaf := range d.leaves {
		for i := range leaf {
			dst = append(dst, leaf[i][:]...)
		}
	}
	return dst
}

func decodeDifferent(b []byte) (*different, error) {
	if len(b) == 1 && b[0] == 1 {
		return &different{over: true}, nil
	}
	if len(b) == 0 || b[0] != 0 {
		return nil, errDamaged
	}
	n, k := binary.Uvarint(b[1:])
	if k <= 0 || n > MaxCounted || uint64(len(b)-1-k) != n*uint64(len(fingerprint{})) {
		return nil, errDamaged
	}
	all := make([]fingerprint, n)
	for i, rest := 0, b[1+k:]; i < len(all); i++ {
		rest = rest[copy(all[i][:], rest):]
		if i > 0 && compare(all[i-1], all[i]) >= 0 {
			return nil, errDamaged
		}
	}
	d := &different{n: len(all)}
	for leaf := range slices.Chunk(all, leafSize*3/4) {
		d.leaves = append(d.leaves, slices.Clone(leaf)) // of its own, so that no leaf keeps all of them
	}
	return d, nil
}
