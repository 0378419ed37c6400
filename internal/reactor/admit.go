package reactor

import (
	"fmt"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
)

// Admit takes one hand-over of input i as a whole: its boundaries overwrite or queue
// (M9), its dead letters are kept, its mark becomes where the accumulator stands.
// conflated is how many events the inbox overwrote on the way.
func (c *Core) Admit(now time.Time, i int, h *accumulator.Handover, conflated int64) {
	c.advance(now)
	in, acc := &c.cfg.Inputs[i], &c.accs[i]
	for k := range h.Boundaries {
		c.admitted++
		if in.Sequential {
			c.cell.slots[i].queue.push(queued{b: &h.Boundaries[k], seq: c.admitted})
			continue
		}
		c.overwrite(i, &h.Boundaries[k])
	}
	if len(h.Boundaries) > 0 {
		c.guardWaits = false
		c.changes.slots[i] = true
	}
	for k := range h.DeadLetters {
		c.keepLetter(h.DeadLetters[k])
	}
	acc.conflated += conflated
	acc.mark = h.Mark
	acc.restored = nil
	c.changes.accs[i] = true
}

// overwrite makes b the newest value of a latest input; what it replaces was conflated (M4).
func (c *Core) overwrite(i int, b *boundary.Boundary) {
	s := &c.cell.slots[i]
	if s.pend != nil {
		c.accs[i].conflated += s.pend.Events
	}
	s.pend = b
}

// keepLetter gives a dead letter its id and keeps it for the next seal.
func (c *Core) keepLetter(l checkpoint.DeadLetter) {
	c.letterNo++
	if l.At.IsZero() {
		l.At = c.now
	}
	// Sorts by time; the incarnation and the running number make it unique.
	l.ID = fmt.Sprintf("%012x-%x-%06x", l.At.UnixMilli(), c.cfg.Incarnation, c.letterNo)
	c.letters = append(c.letters, l)
}

// bury turns a boundary that an epoch could not use into a dead letter (M5).
func (c *Core) bury(i int, b *boundary.Boundary, stage, code, reason string, epoch int64) {
	c.accs[i].dead += b.Events
	l := checkpoint.DeadLetter{
		At: c.now, Accumulator: c.cfg.Inputs[i].Name, Stage: stage, Code: code, Reason: reason,
		Epoch: epoch, Key: string(b.Key), Events: b.Events, Position: span(b), ReplayOf: b.Origin,
	}
	if b.Raw != nil && b.Events == 1 {
		l.Payload = b.Raw
	} else {
		l.Payload, l.Folded = b.Value.AppendJSON(nil), true
	}
	c.keepLetter(l)
}

// BuryMessage keeps an output that its sink refused for good. The events behind it were
// consumed by its epoch, so the letter accounts for none.
func (c *Core) BuryMessage(m *Message, code, reason string) {
	c.keepLetter(checkpoint.DeadLetter{
		Stage: "sink", Code: code, Reason: "output " + m.Output + ": " + reason, Epoch: m.Epoch,
		Key: string(m.Key), Payload: m.Value.AppendJSON(nil), Folded: true,
	})
}

// span is the range of positions a boundary was folded from.
func span(b *boundary.Boundary) string {
	var zero boundary.Position
	switch {
	case b.Last == zero:
		return ""
	case b.First == b.Last || b.First == zero:
		return b.Last.String()
	}
	return b.First.String() + ".." + b.Last.String()
}
