package window

import (
	"time"

	"github.com/graphd/graphd/internal/boundary"
)

// Quiet brings the watermark up to engine time, less the lateness: no event has come for so long
// that nobody is waited for (M26). It reports whether anything was handed over or forgotten.
func (w *Window) Quiet(now time.Time, out []boundary.Boundary) ([]boundary.Boundary, bool) {
	at, ok := w.QuietDue()
	if !ok || now.Before(at) || !w.wm.To(now.UnixNano()-int64(w.p.Lateness)) {
		return out, false
	}
	return w.advance(out), true
}

// QuietDue is when the next window is complete if no event comes any more.
func (w *Window) QuietDue() (time.Time, bool) {
	if !w.p.timed || w.closed == len(w.instances) {
		return time.Time{}, false
	}
	return time.Unix(0, w.instances[w.closed].end+int64(w.p.Lateness)).UTC(), true
}

// OpenUntil implements [fold.Watching].
func (w *Window) OpenUntil() (time.Time, bool) {
	if w.closed == len(w.instances) {
		return time.Time{}, false
	}
	return time.Unix(0, w.instances[w.closed].end).UTC(), true
}
