package drive

import (
	"time"

	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/timeline"
)

// Due is the next timer; ok is false when there is none. quiet are also those that a silence alone
// makes due.
func (d *Drive) Due(quiet bool) (at time.Time, ok bool) {
	at, _, ok = d.due(quiet)
	return at, ok
}

// due is the earliest timer: accumulator i's, or the reactor's when i is -1. At equal times the
// accumulators come first, in declaration order.
func (d *Drive) due(quiet bool) (at time.Time, i int, ok bool) {
	i = -1
	for k := range d.inputs {
		if due, has := d.inputs[k].due(quiet); has && (!ok || due.Before(at)) {
			at, i, ok = due, k, true
		}
	}
	if due, has := d.core.Due(); has && (!ok || due.Before(at)) {
		at, i, ok = due, -1, true
	}
	if due, has := d.core.FollowDue(d.holds); has && (!ok || due.Before(at)) {
		at, i, ok = due, -1, true
	}
	return at, i, ok
}

// due is the input's next timer.
func (in *input) due(quiet bool) (at time.Time, ok bool) {
	if in.acc == nil {
		return at, false
	}
	at, ok = in.acc.Due()
	if quiet && !in.held {
		if due, has := in.acc.QuietDue(); has && (!ok || due.Before(at)) {
			return due, true
		}
	}
	return at, ok
}

// Awaited is when time next does what is waited for, where no event comes any more: it completes something that an
// input holds open, which opens says, or the wait of an epoch is over. Nobody waits for ticks, nor for what time
// forgets, nor for a stream to be silent in front of which nothing is open. What waits for an epoch counts as in
// [reactor.Core.AwaitedDue].
func (d *Drive) Awaited() (at time.Time, opens, ok bool) {
	at, ok = d.core.AwaitedDue()
	for i := range d.inputs {
		in := &d.inputs[i]
		if in.acc == nil || in.acc.Counters().Open == 0 || d.core.Config().Inputs[i].Table != nil {
			continue
		}
		if due, has := in.due(true); has && (!ok || due.Before(at)) {
			at, opens, ok = due, true, true
		}
	}
	return at, opens, ok
}

// holds says until when what input i holds open is. Nothing is known of one whose accumulator is away
// for a moment, nor of a side of a join of which something may not come in yet: it holds everything. One that trails
// holds what is behind its next event.
func (d *Drive) holds(i int) (time.Time, bool) {
	if d.core.Joined(i) {
		if d.inputs[i].held {
			return time.Time{}, true
		}
		if next, trails := d.trails(i); trails {
			return next, true
		}
	}
	if acc := d.inputs[i].acc; acc != nil {
		return acc.OpenUntil()
	}
	return time.Time{}, true
}

// trails says of a side that trails what its join may not come to yet.
func (d *Drive) trails(i int) (before time.Time, ok bool) {
	if d.events == nil {
		return before, false
	}
	next, ok := d.events.Trails(i)
	if ok && next != timeline.Never {
		before = time.Unix(0, next+1).UTC() // it comes as far as the event
	}
	return before, ok
}

// Timer brings engine time to the next timer that is due by t, if there is one; the graph must come to
// rest before the next. quiet says that no event has come for so long that watermarks follow.
func (d *Drive) Timer(t time.Time, quiet bool) bool {
	at, i, ok := d.due(quiet)
	if !ok || at.After(t) {
		return false
	}
	if at.After(d.now) {
		d.move(at)
	} else if d.still++; d.Circling() {
		return false
	}
	if i >= 0 {
		acc := d.inputs[i].acc
		acc.Tick(d.now)
		if quiet && !d.inputs[i].held {
			acc.Quiet(d.now)
		}
		d.inputs[i].touched = true
	}
	d.rested = false
	return true
}

// Circling says that timers follow from each other and do not move on. They are passed over until an
// event does.
func (d *Drive) Circling() bool { return d.still > reactor.DefaultMicroEpochs*(1+len(d.inputs)) }

// Skip sets the clock to t, where the graph is at rest and knows no timers. It is false, and has done nothing, before
// engine time has begun.
func (d *Drive) Skip(t time.Time) bool {
	now := d.Time()
	if !d.rested || now.IsZero() {
		return false
	}
	if t.After(now) {
		d.now, d.still = t, 0
	}
	return true
}

// Reach sets the clock to t, past timers that are due: see [Drive.Timer]. Where the graph is at rest its joins have
// come as far, before anything happens then: what is behind that is late in the same instant, whatever has moved the
// clock.
func (d *Drive) Reach(t time.Time) {
	if t.After(d.Time()) {
		d.move(t)
	}
	if d.rested {
		d.noteRest()
	}
}
