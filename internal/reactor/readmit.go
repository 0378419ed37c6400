package reactor

import (
	"fmt"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/accumulator/stage"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/reactor/form"
)

// What a replay admits was admitted under a declaration that may have been another: to another join, or under another
// key. Then it is left, and does not come to mean something else.

// leave takes out what was admitted to another join than the one that takes input i now, or to none: its key is of
// something else, and so may its time be (see [Core.leaveSides]). What was admitted to a join where none takes it now
// has a key that is none of the graph's; in a graph without keys it is what the input hands over.
func (r *Replayer) leave(i int, h *accumulator.Handoff) (left []boundary.Boundary) {
	c := r.c
	was, is := r.joins[c.cfg.Inputs[i].Name], c.joinOf(i)
	if r.plan == c.cfg.PlanHash || was == is || is == "" && c.ownsShared(i) {
		return nil
	}
	left, h.Boundaries, h.Heard = h.Boundaries, nil, nil
	return left
}

// rekeyed takes out what was admitted under another key than input i has now: it is left, as what a checkpoint has
// waiting in keys that mean something else is. What had no key then, or was noted by a release that did not say under
// which, is taken as it is.
func (r *Replayer) rekeyed(i int, bs *[]boundary.Boundary) (foreign []boundary.Boundary) {
	in := &r.c.cfg.Inputs[i]
	was := r.keys[in.Name]
	if r.plan == r.c.cfg.PlanHash || r.c.ownsShared(i) || r.c.Joined(i) || was == "" || was == in.Key {
		return nil
	}
	foreign, *bs = *bs, nil
	return foreign
}

// goesOn reports whether a join is the one that the entries at hand are of, and goes by their clock.
func (r *Replayer) goesOn(join *stage.Stage) bool {
	side := r.c.cfg.Inputs[join.Rests[0]].Name
	return !r.foreign() && r.joins[side] == r.c.cfg.Inputs[join.Input].Identity
}

// readKeys reads what [Core.logKeys] has noted.
func (r *Replayer) readKeys(data []byte) error {
	in := form.Reader{Rest: data}
	for len(in.Rest) > 0 && in.Err == nil {
		name := in.Text()
		r.keys[name] = in.Text()
	}
	if in.Err != nil {
		return fmt.Errorf("%w: the identities of keys: %w", ErrCorrupt, in.Err)
	}
	return nil
}
