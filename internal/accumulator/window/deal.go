package window

import (
	"fmt"

	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/accumulator/window/pane"
	"github.com/graphd/graphd/internal/accumulator/window/watermark"
	"github.com/graphd/graphd/internal/boundary"
)

// Deal implements [fold.Dealt]. Windows that have heard of the same events stand at one watermark but for what is
// silent and for arrival time, which each sees for itself: the furthest counts, if no window ends in between.
func (w *Window) Deal(states []fold.State, mine func(key boundary.Value) bool, _ bool) (fold.State, error) {
	made := New(w.p)
	for _, s := range states {
		h := s.(*handle)
		made.wm.Join(&h.wm)
		if h.earlyAt != watermark.NoTime && (made.earlyAt == watermark.NoTime || h.earlyAt < made.earlyAt) {
			made.earlyAt = h.earlyAt
		}
		made.astray = made.astray || h.astray
	}
	for _, s := range states {
		h := s.(*handle)
		for k := range h.instances {
			old := &h.instances[k]
			if (k < h.closed) != (old.end <= made.wm.Mark) {
				return nil, fold.ErrNotInStep
			}
			made.adopt(old, mine)
		}
	}
	if made.panes > MaxPanes || len(made.instances) > MaxWindows {
		return nil, fmt.Errorf("%w: %d groups in %d windows, and it may have %d in %d", fold.ErrTooMany, made.panes,
			len(made.instances), MaxPanes, MaxWindows)
	}
	return made.State(), nil
}

// adopt takes in the panes of a window that are of this one's keys.
func (w *Window) adopt(old *instanceHandle, mine func(key boundary.Value) bool) {
	var in *instance
	for i := range old.n {
		g := old.pages[i/pane.PerPage].Panes[i%pane.PerPage]
		if !mine(g.Key) {
			continue
		}
		if in == nil {
			in = w.instance(old.number, old.start, old.end)
		}
		c := *g
		c.Gen, c.Hash = nil, pane.Hash(w.seed, g.Key)
		in.Add(&c, w.gen)
		w.panes++
		w.owed += g.Owes
	}
}
