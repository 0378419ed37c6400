package window

import (
	"cmp"
	"time"

	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/accumulator/window/pane"
	"github.com/graphd/graphd/internal/boundary"
)

// A window may be one of several that each take the events of some keys. Its watermark is that of all events, so
// of the others it is told: of each that completes something, and before its next own event of the newest.

// Vouches implements [fold.Vouching].
func (w *timely) Vouches(f *fold.Facts) bool {
	return w.p.timed && !w.p.follows && w.p.calls.Check(f.Args) == ""
}

// Elsewhere implements [fold.Vouching].
func (w *Window) Elsewhere(now time.Time, stream string, at, number int64,
	out []boundary.Boundary) []boundary.Boundary {
	if _, end := w.grid.Window(w.grid.Latest(at)); end <= w.kept() {
		return out // it came too late there, and says nothing of the time
	}
	if w.wm.Saw(stream, at, now.UnixNano(), number) {
		return w.advance(out)
	}
	return out
}

// Until implements [fold.Vouching].
func (w *Window) Until(at int64) int64 {
	mark := at - int64(w.p.Lateness)
	next := w.grid.NextEnd(mark)
	if w.p.Late == "update" {
		retain := int64(w.p.Retain)
		next = min(next, w.grid.NextEnd(mark-retain)+retain)
	}
	return next + int64(w.p.Lateness)
}

// Order implements [fold.Ordering]: by when the windows end, and then by the key.
func (w *timely) Order(a, b boundary.Value) int {
	return cmp.Or(endOf(a).Compare(endOf(b)), pane.Order(a.Field("key"), b.Field("key")))
}

// endOf is when the window of a boundary ends, or of a dead letter, which has it as a text.
func endOf(v boundary.Value) time.Time {
	end := v.Field("end")
	if s, ok := end.AsString(); ok {
		at, _ := boundary.ParseTime(s, nil) // ours, and so it can be read
		return at
	}
	at, _ := end.AsTime()
	return at
}
