package window

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/graphd/graphd/internal/accumulator/aggregate"
	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/accumulator/window/grid"
	"github.com/graphd/graphd/internal/accumulator/window/pane"
	"github.com/graphd/graphd/internal/accumulator/window/watermark"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
)

// What may be open at once: windows, and panes in all of them. Times may be anything, and
// each new one opens a window.
const (
	MaxWindows = 10_000
	MaxPanes   = 4 << 20
)

// Window folds events into panes by window and key, and hands the aggregates over when the
// watermark says that a window is complete (M3).
type Window struct {
	timely
	grid      grid.Grid
	instances []*instance // by number, which is the order of their ends
	closed    int         // how many of them have been handed over: the first ones
	panes     int         // in all of them

	last    *instance   // of the last event
	updates []*instance // scratch
}

// instance is one window.
type instance struct {
	number     int64 // on the grid
	start, end int64
	pane.Table
}

// New makes an empty window on the grid.
func New(p *Program) *Window {
	return &Window{timely: newTimely(p), grid: grid.New(p.Size, p.Every, p.zone)}
}

// Add implements [fold.Folder].
func (w *Window) Add(now time.Time, in *fold.Input, out []boundary.Boundary) ([]boundary.Boundary, fold.Verdict) {
	f, engine := in.Facts, now.UnixNano()
	if text := w.p.calls.Check(f.Args); text != "" {
		in.Bad = &fold.BadEvent{Stage: stage, Code: expression.CodeTypeError, Text: text}
		return out, fold.Refused
	}
	if !w.p.timed {
		f.At = engine
		if w.astray {
			out = w.setBack(engine, out)
		}
		if w.wm.To(engine - int64(w.p.Lateness)) {
			out = w.advance(out)
		}
	}
	newest := w.grid.Latest(f.At)
	if _, end := w.grid.Window(newest); end <= w.kept() {
		return out, w.late(in)
	}
	hash := w.hash(f)
	if !w.room(newest, hash, f) {
		in.Bad = &fold.BadEvent{Stage: "window", Code: "window_full", Text: fmt.Sprintf(
			"more than %d windows or %d groups would be open; are the times right?", MaxWindows, MaxPanes)}
		return out, fold.Refused
	}
	w.updates = w.updates[:0]
	for n := newest; ; n-- {
		start, end := w.grid.Window(n)
		if end <= f.At || end <= w.kept() {
			break
		}
		if start == end {
			continue // the clock was set forward over it
		}
		p := w.instance(n, start, end)
		w.fold(p, hash, f, in.Event, in.At.UnixNano(), n == newest)
		if end <= w.wm.Mark {
			w.updates = append(w.updates, p)
		}
	}
	for _, p := range slices.Backward(w.updates) {
		out = w.update(p, hash, f.Key, out)
	}
	if w.p.Early > 0 && w.earlyAt == watermark.NoTime {
		w.earlyAt = engine + int64(w.p.Early)
	}
	if w.p.timed && !w.p.follows && w.wm.Saw(in.Event.Pos.Stream, f.At, engine, in.Number) {
		out = w.advance(out)
	}
	return out, fold.Folded
}

// room reports whether the event fits the bounds. Near them it looks closely.
func (w *Window) room(newest int64, hash uint64, f *fold.Facts) bool {
	overlap := int(w.p.Size/w.p.Every) + 1
	if len(w.instances)+overlap <= MaxWindows && w.panes+overlap <= MaxPanes {
		return true
	}
	instances, panes := len(w.instances), w.panes
	for n := newest; ; n-- {
		start, end := w.grid.Window(n)
		if end <= f.At || end <= w.kept() {
			break
		}
		i, found := w.search(n)
		switch {
		case start == end:
		case !found:
			instances++
			panes++
		case w.instances[i].Find(hash, f.Key) < 0:
			panes++
		}
	}
	return (instances == len(w.instances) || instances <= MaxWindows) && (panes == w.panes || panes <= MaxPanes)
}

func (w *Window) search(number int64) (int, bool) {
	return slices.BinarySearchFunc(w.instances, number, func(p *instance, n int64) int {
		switch {
		case p.number < n:
			return -1
		case p.number > n:
			return 1
		}
		return 0
	})
}

// instance is window n, opened when it is not there.
func (w *Window) instance(n, start, end int64) *instance {
	if w.last != nil && w.last.number == n {
		return w.last
	}
	i, found := w.search(n)
	if !found {
		w.instances = slices.Insert(w.instances, i, &instance{number: n, start: start, end: end})
		if end <= w.wm.Mark {
			w.closed++ // it would have been handed over, had there been anything in it
		}
	}
	w.last = w.instances[i]
	return w.last
}

// fold takes the event into its pane of a window. The event is accounted for by the last
// window that contains it.
func (w *Window) fold(p *instance, hash uint64, f *fold.Facts, ev *boundary.Event, arrived int64, accounts bool) {
	var g *pane.Pane
	if i := p.Find(hash, f.Key); i >= 0 {
		g = p.Own(i, w.gen)
	} else {
		g = &pane.Pane{Gen: w.gen, Hash: hash, Key: f.Key.Compact(), First: ev.Pos, At: arrived}
		g.Cells = make([]aggregate.Cell, w.p.calls.Len())
		p.Add(g, w.gen)
		w.panes++
	}
	if accounts {
		g.Owes++
		w.owed++
	}
	g.At, g.Last, g.Dirty = max(g.At, arrived), ev.Pos, w.p.Early > 0
	g.Links = g.Links.Join(ev.Links)
	w.p.calls.Add(g.Cells, f.At, f.Args)
}

// advance hands over the windows that are complete, and forgets those that nothing can
// change any more.
func (w *Window) advance(out []boundary.Boundary) []boundary.Boundary {
	for w.closed < len(w.instances) && w.instances[w.closed].end <= w.wm.Mark {
		p := w.instances[w.closed]
		w.closed++
		out = w.emit(p, moodFinal, p.Sorted(), out)
	}
	kept, gone := w.kept(), 0
	for gone < w.closed && w.instances[gone].end <= kept {
		w.panes -= w.instances[gone].Len()
		gone++
	}
	if gone > 0 {
		w.instances, w.closed, w.last = slices.Delete(w.instances, 0, gone), w.closed-gone, nil
	}
	return out
}

// update hands over again what an event has changed in a window that was complete.
func (w *Window) update(p *instance, hash uint64, key boundary.Value, out []boundary.Boundary) []boundary.Boundary {
	if w.p.Groups == "all" {
		return w.emit(p, moodUpdate, p.Sorted(), out)
	}
	return w.emit(p, moodUpdate, []*pane.Pane{p.At(p.Find(hash, key))}, out)
}

// early hands over the panes of open windows that have changed since.
func (w *Window) early(out []boundary.Boundary) []boundary.Boundary {
	w.earlyAt = watermark.NoTime
	for _, p := range w.instances[w.closed:] {
		panes := p.Sorted()
		changed := slices.ContainsFunc(panes, func(g *pane.Pane) bool { return g.Dirty })
		if w.p.Groups != "all" {
			panes = slices.DeleteFunc(panes, func(g *pane.Pane) bool { return !g.Dirty })
		}
		if changed {
			out = w.emit(p, moodEarly, panes, out)
		}
	}
	return out
}

// Due implements [fold.Folder].
func (w *Window) Due() (time.Time, bool) {
	at, ok := w.dueBesides()
	sooner := func(t int64) {
		if !ok || t < at {
			at, ok = t, true
		}
	}
	if !w.p.timed {
		if w.closed < len(w.instances) {
			sooner(w.instances[w.closed].end + int64(w.p.Lateness))
		}
		if w.closed > 0 {
			sooner(w.instances[0].end + int64(w.p.Lateness) + int64(w.p.Retain))
		}
	}
	if !ok {
		return time.Time{}, false
	}
	return time.Unix(0, at).UTC(), true
}

// Tick implements [fold.Folder].
func (w *Window) Tick(now time.Time, out []boundary.Boundary) []boundary.Boundary {
	return w.tick(now, w, out)
}

// End hands over all that is open: no event comes any more.
func (w *Window) End(out []boundary.Boundary) []boundary.Boundary {
	if len(w.instances) > 0 && w.wm.To(math.MaxInt64) {
		out = w.advance(out)
	}
	return out
}
