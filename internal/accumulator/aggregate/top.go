package aggregate

import (
	"encoding/binary"
	"slices"
	"sort"

	"github.com/graphd/graphd/internal/boundary"
)

// top is what top keeps: the values with the greatest marks, the greatest first and of equal ones the earliest.
type top struct {
	items, marks []boundary.Value
	times        []int64
}

func (s *Cell) addTop(v, by boundary.Value, at int64, limit int) {
	if by.IsNull() {
		return
	}
	s.n++
	t, _ := s.ext.(*top)
	if t == nil {
		t = &top{}
		s.ext = t
	}
	if i := t.place(by, at); i < limit {
		t.insert(i, v.Compact(), by.Compact(), at, limit)
	}
}

// place is where a value goes whose mark is by: behind those with the same mark that happened no later.
func (t *top) place(by boundary.Value, at int64) int {
	return sort.Search(len(t.marks), func(i int) bool {
		c := order(by, t.marks[i])
		return c > 0 || c == 0 && at < t.times[i]
	})
}

func (t *top) insert(i int, v, by boundary.Value, at int64, limit int) {
	if n := limit - 1; len(t.items) > n {
		t.items, t.marks, t.times = t.items[:n], t.marks[:n], t.times[:n]
	}
	t.items, t.marks, t.times = slices.Insert(t.items, i, v), slices.Insert(t.marks, i, by),
		slices.Insert(t.times, i, at)
}

func (s *Cell) topmost() boundary.Value {
	t, _ := s.ext.(*top)
	if t == nil {
		return boundary.List(nil)
	}
	return boundary.List(slices.Clone(t.items))
}

func (t *top) clone() extra {
	return &top{items: slices.Clone(t.items), marks: slices.Clone(t.marks), times: slices.Clone(t.times)}
}

func (t *top) weight(own bool) int64 {
	return 96 + boundary.OnHeap(cap(t.items)*24) + boundary.OnHeap(cap(t.marks)*24) +
		boundary.OnHeap(cap(t.times)*8) + heldBy(own, t.items...) + heldBy(own, t.marks...)
}

func (t *top) append(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(t.items)))
	for i := range t.items {
		dst = binary.AppendVarint(dst, t.times[i])
		dst = t.marks[i].AppendBinary(dst)
		dst = t.items[i].AppendBinary(dst)
	}
	return dst
}

func decodeTop(b []byte) (*top, error) {
	n, k := binary.Uvarint(b)
	if k <= 0 || n > MaxTop {
		return nil, errDamaged
	}
	b = b[k:]
	t := &top{}
	for range n {
		at, k := binary.Varint(b)
		if k <= 0 {
			return nil, errDamaged
		}
		by, rest, err := boundary.DecodeBinary(b[k:])
		if err != nil {
			return nil, err
		}
		if rank(by.Kind()) < 0 {
			return nil, errDamaged
		}
		v, rest, err := boundary.DecodeBinary(rest)
		if err != nil {
			return nil, err
		}
		t.items, t.marks, t.times, b = append(t.items, v), append(t.marks, by), append(t.times, at), rest
	}
	if len(b) > 0 {
		return nil, errDamaged
	}
	return t, nil
}
