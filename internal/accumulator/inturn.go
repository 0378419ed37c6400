package accumulator

import (
	"time"

	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/boundary"
)

// Dater reads the times that events declare, ahead of their being folded. It belongs to one
// goroutine, which need not be the Core's.
type Dater struct{ in *intake }

// NewDater makes a Dater of p's events.
func NewDater(p *Program, lim Limits) *Dater {
	if lim.MaxEventBytes <= 0 {
		lim.MaxEventBytes = p.maxEventBytes
	}
	in := newIntake(p, lim)
	in.lasting = true
	return &Dater{in: in}
}

// Date is ev's own time; ok is false when the declaration has no `time`. It leaves the decoded
// value in ev, so that folding the event does not decode it again. An event without a
// time that can be used is bad: it is for [Core.AddBad].
func (d *Dater) Date(ev *boundary.Event) (at time.Time, ok bool, bad *BadEvent) { return d.in.time(ev) }

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

// DrainPart moves what is complete into h, without a mark, which the next Drain gives. It is
// false, and h unchanged, when nothing is.
func (c *Core) DrainPart(h *Handoff) bool {
	n := len(c.out)
	if n+len(c.letters)+len(c.late) == 0 {
		return false
	}
	h.Boundaries, c.out = c.out[:n:n], c.out[n:]
	h.DeadLetters, c.letters = c.letters, nil
	h.Late, c.late = c.late, nil
	h.Mark = Mark{}
	return true
}

// FlushesWithEpochs reports whether [Core.EpochKept] has anything to do.
func (c *Core) FlushesWithEpochs() bool { return c.p.FlushesWithEpochs() }
