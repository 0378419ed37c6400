package join

import (
	"fmt"

	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/boundary"
)

// Deal implements [fold.Dealt]. Joins that have heard of the same events have the same newest ones. How far each has
// come it was told when that mattered to it, so that they know differently: the furthest counts. What is due by that in
// another one goes when the graph that goes on is at rest.
func (j *Join) Deal(states []fold.State, mine func(key boundary.Value) bool, _ bool) (fold.State, error) {
	made := New(j.p)
	for _, s := range states {
		h := s.(*handle)
		made.mark = max(made.mark, h.mark)
		for side := range h.most {
			made.most[side] = max(made.most[side], h.most[side])
		}
	}
	keys := map[boundary.Key]bool{} // most have several rows
	for _, s := range states {
		h := s.(*handle)
		for i := range h.pages {
			for _, e := range h.pages[i].rows {
				if e.gone {
					continue
				}
				own, known := keys[e.key]
				if !known {
					own = mine(e.key.Value())
					keys[e.key] = own
				}
				if own {
					made.keep(made.group(e.key), &e)
				}
			}
		}
	}
	if made.rows > j.p.MaxRows || made.bytes > j.p.MaxBytes {
		return nil, fmt.Errorf("%w: %d events with %d bytes wait for partners, and it may have %d with %d",
			fold.ErrTooMany, made.rows, made.bytes, j.p.MaxRows, j.p.MaxBytes)
	}
	return made.State(), nil
}
