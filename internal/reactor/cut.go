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
	if !c.mayFire() || c.guardWaits {
		return false
	}
	if c.cfg.RateLimit > 0 && c.now.Before(c.nextStart()) {
		return false
	}
	if !c.fillCut() {
		return false
	}
	if c.cfg.Guard && !c.passGuard() {
		return !c.guardWaits
	}
	c.run(CauseCriteria)
	if c.paused && c.steps > 0 {
		c.steps--
	}
	return true
}

// mayFire says whether the graph's state lets the criteria be evaluated at all.
func (c *Core) mayFire() bool {
	return c.life.firing() && (!c.paused || c.steps > 0)
}

func (c *Core) nextStart() time.Time {
	if c.lastStart.IsZero() {
		return time.Time{}
	}
	return c.lastStart.Add(c.cfg.RateLimit)
}

// Due is when Fire should be called again although nothing new arrives: the trailing
// fire of a rate limit (M8), or the end of warming. ok is false when there is no such time.
func (c *Core) Due() (at time.Time, ok bool) {
	if at, ok := c.life.due(); ok {
		return at, ok
	}
	if c.cfg.RateLimit <= 0 || !c.mayFire() || c.guardWaits || !c.wants() {
		return time.Time{}, false
	}
	return c.nextStart(), true
}

// wants reports whether the criteria hold now, whatever the rate limit says.
func (c *Core) wants() bool {
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
		in, s := &c.cfg.Inputs[i], &c.cell.slots[i]
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
	zip, any := false, false
	for i := range c.cfg.Inputs {
		zip = zip || c.cfg.Inputs[i].Sequential && c.cfg.Inputs[i].Triggers
	}
	for i := range c.cfg.Inputs {
		if !c.cfg.Inputs[i].Triggers {
			continue
		}
		any = true
		if !c.ready(i, zip) {
			return false
		}
	}
	return any
}

func (c *Core) ready(i int, zip bool) bool {
	s := &c.cell.slots[i]
	if c.cfg.Inputs[i].Sequential {
		return s.queue.len() > 0
	}
	if zip {
		return s.arrived()
	}
	return s.pend != nil
}

// takeFrom marks what input i has to give: the newest, or the head of its queue.
func (c *Core) takeFrom(i int) {
	s := &c.cell.slots[i]
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
	for i := range c.cell.slots {
		s := &c.cell.slots[i]
		if b := t.take[i]; b != nil {
			t.values[i], t.versions[i] = b.Value, c.cell.stamp+1
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
	ok, waiting, err := c.cfg.Plan.GuardHolds(c.cell.nodes, &c.ep)
	switch {
	case ok:
		return true
	case err != nil:
		// A guard that cannot be evaluated fails the epoch it stood before, visibly.
		c.fail(CauseCriteria, "guard", err.Code, "guard: "+err.Text)
	case waiting && c.cut.heads:
		c.guardWaits = true
		c.cut.reset()
	default:
		c.consume(func(i int, b *boundary.Boundary) {
			c.accs[i].filtered += b.Events
			c.setCurrent(i, b)
		})
		c.cell.stamp++
	}
	return false
}

// consume takes what the cut marked out of queues and dirty flags, each once, and clears the cut.
func (c *Core) consume(each func(i int, b *boundary.Boundary)) {
	for i, b := range c.cut.take {
		if b == nil {
			continue
		}
		s := &c.cell.slots[i]
		if c.cfg.Inputs[i].Sequential {
			s.queue.pop()
			c.changes.popped(i, c.cut.seqs[i])
			c.freed[i].add(b)
		} else {
			s.pend = nil
		}
		c.changes.slots[i] = true
		each(i, b)
	}
	c.cut.reset()
}

// setCurrent makes a taken boundary the input's cached value.
func (c *Core) setCurrent(i int, b *boundary.Boundary) {
	s := &c.cell.slots[i]
	s.cur, s.version, s.at = b.Value, c.cell.stamp+1, b.Last
}
