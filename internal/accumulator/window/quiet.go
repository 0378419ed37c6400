package window

import (
	"time"

	"github.com/graphd/graphd/internal/boundary"
)

// Quiet brings the watermark up to engine time, less the lateness: no event has come for so long
// that nobody is waited for (M26). It reports whether anything was handed over or forgotten.
func (w *Window) Quiet(now time.Time, out []boundary.Boundary) ([]boundary.Boundary, bool) {
	return w.quiet(now, w, out)
}

// QuietDue is when the next window is complete if no event comes any more.
func (w *Window) QuietDue() (time.Time, bool) { return w.quietDue(w) }

// OpenUntil implements [fold.Watching].
func (w *Window) OpenUntil() (time.Time, bool) { return openUntil(w) }

// LastDue implements [fold.Lasting].
func (w *Window) LastDue(time.Time) (at time.Time, ok bool) {
	if w.closed == len(w.instances) {
		return at, false
	}
	return time.Unix(0, w.instances[len(w.instances)-1].end+int64(w.p.Lateness)).UTC(), true
}

func (w *Window) nextEnd() (int64, bool) {
	if w.closed == len(w.instances) {
		return 0, false
	}
	return w.instances[w.closed].end, true
}

// quiet has the watermark come to where it is when no event comes any more, if something is complete then.
func (w *timely) quiet(now time.Time, all open, out []boundary.Boundary) ([]boundary.Boundary, bool) {
	at, ok := w.quietDue(all)
	if !ok || now.Before(at) || !w.wm.To(now.UnixNano()-int64(w.p.Lateness)) {
		return out, false
	}
	return all.advance(out), true
}

func (w *timely) quietDue(all open) (time.Time, bool) {
	end, ok := all.nextEnd()
	if !w.p.timed || !ok {
		return time.Time{}, false
	}
	return time.Unix(0, end+int64(w.p.Lateness)).UTC(), true
}

func openUntil(all open) (time.Time, bool) {
	end, ok := all.nextEnd()
	if !ok {
		return time.Time{}, false
	}
	return time.Unix(0, end).UTC(), true
}
