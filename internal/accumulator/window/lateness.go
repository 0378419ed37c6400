package window

import (
	"time"

	"github.com/graphd/graphd/internal/accumulator/fold"
)

// late says what becomes of a late event.
func (w *timely) late(in *fold.Input) fold.Verdict {
	w.noteLate(in.Number, in.Facts.At)
	switch w.p.Late {
	case "side":
		return fold.Aside
	case "dead_letter":
		in.Bad = &fold.BadEvent{Stage: "window", Code: "late_event", Text: "the windows of " +
			time.Unix(0, in.Facts.At).UTC().Format(time.RFC3339Nano) + " have closed"}
		return fold.Refused
	}
	return fold.Dropped
}

// Lateness implements [fold.Dropping].
func (w *timely) Lateness() (l fold.Lateness, ok bool) {
	return w.lateness, w.lateness.Events > 0 && w.p.Late != "side" && w.p.Late != "dead_letter"
}

// noteLate takes note of a late event.
func (w *timely) noteLate(number, at int64) {
	l := &w.lateness
	p := w.wm.Slowest()
	behind := func(at time.Time) time.Duration { return l.MoverAt.Sub(at) }
	if l.Events++; p != nil && (l.Events == 1 || p.Max-at > int64(behind(l.WorstAt))) {
		l.Worst, l.WorstAt = number, time.Unix(0, at).UTC()
		l.Mover, l.MoverAt = p.Mover, time.Unix(0, p.Max).UTC()
	}
}
