package generator

import (
	"github.com/graphd/graphd/internal/accumulator/pump/reader"
	"github.com/graphd/graphd/internal/boundary"
)

var _ reader.Ordered = (*Source)(nil)

// Behind implements [reader.Ordered]: a position is the number of the next event.
func (s *Source) Behind(a, b boundary.Position) (behind, known bool) {
	return a.Offset < b.Offset, true
}
