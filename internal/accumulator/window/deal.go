package window

import (
	"cmp"
	"slices"

	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/boundary"
)

// Deal implements [fold.Dealt]. Windows that have heard of the same events stand at one watermark but for what is
// silent and for arrival time, which each sees for itself: the furthest counts, if no window ends in between.
func (w *Window) Deal(states []fold.State, mine func(key boundary.Value) bool, _ bool) (fold.State, error) {
	made := New(w.p)
	for _, s := range states {
		h := s.(*handle)
		made.wm.join(&h.wm)
		if h.earlyAt != noTime && (made.earlyAt == noTime || h.earlyAt < made.earlyAt) {
			made.earlyAt = h.earlyAt
		}
		made.astray = made.astray || h.astray
	}
	for _, s := range states {
		h := s.(*handle)
		for k := range h.instances {
			old := &h.instances[k]
			if (k < h.closed) != (old.end <= made.wm.mark) {
				return nil, fold.ErrNotInStep
			}
			made.adopt(old, mine)
		}
	}
	if made.panes > MaxPanes || len(made.instances) > MaxWindows {
		return nil, fold.ErrForeign
	}
	return made.State(), nil
}

// adopt takes in the panes of a window that are of this one's keys.
func (w *Window) adopt(old *instanceHandle, mine func(key boundary.Value) bool) {
	var in *instance
	for i := range old.n {
		g := old.pages[i/pagePanes].panes[i%pagePanes]
		if !mine(g.key) {
			continue
		}
		if in == nil {
			in = w.instance(old.number, old.start, old.end)
		}
		c := *g
		c.gen, c.hash = nil, hashKey(w.seed, g.key)
		in.add(&c, w.gen)
		w.panes++
		w.owed += g.owes
	}
}

// join takes in how far another watermark over the same events has come.
func (w *watermark) join(o *watermark) {
	w.mark = max(w.mark, o.mark)
	for _, p := range o.parts {
		i := slices.IndexFunc(w.parts, func(q partition) bool { return q.name == p.name })
		if i < 0 {
			w.parts = append(w.parts, partition{name: p.name, max: p.max, since: p.since, idle: p.idle})
			continue
		}
		q := &w.parts[i]
		q.max, q.since, q.idle = max(q.max, p.max), max(q.since, p.since), q.idle && p.idle
	}
	slices.SortFunc(w.parts, func(a, b partition) int { return cmp.Compare(a.name, b.name) })
	w.last = -1
}
