package folding

import (
	"fmt"

	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/boundary"
)

// Deal implements [fold.Dealt]. How lately a key was used is told within the fold that has used it: of two folds the
// keys take turns, as if their events had.
func (f *Folding) Deal(states []fold.State, mine func(key boundary.Value) bool, first bool) (fold.State, error) {
	made := newFolding(f.p)
	gone := int64(0)
	for _, s := range states {
		h := s.(*handle)
		made.events, gone = max(made.events, h.events), gone+h.gone
		t := table{branches: h.branches}
		for i := range h.n {
			if c := *t.at(i); mine(c.key) {
				c.gen = nil
				made.cells.add(&c, made.gen)
			}
		}
	}
	if first {
		made.gone = gone
	}
	if f.p.keys > 0 && made.cells.n > f.p.maxKeys {
		return nil, fmt.Errorf("%w: %d keys of %d that max_keys says", fold.ErrTooMany, made.cells.n, f.p.maxKeys)
	}
	return made.State(), nil
}
