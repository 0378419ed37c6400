package accumulator

import (
	"time"

	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/timeline"
)

// Dater reads the times that events declare, ahead of their being folded. It belongs to one
// goroutine, which need not be the Core's.
type Dater struct{ in *intake }

// Dated is what a Dater has found of an event, for [Core.Dated].
type Dated struct {
	// At is the event's own time, in nanoseconds since 1970, if Timed.
	At    int64
	Timed bool
	// Lent says that its value was lent: it is not to be kept.
	Lent bool
}

// NewDater makes a Dater of p's events.
func NewDater(p *Program, lim Limits) *Dater {
	if lim.MaxEventBytes <= 0 {
		lim.MaxEventBytes = p.maxEventBytes
	}
	in := newIntake(p, lim)
	in.lasting = true
	return &Dater{in: in}
}

// Lends reports whether values may be lent: the accumulator looks at them and lets them go.
func (d *Dater) Lends() bool { return d.in.p.lends }

// Spoils says that tests look for who keeps what was lent.
func (d *Dater) Spoils() bool { return d.in.p.spoils }

// Date is ev's own time; ok is false when the declaration has no `time`. It leaves the decoded
// value in ev, so that folding the event does not decode it again; where [Dater.Lends], and a loan is
// given, the value is lent from that. An event without a time that can be used is bad: it is for
// [Core.AddBad].
func (d *Dater) Date(ev *boundary.Event, loan *boundary.Loan) (at time.Time, ok bool, bad *BadEvent) {
	if d.in.loan = nil; d.in.p.lends {
		d.in.loan = loan
	}
	return d.in.time(ev)
}

// Own is v with memory of its own, where it was lent from a loan.
func (d *Dater) Own(v boundary.Value) boundary.Value { return d.in.decoder().Own(v) }

// Dated says what a Dater has found of ev, which must be the next event that is added: it is not found again.
func (c *Core) Dated(ev *boundary.Event, d Dated) { c.in.dated, c.in.of = d, ev }

// happened is when an event has happened that rows are looked up as of, or that changes one: at its own
// time, which is none that is still to come; where it has none, when it arrived.
func (c *Core) happened(now time.Time, ev *boundary.Event) time.Time {
	if c.in.of != ev {
		_, _, _ = c.EventTime(ev) // of one that cannot be read, folding it says so
	}
	at := fold.Arrival(now, ev)
	if c.in.of == ev {
		if at = now; c.in.dated.At != timeline.Never {
			at = time.Unix(0, c.in.dated.At).UTC()
		}
	}
	if at.After(now) {
		return now
	}
	return at
}

// EventTime is ev's own time; ok is false when the declaration has no `time`. An error is
// a [*BadEvent] for [Core.AddBad]. It leaves the decoded value in ev for Add to use, which
// may be lent until the next event is looked at: ev must be the next that is added.
func (c *Core) EventTime(ev *boundary.Event) (at time.Time, ok bool, err error) {
	at, ok, bad := c.in.time(ev)
	switch {
	case bad != nil:
		return at, false, bad
	case ok:
		c.Dated(ev, Dated{At: at.UnixNano(), Timed: true})
	}
	return at, ok, nil
}

// Quiet completes what is due at now by the event clock alone: no event has come for so long that
// engine time goes on without them, and the watermark with it.
func (c *Core) Quiet(now time.Time) {
	w, ok := c.fold.(fold.Watching)
	if !ok {
		return
	}
	n := len(c.out)
	var moved bool
	if c.out, moved = w.Quiet(now, c.out); moved {
		c.folded(now, n)
		c.changed = true
	}
}

// QuietDue is when Quiet would have something to do; false for never.
func (c *Core) QuietDue() (time.Time, bool) {
	if w, ok := c.fold.(fold.Watching); ok {
		return w.QuietDue()
	}
	return time.Time{}, false
}

// OpenUntil is the end of what the fold holds open, where that has one: of a window the earliest.
// Nothing of before it comes any more once it is complete.
func (c *Core) OpenUntil() (time.Time, bool) {
	if w, ok := c.fold.(fold.Watching); ok {
		return w.OpenUntil()
	}
	return time.Time{}, false
}

// LastDue is when time completes the last of what is open now, if no event comes any more; false where it completes
// nothing of it. What holds back what is behind, at a time, counts too.
func (c *Core) LastDue(behind time.Time) (time.Time, bool) {
	if f, ok := c.fold.(fold.Lasting); ok {
		return f.LastDue(behind)
	}
	return time.Time{}, false
}

// DrainPart moves what is complete into h, without a mark, which the next Drain gives. It is
// false, and h unchanged, when nothing is.
func (c *Core) DrainPart(h *Handoff) bool {
	n := len(c.out)
	var handed []boundary.Boundary
	if c.hands != nil {
		handed = c.hands.Hand(nil)
	}
	if n+len(c.letters)+len(c.late)+len(handed) == 0 {
		return false
	}
	h.Boundaries, c.out = c.out[:n:n], c.out[n:]
	if c.hands != nil {
		h.Boundaries = handed
	}
	h.DeadLetters, c.letters = c.letters, nil
	h.Late, h.Heard, c.late, c.heard = c.late, c.heard, nil, nil
	h.Mark, h.Refused = Mark{}, c.refused.Batch()
	return true
}

// FlushesWithEpochs reports whether [Core.EpochKept] has anything to do.
func (c *Core) FlushesWithEpochs() bool { return c.p.FlushesWithEpochs() }

// FlushesWithEpochs reports whether [Core.EpochKept] has anything to do.
func (p *Program) FlushesWithEpochs() bool { return p.folds != nil && p.folds.WithEpochs }

// EpochKept tells the Core that an epoch was kept: a batch that is flushed with epochs is
// complete now, unless it is empty.
func (c *Core) EpochKept(now time.Time) {
	if c.p.FlushesWithEpochs() && c.fold.Open() > 0 {
		c.EndOfInput(now)
	}
}
