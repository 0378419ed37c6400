package window

import "time"

// Lateness is what a window has found late since it was made or restored, and why: events
// are numbered as they were received, from 1.
type Lateness struct {
	Events int64
	// Worst is the event that came furthest behind the watermark, and its time.
	Worst   int64
	WorstAt time.Time
	// Mover is the event by which the watermark went then, and its time: one that is far
	// ahead of all others makes them late. It is 0 when that was before a restart, and for
	// windows without times of their own.
	Mover   int64
	MoverAt time.Time
}

// Lateness is what was late so far.
func (w *Window) Lateness() Lateness { return w.late }

// noteLate takes note of a late event.
func (w *Window) noteLate(number, at int64) {
	l := &w.late
	p := w.wm.slowest()
	behind := func(at time.Time) time.Duration { return l.MoverAt.Sub(at) }
	if l.Events++; p != nil && (l.Events == 1 || p.max-at > int64(behind(l.WorstAt))) {
		l.Worst, l.WorstAt = number, time.Unix(0, at).UTC()
		l.Mover, l.MoverAt = p.mover, time.Unix(0, p.max).UTC()
	}
}
