package reactor

import (
	"strconv"
	"strings"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/reactor/form"
	"github.com/graphd/graphd/internal/sink"
)

// Admit takes one handoff of input i as a whole: its boundaries overwrite or queue
// (M9), its dead letters are kept, its mark becomes where the accumulator stands.
// conflated is how many events the inbox overwrote on the way.
func (c *Core) Admit(now time.Time, i int, h *accumulator.Handoff, conflated int64) {
	c.take(now, i, h, conflated)
	acc := &c.accs[i]
	acc.mark = h.Mark
	acc.restored, acc.parts.restored = nil, nil
}

// take takes in all of a handoff but its mark.
func (c *Core) take(now time.Time, i int, h *accumulator.Handoff, conflated int64) {
	c.advance(now)
	c.unlock()
	c.pass(i, h.Boundaries)
	c.logHeard(i, h.Heard)
	c.logAdmit(i, h, conflated)
	if c.cfg.Inputs[i].Table != nil {
		c.takeTable(i, h)
	}
	c.expire()
	if len(h.Heard) > 0 {
		c.join(c.stages.Takes(i), i, h.Boundaries, h.Heard)
	} else {
		c.admitTo(i, h.Boundaries)
	}
	if len(h.Late) > 0 {
		c.admitTo(c.input(c.cfg.Inputs[i].LateTo), h.Late)
	}
	for k := range h.DeadLetters {
		c.keepDeadLetter(h.DeadLetters[k])
	}
	c.accs[i].conflated += conflated
	if c.nothing != nil {
		c.joinRefused(h)
		c.refuseInbox(i, conflated)
	}
	c.changes.accs[i] = true
}

// admitTo takes boundaries into the input that they go to.
func (c *Core) admitTo(i int, bs []boundary.Boundary) {
	switch {
	case i < 0: // replayed into a graph that no longer has it
	case c.stages.Takes(i) != nil:
		c.join(c.stages.Takes(i), i, bs, nil)
	case c.cfg.Keys != nil && !c.isShared(i):
		c.admitKeyed(i, bs)
	default:
		c.admitShared(i, bs)
	}
}

// admitShared takes boundaries of an input that has one value for the whole graph.
func (c *Core) admitShared(i int, bs []boundary.Boundary) {
	if len(bs) == 0 {
		return
	}
	first := !c.has(c.shared, i)
	for n := range bs {
		c.admitted++
		c.lineUp(c.shared, i, &bs[n])
	}
	c.ending.admits(i, c.admitted)
	c.shared.waits = false
	c.changes.slots[i] = true
	if first && len(c.keys.waiting) > 0 {
		c.wakeAll()
	}
}

// admitKeyed takes boundaries that each belong to a key.
func (c *Core) admitKeyed(i int, bs []boundary.Boundary) {
	for n := range bs {
		b := &bs[n]
		c.admitted++
		if b.Key == "" {
			c.deadLetter(i, b, "key", "key_missing", "the boundary came without a key", 0)
			continue
		}
		k := c.arrive(b.Key)
		c.lineUp(k, i, b)
		c.changes.touch(k)
		if k.on != offAgenda && !c.timed {
			c.boundZips(k)
			if c.cfg.Guard && c.queueing {
				c.enlist(k)
			}
			continue // what completed its criteria came before
		}
		if k.waits {
			k.waits = false
			delete(c.keys.waiting, k)
		}
		if c.schedule(k); k.on == offAgenda && !c.cfg.Inputs[i].queues() {
			c.loosen(k, b)
		}
	}
	c.boundBytes()
}

// lineUp lets a boundary, admitted last, wait for a cut as the input's strategy says (M9).
func (c *Core) lineUp(k *cell, i int, b *boundary.Boundary) {
	switch in := &c.cfg.Inputs[i]; {
	case in.bounded():
		c.push(k, i, queued{b: b, seq: c.admitted, since: c.admitted, at: form.Nano(c.now)})
	case in.Group != 0:
		c.pushGrouped(k, i, queued{b: b, seq: c.admitted, since: c.admitted, at: form.Nano(c.now)})
	default:
		c.overwrite(k, i, b, c.admitted)
	}
	c.arrived(k, i)
}

// keepDeadLetter gives a dead letter its id and keeps it for the next seal.
func (c *Core) keepDeadLetter(l checkpoint.DeadLetter) {
	c.letterNo++
	if of, tried, ok := strings.Cut(l.ReplayOf, originMark); ok {
		n, _ := strconv.ParseInt(tried, 10, 64) // what cannot be read counts as none
		l.ReplayOf, l.Attempts = of, n+1
	}
	c.countReason(&l)
	if l.At.IsZero() || c.cfg.EventClock {
		l.At = c.housekeeping()
	}
	l.ID = checkpoint.LetterID(c.cfg.ID.Shard, l.At, c.cfg.Incarnation, c.letterNo)
	c.deadLetters = append(c.deadLetters, l)
}

// originMark stands in an event's origin between the letter that it is replayed from and how often that has failed.
const originMark = "#"

// Origin is the origin of events that are replayed from a letter.
func Origin(l *checkpoint.DeadLetter) string {
	return l.ID + originMark + strconv.FormatInt(max(1, l.Attempts), 10)
}

// maxReasons bounds the codes that are counted apart, for a sink may make its own.
const maxReasons = 32

// countReason counts a letter's events under its code.
func (c *Core) countReason(l *checkpoint.DeadLetter) {
	i := c.input(l.Accumulator)
	if i < 0 || l.Events == 0 {
		return
	}
	a := &c.accs[i]
	if a.reasons == nil {
		a.reasons = make(map[string]int64)
	}
	code := l.Code
	if _, known := a.reasons[code]; !known && len(a.reasons) >= maxReasons {
		code = "other"
	}
	a.reasons[code] += l.Events
}

// deadLetter turns a boundary that an epoch could not use into a dead letter (M5).
func (c *Core) deadLetter(i int, b *boundary.Boundary, stage, code, reason string, epoch int64) {
	c.accs[i].dead += b.Events
	l := checkpoint.DeadLetter{
		At: c.housekeeping(), Accumulator: c.cfg.Inputs[i].Name, Stage: stage, Code: code, Reason: reason,
		Epoch: epoch, Key: string(b.Key), Events: b.Events, Position: span(b), ReplayOf: b.Origin,
	}
	if b.Raw != nil && b.Events == 1 {
		l.Payload = b.Raw
	} else {
		l.Payload, l.Folded = b.Value.AppendJSON(nil), true
	}
	c.keepDeadLetter(l)
}

// DeadLetterMessage keeps an output that its sink refused for good. The events behind it were
// consumed by its epoch, so the dead letter accounts for none.
func (c *Core) DeadLetterMessage(m *sink.Message, code, reason string) {
	l := checkpoint.DeadLetter{
		Stage: "sink", Code: code, Reason: "output " + m.Output + ": " + reason, Epoch: m.Epoch,
		Key: string(m.Key), Payload: m.Value.AppendJSON(nil), Folded: true,
		Output: m.Output, FiringID: m.FiringID(), Message: encodeRefused(m), Attempts: 1,
	}
	if m.Again != nil {
		l.ReplayOf, l.Attempts = m.Again.Letter, m.Again.Attempts+1
	}
	c.keepDeadLetter(l)
	c.refused[m.To]++
	m.Settle(code, reason)
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
