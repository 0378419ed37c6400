package life

import (
	"context"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
)

// Gaps asks a new source of an accumulator where it could go on, and what it would leave out (M44).
func (r *Run) Gaps(ctx context.Context, i int, from []boundary.Position) (
	to []boundary.Position, gaps []accumulator.Gap, err error) {
	source, err := r.Source(i)
	if err != nil {
		return nil, nil, err
	}
	if s, ok := source.(accumulator.Skipper); ok {
		return s.Skip(ctx, from)
	}
	gaps = make([]accumulator.Gap, len(from)) // it begins anew with what there is
	for i, pos := range from {
		gaps[i] = accumulator.Gap{From: pos, Reason: "replaced"}
	}
	return nil, gaps, nil
}
