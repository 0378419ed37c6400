package reactor

import (
	"time"

	"github.com/graphd/graphd/internal/boundary"
)

// Cause says why an epoch ran.
type Cause uint8

// The causes of an epoch.
const (
	CauseCriteria Cause = iota
	CauseForce
	CauseWith
	causeCount
)

func (c Cause) String() string { return [causeCount]string{"criteria", "force", "with"}[c] }

// cut is what one epoch takes. It is filled, used and cleared within one call.
type cut struct {
	take     []*boundary.Boundary // per input; nil: the cached value is read again
	seqs     []uint64             // admission sequence of what was taken from a queue, 0 otherwise
	values   []boundary.Value
	versions []uint64
	heads    bool // a sequential head is among what was taken
}

func (t *cut) init(n int) {
	t.take = make([]*boundary.Boundary, n)
	t.seqs = make([]uint64, n)
	t.values = make([]boundary.Value, n)
	t.versions = make([]uint64, n)
}

func (t *cut) reset() {
	clear(t.take)
	clear(t.seqs)
	t.heads = false
}

// Fire runs at most one epoch, if the criteria hold, and reports whether anything
// changed: an epoch ran, or a false guard consumed a cut. Call it until it answers
// false, with Released handed on in between.
func (c *Core) Fire(now time.Time) bool {
	c.advance(now)
	if !c.mayFire() {
		return false
	}
	for c.pick() {
		changed := c.fire()
		if c.cfg.Keys != nil {
			c.schedule(c.cell)
		}
		if changed {
			c.logFire()
			return true
		}
	}
	return false
}

// pick makes the key that is to fire the one at hand, and fills its cut.
func (c *Core) pick() bool {
	if c.cfg.Keys != nil {
		return c.next() && c.fillCut()
	}
	if c.cell.waits || c.cfg.RateLimit > 0 && c.now.Before(c.nextStart()) {
		return false
	}
	return c.fillCut()
}

// fire runs the epoch of the cut, unless the guard is against it. It reports whether
// anything changed.
func (c *Core) fire() bool {
	if c.cfg.Guard && !c.passGuard() {
		return !c.cell.waits
	}
	c.run(CauseCriteria)
	if c.paused && c.steps > 0 {
		c.steps--
	}
	return true
}

// mayFire says whether the graph's state lets the criteria be evaluated at all.
func (c *Core) mayFire() bool {
	return c.life.firing() && (!c.paused || c.steps > 0) || c.journal.replay != nil
}

// nextStart is when the rate limit lets the key at hand fire again.
func (c *Core) nextStart() time.Time {
	if c.cell.started == 0 {
		return time.Time{}
	}
	return time.Unix(0, c.cell.started).UTC().Add(c.cfg.RateLimit)
}

// Due is when Tick and Fire should be called again although nothing new arrives: the
// trailing fire of a rate limit (M8), the end of warming, or the end of a key. ok is false
// when there is no such time.
func (c *Core) Due() (at time.Time, ok bool) {
	at, ok = c.life.due()
	if !ok {
		at, ok = c.FireDue()
	}
	if ttl, has := c.ttlDue(); has && (!ok || ttl.Before(at)) {
		return ttl, true
	}
	return at, ok
}

// FireDue is when Fire has to be called again for the trailing fire of a rate limit.
func (c *Core) FireDue() (at time.Time, ok bool) {
	if c.cfg.RateLimit <= 0 || !c.mayFire() {
		return time.Time{}, false
	}
	if c.cfg.Keys != nil {
		a := &c.keys.agenda
		if len(a.ready) > 0 {
			return c.now, true
		}
		if len(a.delayed) > 0 {
			return time.Unix(0, a.delayed[0].rank).UTC(), true
		}
		return time.Time{}, false
	}
	if c.cell.waits || !c.wants() {
		return time.Time{}, false
	}
	return c.nextStart(), true
}

// wants reports whether the criteria hold now, whatever the rate limit says.
func (c *Core) wants() bool {
	if c.cfg.Keys != nil {
		return !c.keys.agenda.empty()
	}
	ok := c.fillCut()
	c.cut.reset()
	return ok
}

// fillCut applies the criteria (M8, M9) and fills the cut when they hold.
func (c *Core) fillCut() bool {
	c.cut.reset()
	if c.cfg.All {
		if !c.allReady() {
			return false
		}
		for i := range c.cfg.Inputs {
			c.takeFrom(i)
		}
		return true
	}
	// when any: one boundary in admission order over all sequential inputs; every latest
	// input gives its newest; the other sequential inputs keep their cached value.
	first, seq, newer := -1, uint64(0), false
	for i := range c.cfg.Inputs {
		in, s := &c.cfg.Inputs[i], c.slot(i)
		if in.Sequential {
			if s.queue.len() > 0 && (first < 0 || s.queue.at(0).seq < seq) {
				first, seq = i, s.queue.at(0).seq
			}
		} else if in.Triggers && s.pend != nil {
			newer = true
		}
	}
	if first < 0 && !newer {
		return false
	}
	for i := range c.cfg.Inputs {
		if !c.cfg.Inputs[i].Sequential || i == first {
			c.takeFrom(i)
		}
	}
	return true
}

// allReady is the criterion of `when all`: with a sequential input among the triggering
// ones it is a zip, in which a latest input repeats once it has arrived.
func (c *Core) allReady() bool {
	any := false
	for i := range c.cfg.Inputs {
		if !c.cfg.Inputs[i].Triggers {
			continue
		}
		any = true
		if !c.ready(c.cell, i) {
			return false
		}
	}
	return any
}

func (c *Core) ready(k *cell, i int) bool {
	s := c.slotOf(k, i)
	if c.cfg.Inputs[i].Sequential {
		return s.queue.len() > 0
	}
	if c.zip {
		return s.arrived()
	}
	return s.pend != nil
}

// takeFrom marks what input i has to give: the newest, or the head of its queue.
func (c *Core) takeFrom(i int) {
	s := c.slot(i)
	if c.cfg.Inputs[i].Sequential {
		if s.queue.len() > 0 {
			head := s.queue.at(0)
			c.cut.take[i], c.cut.seqs[i], c.cut.heads = head.b, head.seq, true
		}
		return
	}
	c.cut.take[i] = s.pend
}

// snapshot lays out the values and versions that the plan reads: what the cut takes, over
// what is cached. Versions of what is taken come after every stamp given out so far.
func (c *Core) snapshot() {
	t := &c.cut
	for i := range t.take {
		s := c.slot(i)
		if b := t.take[i]; b != nil {
			t.values[i], t.versions[i] = b.Value, c.stamp+1
		} else {
			t.values[i], t.versions[i] = s.cur, s.version
		}
	}
}

// passGuard evaluates the guard on the snapshot the cut would take (M8). False consumes
// the cut without an epoch: its events count as filtered, latest values stay in the cache.
func (c *Core) passGuard() bool {
	c.snapshot()
	c.prepare(c.epoch + 1)
	ok, waiting, err := c.cfg.Plan.GuardHolds(&c.cell.nodes, &c.ep)
	switch {
	case ok:
		return true
	case err != nil:
		// A guard that cannot be evaluated fails the epoch it stood before, visibly.
		c.fail(CauseCriteria, "guard", err.Code, "guard: "+err.Text)
	case waiting && c.cut.heads:
		c.cell.waits = true
		if c.cell != c.shared {
			c.keys.waiting[c.cell] = struct{}{}
		}
		c.cut.reset()
	default:
		c.consume(false, func(i int, b *boundary.Boundary) {
			c.accs[i].filtered += b.Events
			c.setCurrent(i, b)
		})
		c.stamp++
	}
	return false
}

// consume takes what the cut marked out of queues and dirty flags, each once, and clears
// the cut. kept says that its epoch was. What all keys share is not one key's to lose: it
// stays marked until an epoch that reads it is kept.
func (c *Core) consume(kept bool, each func(i int, b *boundary.Boundary)) {
	for i, b := range c.cut.take {
		if b == nil || !kept && c.isShared(i) {
			continue
		}
		if c.cfg.Inputs[i].Sequential {
			c.pop(c.cell, i)
		} else {
			c.lower(c.cell, i)
		}
		c.touch(c.cell, i)
		each(i, b)
	}
	c.cut.reset()
}

// setCurrent makes a taken boundary the input's cached value.
func (c *Core) setCurrent(i int, b *boundary.Boundary) {
	s := c.slot(i)
	s.cur, s.version, s.at = b.Value, c.stamp+1, b.Last
	if c.cell != c.shared && !c.isShared(i) {
		c.loosen(c.cell, b.Size)
	}
}
