package reactor

import (
	"slices"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
)

// Most events of most graphs meet a core in which nothing else waits, and fire at once: the boundary would be queued,
// found, cut and taken out of its queue again within one call after the other. Through does the same without the queue.

// noInput stands for no input.
const noInput = -1

// isShort says that a boundary which triggers fires in this graph as soon as it is admitted, where nothing waits: no
// timer delays it, and nothing else is to come first.
func (c *Core) isShort() bool {
	return c.isPlain() && !c.cfg.Journal && c.calls == nil && (c.cfg.Keys == nil || c.cfg.Keys.TTL <= 0) &&
		!slices.ContainsFunc(c.cfg.Inputs, func(in Input) bool { return in.Table != nil })
}

// Short says that nothing of the graph goes by timers and [Core.Through] may have a use.
func (c *Core) Short() bool { return c.short }

// Through is [Core.Admit] of a handoff of one boundary, and then [Core.Fire] until it answers false, where nothing
// waits that could fire before it. done is false, and nothing has been done, where that is not so. The boundary is the
// core's until Through returns; where it stays, until a cut takes it: see [Core.DrainFreed].
func (c *Core) Through(now time.Time, i int, b *boundary.Boundary, mark *accumulator.Mark) (done, stays bool) {
	if !c.goesThrough(i, b) {
		return false, false
	}
	c.advance(now)
	c.micro = 0
	a := &c.accs[i]
	a.mark, a.restored, a.parts.restored = *mark, nil, nil
	c.changes.accs[i] = true
	c.admitted++
	if c.cfg.Keys != nil {
		c.cell, c.completedBy = c.arrive(b.Key), c.admitted
	}
	if k := c.cell; k.waits { // for what it held was given up since
		k.waits = false
		delete(c.keys.waiting, k)
	}
	t, taken := &c.cut, c.taken
	t.take[i], t.through, t.heads = b, i, c.cfg.Inputs[i].Sequential
	changed := c.fire(CauseCriteria)
	if stays = a.waiting.boundaries > 0; stays && c.cfg.Keys != nil {
		c.schedule(c.cell)
	}
	if changed {
		c.count(taken)
	}
	return true, stays
}

// goesThrough says that boundary b of input i would be the next to fire, and that nothing would be left then.
func (c *Core) goesThrough(i int, b *boundary.Boundary) bool {
	if !c.short || !c.cfg.Inputs[i].Triggers || !c.life.firing() || c.paused || c.Livelocked() ||
		c.journal.replay != nil {
		return false
	}
	if keys := c.cfg.Keys; keys != nil {
		// Where a guard may have it wait it would be given up at once.
		tight := c.cfg.Guard && int64(b.Size)+waitingOverhead > keys.MaxWaitingBytes
		if b.Key == "" || tight {
			return false
		}
	}
	for k := range c.accs {
		if c.accs[k].waiting.boundaries != 0 {
			return false
		}
	}
	return true
}

// stay has the boundary that was going through wait in its place after all: its cut is not to be taken.
func (c *Core) stay() {
	i := c.cut.through
	if i == noInput {
		return
	}
	c.lineUp(c.cell, i, c.cut.take[i])
	c.touch(c.cell, i)
}

// consumeThrough is consume of a cut that is one boundary which never waited.
func (c *Core) consumeThrough(each func(i int, b *boundary.Boundary)) {
	t := &c.cut
	i := t.through
	b := t.take[i]
	t.take[i], t.through, t.heads, t.back = nil, noInput, false, t.back[:0]
	c.taken++
	each(i, b)
	c.touch(c.cell, i)
}
