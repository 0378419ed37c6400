package boundary

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/graphd/graphd/internal/boundary/rawjson"
)

// Shape is an ordered set of field names. It is immutable and safe for concurrent
// use. Values of one shape are fast to read through it: make a shape once, when a
// graph is compiled, and share it.
type Shape struct {
	names  []string
	quoted []string       // each name as JSON writes it, with the colon
	sorted []int          // the indexes in the order of the names
	index  map[string]int // nil for small shapes, where comparing each name is faster
}

// smallShape is up to how many names a look-up compares one by one.
const smallShape = 8

// NewShape makes a shape of names, in that order. A name given twice is a fault of
// the program and panics.
func NewShape(names ...string) *Shape {
	s := &Shape{names: slices.Clone(names), quoted: make([]string, len(names)), sorted: make([]int, len(names))}
	for i, name := range s.names {
		s.sorted[i] = i
		s.quoted[i] = string(append(rawjson.AppendString(nil, name), ':'))
	}
	slices.SortFunc(s.sorted, func(a, b int) int { return cmp.Compare(s.names[a], s.names[b]) })
	for i := 1; i < len(s.sorted); i++ {
		if name := s.names[s.sorted[i]]; name == s.names[s.sorted[i-1]] {
			panic(fmt.Sprintf("boundary: a shape names the field %q twice", name))
		}
	}
	if len(names) > smallShape {
		s.index = make(map[string]int, len(names))
		for i, name := range s.names {
			s.index[name] = i
		}
	}
	return s
}

// Len is the number of names.
func (s *Shape) Len() int { return len(s.names) }

// Name is the i-th name.
func (s *Shape) Name(i int) string { return s.names[i] }

// Slot is the index of name, and false when the shape has no such name.
func (s *Shape) Slot(name string) (int, bool) {
	if s.index != nil {
		i, ok := s.index[name]
		return i, ok
	}
	for i, n := range s.names {
		if n == name {
			return i, true
		}
	}
	return 0, false
}
