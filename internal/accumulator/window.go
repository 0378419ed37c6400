package accumulator

import (
	"hash/maphash"
	"math"
	"slices"
	"time"

	"github.com/graphd/graphd/internal/accumulator/aggregate"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
)

// What may be open at once. Times may be anything, and each new one opens a window.
const (
	maxWindows = 10_000
	maxGroups  = 4 << 20
)

// window folds events into groups by window and key, and hands the aggregates over when the
// watermark says that a window is complete (M3).
type window struct {
	p    *windowProgram
	grid grid
	seed maphash.Seed // of the index, and seen nowhere else
	env  expression.Env

	gen    uint64 // what newer generations own no snapshot holds, see groups
	wm     watermark
	panes  []*pane // by number, which is the order of their ends
	closed int     // how many of them have been handed over: the first ones
	groups int     // in all of them
	owed   int64   // events that no boundary accounts for yet
	// earlyAt is when changed groups are handed over next, in engine time; 0: nothing has changed.
	earlyAt int64

	last     *pane // of the last event
	failures []failure
	updates  []*pane // scratch
}

// pane is one window.
type pane struct {
	number     int64 // on the grid
	start, end int64
	groups
}

func newWindow(p *windowProgram) *window {
	return &window{
		p: p, grid: newGrid(p.Size, p.Every, p.zone), seed: maphash.MakeSeed(), gen: 1,
		wm: newWatermark(p.Lateness, p.Idle),
	}
}

func (w *window) add(now time.Time, in *input, out []boundary.Boundary) ([]boundary.Boundary, verdict) {
	f, engine := in.facts, now.UnixNano()
	if !w.p.timed {
		f.at = engine
		if w.wm.to(engine - int64(w.p.Lateness)) {
			out = w.advance(out)
		}
	}
	newest := w.grid.latest(f.at)
	if _, end := w.grid.window(newest); end <= w.kept() {
		return out, verdictLate
	}
	hash := uint64(0)
	if len(w.p.keys) > 0 {
		hash = hashKey(w.seed, f.key)
	}
	if !w.room(newest, hash, f) {
		return out, verdictFull
	}
	w.updates = w.updates[:0]
	for n := newest; ; n-- {
		start, end := w.grid.window(n)
		if end <= f.at || end <= w.kept() {
			break
		}
		if start == end {
			continue // the clock was set forward over it
		}
		p := w.pane(n, start, end)
		w.fold(p, hash, f, in.ev, arrival(now, in.ev).UnixNano(), n == newest)
		if end <= w.wm.mark {
			w.updates = append(w.updates, p)
		}
	}
	for _, p := range slices.Backward(w.updates) {
		out = w.update(p, hash, f.key, out)
	}
	if w.p.Early > 0 && w.earlyAt == 0 {
		w.earlyAt = engine + int64(w.p.Early)
	}
	if w.p.timed && w.wm.saw(in.ev.Pos.Stream, f.at, engine) {
		out = w.advance(out)
	}
	return out, verdictFolded
}

// kept is the time before which windows are gone: those that end then or earlier.
func (w *window) kept() int64 {
	if w.p.Late != "update" || w.wm.mark == noTime {
		return w.wm.mark
	}
	return w.wm.mark - int64(w.p.Retain)
}

// room reports whether the event fits the bounds. Near them it looks closely.
func (w *window) room(newest int64, hash uint64, f *facts) bool {
	overlap := int(w.p.Size/w.p.Every) + 1
	if len(w.panes)+overlap <= maxWindows && w.groups+overlap <= maxGroups {
		return true
	}
	panes, groups := len(w.panes), w.groups
	for n := newest; ; n-- {
		start, end := w.grid.window(n)
		if end <= f.at || end <= w.kept() {
			break
		}
		i, found := w.search(n)
		switch {
		case start == end:
		case !found:
			panes++
			groups++
		case w.panes[i].find(hash, f.key) < 0:
			groups++
		}
	}
	return (panes == len(w.panes) || panes <= maxWindows) && (groups == w.groups || groups <= maxGroups)
}

func (w *window) search(number int64) (int, bool) {
	return slices.BinarySearchFunc(w.panes, number, func(p *pane, n int64) int {
		switch {
		case p.number < n:
			return -1
		case p.number > n:
			return 1
		}
		return 0
	})
}

// pane is window n, opened when it is not there.
func (w *window) pane(n, start, end int64) *pane {
	if w.last != nil && w.last.number == n {
		return w.last
	}
	i, found := w.search(n)
	if !found {
		w.panes = slices.Insert(w.panes, i, &pane{number: n, start: start, end: end})
		if end <= w.wm.mark {
			w.closed++ // it would have been handed over, had there been anything in it
		}
	}
	w.last = w.panes[i]
	return w.last
}

// fold takes the event into its group of a window. The event is accounted for by the last
// window that contains it.
func (w *window) fold(p *pane, hash uint64, f *facts, ev *boundary.Event, arrived int64, accounts bool) {
	var g *group
	if i := p.find(hash, f.key); i >= 0 {
		g = p.own(i, w.gen)
	} else {
		g = &group{gen: w.gen, hash: hash, key: f.key.Compact(), first: ev.Pos, cells: make([]aggregate.Cell, w.p.calls.Len())}
		p.add(g, w.gen)
		w.groups++
	}
	if accounts {
		g.owes++
		w.owed++
	}
	g.at, g.last, g.dirty = arrived, ev.Pos, w.p.Early > 0
	w.p.calls.Add(g.cells, f.at, f.args)
}

// advance hands over the windows that are complete, and forgets those that nothing can
// change any more.
func (w *window) advance(out []boundary.Boundary) []boundary.Boundary {
	for w.closed < len(w.panes) && w.panes[w.closed].end <= w.wm.mark {
		p := w.panes[w.closed]
		w.closed++
		out = w.emit(p, moodFinal, p.sorted(), out)
	}
	kept, gone := w.kept(), 0
	for gone < w.closed && w.panes[gone].end <= kept {
		w.groups -= w.panes[gone].n
		gone++
	}
	if gone > 0 {
		w.panes, w.closed, w.last = slices.Delete(w.panes, 0, gone), w.closed-gone, nil
	}
	return out
}

// update hands over again what an event has changed in a window that was complete.
func (w *window) update(p *pane, hash uint64, key boundary.Value, out []boundary.Boundary) []boundary.Boundary {
	if w.p.Groups == "all" {
		return w.emit(p, moodUpdate, p.sorted(), out)
	}
	return w.emit(p, moodUpdate, []*group{p.at(p.find(hash, key))}, out)
}

// early hands over the groups of open windows that have changed since.
func (w *window) early(out []boundary.Boundary) []boundary.Boundary {
	w.earlyAt = 0
	for _, p := range w.panes[w.closed:] {
		groups := p.sorted()
		changed := slices.ContainsFunc(groups, func(g *group) bool { return g.dirty })
		if w.p.Groups != "all" {
			groups = slices.DeleteFunc(groups, func(g *group) bool { return !g.dirty })
		}
		if changed {
			out = w.emit(p, moodEarly, groups, out)
		}
	}
	return out
}

func (w *window) due() (time.Time, bool) {
	at, ok := w.wm.due()
	sooner := func(t int64) {
		if !ok || t < at {
			at, ok = t, true
		}
	}
	if w.earlyAt != 0 {
		sooner(w.earlyAt)
	}
	if !w.p.timed {
		if w.closed < len(w.panes) {
			sooner(w.panes[w.closed].end + int64(w.p.Lateness))
		}
		if w.closed > 0 {
			sooner(w.panes[0].end + int64(w.p.Lateness) + int64(w.p.Retain))
		}
	}
	return time.Unix(0, at).UTC(), ok
}

func (w *window) tick(now time.Time, out []boundary.Boundary) []boundary.Boundary {
	engine := now.UnixNano()
	moved := w.wm.tick(engine)
	if !w.p.timed {
		moved = w.wm.to(engine - int64(w.p.Lateness))
	}
	if moved {
		out = w.advance(out)
	}
	if w.earlyAt != 0 && engine >= w.earlyAt {
		out = w.early(out)
	}
	return out
}

// end hands over all that is open: no event comes any more.
func (w *window) end(out []boundary.Boundary) []boundary.Boundary {
	if len(w.panes) > 0 && w.wm.to(math.MaxInt64) {
		out = w.advance(out)
	}
	return out
}

func (w *window) open() int64 { return w.owed }

// partition makes a stream of the source known before its first event: it is waited for.
func (w *window) partition(stream string, now time.Time) {
	if w.p.timed {
		w.wm.part(stream, now.UnixNano())
	}
}
