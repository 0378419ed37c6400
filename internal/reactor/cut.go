package reactor

import (
	"slices"
	"time"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/reactor/answers"
	"github.com/graphd/graphd/internal/reactor/form"
	"github.com/graphd/graphd/internal/reactor/pace"
)

// Cause says why an epoch ran.
type Cause uint8

// The causes of an epoch.
const (
	CauseCriteria Cause = iota
	CauseForce
	CauseWith
	CauseTick    // the cadence, with nothing new
	CauseMaxWait // not all that was waited for had come
	causeCount
)

func (c Cause) String() string {
	switch c {
	case CauseForce:
		return "force"
	case CauseWith:
		return "with"
	case CauseTick:
		return "tick"
	case CauseMaxWait:
		return "max_wait"
	default:
		return "criteria"
	}
}

// cut is what one epoch takes. It is filled, used and cleared within one call.
type cut struct {
	take     []*boundary.Boundary // per input; nil: the cached value is read again
	counts   []int                // how many of a queue that is; 0 for what was not queued
	values   []boundary.Value
	versions []uint64
	stands   []bool // per input: the value is its default, for nothing has arrived; nil where there are none
	asOf     time.Time
	back     []int // tables that are looked up as they were
	heads    bool  // a sequential head is among what was taken
	through  int   // the input whose boundary is taken without having waited, which is all; or noInput
	undone   bool  // its epoch has failed, and the graph halts as it was before
}

func (t *cut) init(n int) {
	t.take = make([]*boundary.Boundary, n)
	t.counts = make([]int, n)
	t.values = make([]boundary.Value, n)
	t.versions = make([]uint64, n)
	t.through = noInput
}

func (t *cut) reset() {
	clear(t.take)
	clear(t.counts)
	t.heads, t.back, t.through, t.undone = false, t.back[:0], noInput, false
}

// Fire runs at most one epoch, if the criteria hold, and reports whether anything
// changed: an epoch ran, or a false guard consumed a cut. Call it until it answers
// false, with Released handed on in between.
func (c *Core) Fire(now time.Time) bool {
	c.advance(now)
	if c.calls != nil {
		c.calls.missed = false
	}
	if c.asked, c.took = false, 0; !c.mayFire() {
		c.waitAnew()
		return false
	}
	for taken, ticked := c.taken, c.ticked; ; {
		cause, ok := c.pick()
		if !ok {
			if c.asked {
				c.logFire() // nothing has fired, and yet a key that waits may have lost what is too much
			}
			return false
		}
		changed := c.fire(cause)
		switch {
		case c.cut.undone:
			c.ticked = ticked // the instant of the cadence has not been served
			c.untick()
		case changed && c.tick.Lanes == 0:
			c.pace.Yield()
		}
		if c.cfg.Keys != nil {
			c.schedule(c.cell)
		}
		if !changed && c.Asking() {
			c.untick()
			if c.ticked = ticked; c.asked {
				c.logFire()
			}
			return false
		}
		if changed {
			c.handStages()
			c.count(taken)
			c.logFire()
			return true
		}
		c.asked = true
	}
}

// DefaultMicroEpochs is how many epochs of one instant may take nothing new (M17).
const DefaultMicroEpochs = 10_000

// count notes an epoch that took what there is since taken. Epochs without end that take
// nothing feed themselves.
func (c *Core) count(taken uint64) {
	if c.micro++; c.taken != taken {
		c.micro = 0
	}
	if c.Livelocked() {
		c.reassess()
	}
}

// unlock begins to count anew: another instant has come, or new input.
func (c *Core) unlock() {
	locked := c.Livelocked()
	if c.micro = 0; locked {
		c.reassess()
	}
}

// Livelocked says that the epochs of this instant feed themselves: more than
// [Config.MaxMicroEpochs] of them have taken nothing. No more are run until engine time moves
// on (M17).
func (c *Core) Livelocked() bool {
	return c.micro >= c.cfg.MaxMicroEpochs
}

// Taken is how many boundaries cuts have taken so far, to an epoch or past a false guard.
func (c *Core) Taken() uint64 { return c.taken }

// pick makes the key that is to fire the one at hand, and fills its cut.
func (c *Core) pick() (cause Cause, ok bool) {
	if c.direct {
		return CauseCriteria, c.pickDirect()
	}
	if c.cfg.Keys != nil {
		if !c.next() {
			return 0, false
		}
		cause = c.readiness(c.cell).cause
		c.fillCut(cause)
		return cause, true
	}
	c.tick = pace.Tick{}
	kind, at, ok := c.upNext()
	switch {
	case !ok:
		return 0, false
	case kind == answers.LaneTick:
		c.pickTick(at)
		return CauseTick, true
	case kind == answers.Tick:
		cause = CauseTick
	default:
		cause = c.readiness(c.cell).cause
	}
	if tick, has := c.tickDue(); has && tick <= at {
		c.ticked, c.changes.head = at, true
	}
	c.fillCut(cause)
	return cause, true
}

// fire runs the epoch of the cut, unless the guard is against it. It reports whether
// anything changed.
func (c *Core) fire(cause Cause) bool {
	if c.show(cause); c.cfg.Guard && !c.passGuard(cause) {
		return !c.cell.waits
	}
	if !c.run(cause) {
		return false
	}
	if c.paused && c.steps > 0 {
		c.steps--
	}
	return true
}

// mayFire says whether the graph's state lets the criteria be evaluated at all.
func (c *Core) mayFire() bool {
	return c.life.firing() && (!c.paused || c.steps > 0) && !c.Livelocked() || c.journal.replay != nil
}

// Due is when Tick and Fire should be called again although nothing new arrives: for what
// [Core.FireDue] tells, the next tick of a cadence, the end of warming, or the end of a key.
// ok is false when there is no such time.
func (c *Core) Due() (at time.Time, ok bool) {
	if c.short && c.micro == 0 && c.life.state != HealthWarming {
		return at, false // nothing else goes by time
	}
	if !c.cfg.EventClock {
		at, ok = c.life.due()
	}
	if !ok {
		at, ok = c.FireDue()
	}
	if !ok && c.Livelocked() {
		at, ok = c.now.Add(time.Millisecond), true
	}
	if tick, has := c.nextTick(); has && c.mayFire() && (!ok || form.NanoTime(tick).Before(at)) {
		at, ok = form.NanoTime(tick), true
	}
	if ttl, has := c.ttlDue(); has && (!ok || ttl.Before(at)) {
		at, ok = ttl, true
	}
	if due, has := c.stageDue(); has && (!ok || due.Before(at)) {
		return due, true
	}
	return at, ok
}

// FireDue is when Fire has to be called again for what waits: for a rate limit, a debounce,
// a cadence or a max_wait to run out.
func (c *Core) FireDue() (at time.Time, ok bool) {
	if !c.timed || !c.mayFire() {
		return time.Time{}, false
	}
	if c.cfg.Keys != nil {
		switch a := &c.keys.agenda; {
		case len(a.ready) > 0:
			return c.now, true
		case len(a.delayed) > 0:
			return form.NanoTime(a.delayed[0].rank), true
		}
		return time.Time{}, false
	}
	if r := c.readiness(c.cell); r.ok && !c.cell.waits {
		return form.NanoTime(max(r.due, form.Nano(c.now))), true
	}
	return time.Time{}, false
}

// wants reports whether an epoch is called for, now or when a timer has run out.
func (c *Core) wants() bool {
	if c.cfg.Keys != nil {
		return !c.keys.agenda.empty()
	}
	return c.readiness(c.cell).ok
}

// snapshot lays out the values and versions that the plan reads: what the cut takes, over
// what is cached. Versions of what is taken come after every stamp given out so far.
func (c *Core) snapshot() {
	t := &c.cut
	for i := range t.take {
		s, b := c.slot(i), t.take[i]
		if b == nil && s.pend != nil && c.cfg.Inputs[i].Table != nil {
			b = s.pend // taken or not: every epoch sees the newest rows
		}
		if b != nil {
			t.values[i], t.versions[i] = b.Value, c.stamp+1
		} else {
			t.values[i], t.versions[i] = s.cur, s.version
		}
	}
	if t.stands != nil {
		c.standIn()
	}
	if c.asOf {
		c.lookBack()
	}
}

// passGuard evaluates the guard on the snapshot the cut would take (M8). False consumes
// the cut without an epoch: its events count as filtered, latest values stay in the cache.
func (c *Core) passGuard(cause Cause) bool {
	ok, waiting, err := c.cfg.Plan.GuardHolds(&c.cell.nodes, &c.ep, &c.work.guard)
	switch {
	case ok:
		return true
	case err != nil:
		// A guard that cannot be evaluated fails the epoch it stood before, visibly.
		c.fail(cause, "guard", err.Code, "guard: "+err.Text)
	case waiting && c.cut.heads && !c.needsWhatIsBehind():
		c.stay()
		c.cell.waits = true
		if c.cell != c.shared {
			c.keys.wait(c.cell)
			c.changes.touch(c.cell)
		}
		c.cut.reset()
	default:
		if c.refuseCut(); c.ep.Ticks != 0 {
			c.reassess() // its lane has kept to its rate, or has not
		}
		c.consume(false, false, func(i int, b *boundary.Boundary) {
			c.accs[i].filtered += b.Events
			c.setCurrent(i, b)
		})
		c.stamp++
		if c.cfg.Mono != nil {
			c.took = time.Duration(c.cfg.Mono() - c.began)
		}
	}
	return false
}

// needsWhatIsBehind reports whether the guard reads an input whose first boundary stands in
// line behind the head of the cut: to wait for it would be to wait for ever.
func (c *Core) needsWhatIsBehind() bool {
	return slices.ContainsFunc(c.guardNeeds, func(i int) bool {
		return c.cut.values[i].IsAbsent() && c.slot(i).queue.len() > 0
	})
}

// consume takes what the cut marked out of queues and dirty flags, each once, and clears
// the cut. kept says that its epoch was. What all keys share is not one key's to lose, and what is
// in a table is there whatever becomes of an epoch: both stay marked until an epoch that reads them
// is kept. apart hands the boundaries of a burst out one by one instead of as the list they were cut as.
func (c *Core) consume(kept, apart bool, each func(i int, b *boundary.Boundary)) {
	c.answered(c.cell.key)
	c.keys.tried(c.cell)
	if c.cut.through != noInput {
		c.consumeThrough(each)
		return
	}
	for i, b := range c.cut.take {
		if b == nil || !kept && (c.isShared(i) || c.cfg.Inputs[i].Table != nil) {
			continue
		}
		c.taken++
		c.popCut(i, b, apart, each)
		c.touch(c.cell, i)
	}
	c.cut.reset()
	c.rewait(c.cell)
}

// popCut takes what the cut marked of input i out of its queue or flag.
func (c *Core) popCut(i int, b *boundary.Boundary, apart bool, each func(i int, b *boundary.Boundary)) {
	in, n := &c.cfg.Inputs[i], c.cut.counts[i]
	if n == 0 {
		c.lower(c.cell, i)
		each(i, b)
		return
	}
	for k := range n {
		it := c.pop(c.cell, i)
		switch {
		case in.Burst && apart:
			each(i, it.b)
		case !in.Burst && k < n-1: // of a sync_group: newer ones were let through with it
			c.conflate(i, it.b, c.cell.key)
		}
	}
	if !in.Burst || !apart {
		each(i, b)
	}
}

// setCurrent makes a taken boundary the input's cached value.
func (c *Core) setCurrent(i int, b *boundary.Boundary) {
	s := c.slot(i)
	s.cur, s.version, s.at = b.Value, c.stamp+1, c.accs[i].from(b.Last)
	if c.cell != c.shared && !c.isShared(i) {
		c.loosen(c.cell, b)
	}
}
