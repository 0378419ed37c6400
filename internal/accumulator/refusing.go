package accumulator

import (
	"time"

	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/refused"
)

// lateEvent is the code of an event that a kind refuses since it is too late.
const lateEvent = "late_event"

// Refusals has what comes to nothing noted in l, and handed over with the rest.
func (c *Core) Refusals(l *refused.Log) { c.refused = l }

// noteFiltered notes an event that `where` has kept back.
func (c *Core) noteFiltered(now time.Time, ev *boundary.Event, v boundary.Value) {
	if !c.refused.Takes(refused.Where, 1, now) {
		return
	}
	e := refused.Entry{Reason: refused.Where, At: now, Input: c.p.name, Position: ev.Pos, Events: 1}
	if !v.IsAbsent() {
		e.Read("event", v)
	}
	c.refused.Put(e)
}

// noteLate notes an event that came too late for the fold.
func (c *Core) noteLate(now time.Time, ev *boundary.Event, said fold.Verdict) {
	if !c.refused.Takes(refused.Late, 1, now) {
		return
	}
	c.refused.Put(refused.Entry{Reason: refused.Late, At: now, Input: c.p.name, Position: ev.Pos, Events: 1,
		Code:   [...]string{fold.Dropped: "drop", fold.Aside: "side", fold.Refused: "dead_letter"}[said],
		Detail: c.lateBy(time.Unix(0, c.folding.Facts.At).UTC())})
}

// noteLateSide notes an event of a side that came too late for the join.
func (c *Core) noteLateSide(now time.Time, b *boundary.Boundary) {
	if c.refused.Takes(refused.Late, max(1, b.Events), now) {
		c.refused.Put(refused.Entry{Reason: refused.Late, At: now, Input: c.p.name, Key: b.Key, Position: b.Last,
			Events: max(1, b.Events), Detail: c.lateBy(b.At)})
	}
}

// lateBy says by how much an event of the time at is late.
func (c *Core) lateBy(at time.Time) string {
	text := "its time is " + at.Format(time.RFC3339Nano)
	f, ok := c.fold.(fold.Timing)
	if !ok {
		return text
	}
	w, ok := f.Watermark()
	if !ok {
		return text
	}
	text += ", and the watermark was at " + w.At.Format(time.RFC3339Nano) + ", " + w.At.Sub(at).String() + " later"
	if w.HeldBy != "" {
		text += ", by " + w.HeldBy
	}
	return text
}
