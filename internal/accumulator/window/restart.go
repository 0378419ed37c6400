package window

import (
	"time"

	"github.com/graphd/graphd/internal/accumulator/window/watermark"
	"github.com/graphd/graphd/internal/boundary"
)

// maxAhead is how far the watermark of arrival time may be ahead of engine time after a restart:
// further ahead it comes from a clock that was wrong. It is what engine time itself is held to.
const maxAhead = time.Hour

// Restarted is what becomes of what is timed when the state of before is gone on from at engine
// time now, after a time in which nobody listened (M26, M28). Under virtual time there is none such.
//
// A silence counts anew, for nobody could have been heard meanwhile; a partition that was idle
// is so until its next event. What is due stays due when it was, at once where that has passed, and
// is put off by no more than `early`. A watermark of arrival time that is far ahead is a wrong
// clock's, see [Window.setBack].
func (w *timely) Restarted(now time.Time) {
	engine := now.UnixNano()
	for i := range w.wm.Parts {
		w.wm.Parts[i].Since = engine
	}
	if w.earlyAt != watermark.NoTime {
		w.earlyAt = min(w.earlyAt, engine+int64(w.p.Early))
	}
	w.astray = !w.p.timed && w.wm.Mark > engine-int64(w.p.Lateness)+int64(maxAhead)
}

// Unheard implements [fold.Hearing]. What is short against a silence is not counted: between two such there was time
// to hear of somebody, and a stream that gives nothing is not to be waited for for ever.
func (w *timely) Unheard(d time.Duration) bool {
	if w.wm.Silence == 0 || d < time.Duration(w.wm.Silence)/10 {
		return false
	}
	for i := range w.wm.Parts {
		if p := &w.wm.Parts[i]; p.Since != watermark.NoTime {
			p.Since += int64(d)
		}
	}
	return true
}

// setBack brings the watermark of arrival time back to engine time, from one that a wrong clock
// had brought it to: everything would be late until then. Windows that have not begun by engine time
// hold what arrived under that clock: they are handed over, for their time will not come for
// long. Those that were handed over before their end are forgotten, and begin again with what arrives.
func (w *Window) setBack(engine int64, out []boundary.Boundary) []boundary.Boundary {
	w.astray = false
	for _, p := range w.instances[w.closed:] {
		if p.start > engine {
			out = w.emit(p, moodFinal, p.Sorted(), out)
		}
	}
	w.wm.Mark = engine - int64(w.p.Lateness)
	number, kept := w.closed, w.instances[:0:0]
	w.closed = 0
	for i, p := range w.instances {
		closed := i < number
		if closed && p.end > w.wm.Mark || !closed && p.start > engine {
			w.panes -= p.Len()
			continue
		}
		if closed {
			w.closed++
		}
		kept = append(kept, p)
	}
	w.instances, w.last = kept, nil
	return w.advance(out)
}
