package reactor

import (
	"encoding/binary"
	"strconv"
	"time"

	"github.com/graphd/graphd/internal/reactor/answers"
	"github.com/graphd/graphd/internal/reactor/form"
	"github.com/graphd/graphd/internal/reactor/pace"
)

// The nodes of a lane with a cadence run at its ticks alone (M23). A tick is an epoch of its own, which takes nothing
// of what triggers: what has come before it has had its epoch, or waits for one. It is decided by engine time and by
// what the cadences have served, both of which a checkpoint has, so a replay of the journal comes to the same ticks
// (0347).

// upNext says which kind of epoch comes next in a graph without keys, and the time that it is picked at: now, and of a
// tick that has asked for something the time of its first try, for it is the tick of that.
func (c *Core) upNext() (kind answers.Kind, at int64, ok bool) {
	now := form.Nano(c.now)
	tried := c.tried()
	if tried != nil { // what has become due since comes behind it: it would have its answers, and its now()
		if at = now; tried.Kind != answers.Called {
			at = min(at, form.Nano(tried.At))
		}
		if c.mayCome(tried.Kind, at) {
			return tried.Kind, at, true
		}
	}
	kinds := [...]answers.Kind{answers.Called, answers.Tick, answers.LaneTick}
	if c.ticksFirst(now) {
		kinds[0], kinds[2] = kinds[2], kinds[0]
	}
	for _, kind := range kinds {
		if !c.mayCome(kind, now) {
			continue
		}
		if tried != nil && tried.Kind != kind {
			c.answered(c.cell.key) // that one may not come any more as it was tried
		}
		return kind, now, true
	}
	return "", 0, false
}

// mayCome reports whether an epoch of a kind may run at a time.
func (c *Core) mayCome(kind answers.Kind, at int64) bool {
	switch kind {
	case answers.LaneTick:
		return c.tickWaits(at)
	case answers.Tick:
		tick, has := c.tickDue()
		return has && tick <= at
	default:
		r := c.readiness(c.cell)
		return r.ok && !c.cell.waits && r.due <= at
	}
}

// pickTick makes the ticks that are due the epoch at hand.
func (c *Core) pickTick(now int64) {
	c.tick, c.changes.head = c.pace.Take(now), true
	c.fillCut(CauseTick)
}

// ticksFirst reports whether the next epoch is a tick, whatever else may fire.
func (c *Core) ticksFirst(now int64) bool { return c.pace != nil && c.pace.First(now) }

// tickWaits reports whether a tick is due.
func (c *Core) tickWaits(now int64) bool {
	at, ok := c.pace.Due()
	return ok && at <= now
}

// untick gives back the ticks of an epoch that has not run.
func (c *Core) untick() {
	if c.tick.Lanes != 0 {
		c.pace.Undo()
	}
}

// beginPace has the cadences that have not begun begin behind an instant, and notes that: no other call says it.
func (c *Core) beginPace(at int64) {
	if c.journal.replay != nil || !c.pace.Begin(at) {
		return
	}
	if c.changes.head = true; c.logging() {
		c.journal.buf = binary.AppendVarint(c.note(logPace), at)
	}
}

// nextTick is when the next epoch of a cadence comes, whether or not anything new is there: the reactor's, or a lane's.
func (c *Core) nextTick() (at int64, ok bool) {
	at, ok = c.tickDue()
	if lane, has := c.pace.Due(); has && (!ok || lane < at) {
		return lane, true
	}
	return at, ok
}

// OwedDue is when the next tick has come of every lane that some node waits for, since it was due; lap is that of
// [graph.Plan.Owes].
func (c *Core) OwedDue(lap int) (at time.Time, ok bool) {
	if c.pace == nil || !c.mayFire() {
		return at, false
	}
	due, ok := c.pace.DueAll(c.cfg.Plan.Owes(&c.shared.nodes, lap))
	return form.NanoTime(due), ok
}

// appendTick appends what a record tells of the lanes that have ticked: members of its JSON.
func (c *Config) appendTick(dst []byte, t *pace.Tick) []byte {
	if t.Lanes == 0 {
		return dst
	}
	dst = append(dst, `,"lanes":[`...)
	n := 0
	for i, rate := range c.Plan.Rates() {
		if t.Lanes>>i&1 != 0 {
			dst = appendName(dst, n, rate.Name, "")
			n++
		}
	}
	dst = append(dst, ']')
	if t.Dropped > 0 {
		dst = strconv.AppendInt(append(dst, `,"dropped_ticks":`...), t.Dropped, 10)
	}
	return dst
}

// behindDetail says what a lane that does not keep to its rate means.
func behindDetail(lane string) string {
	return "the ticks of the lane " + lane + " come too late, one after the other: give it a longer period, let its " +
		"nodes or the other epochs do less, or see what holds the graph up"
}

// pace reads when the cadences of lanes have begun.
func (r *Replayer) pace(in *form.Reader, now time.Time) {
	at := in.Int()
	if in.Err == nil && !r.foreign() {
		r.c.advance(now)
		r.c.pace.Begin(at)
		r.c.changes.head = true
	}
}
