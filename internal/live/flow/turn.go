package flow

import (
	"time"

	"github.com/graphd/graphd/internal/accumulator/pump"
	"github.com/graphd/graphd/internal/timeline"
)

// Turn takes the flow further, as far as may be done at once. done says that something was, fired
// how many epochs were; free that nothing but the events and the criteria kept it from more.
func (f *Flow) Turn(now time.Time) (done bool, fired int, free bool) {
	f.left, f.fired = -1, 0
	f.mono = f.Mono()
	f.loosen()
	f.pushed()
	if f.Core.Wants(f.now) {
		f.rested = false
	}
	done, free = f.advance(now)
	f.conclude(now)
	return done || f.fired > 0, f.fired, free && f.rested
}

// advance goes from event to event until there is none whose turn it is, or the turn is over.
func (f *Flow) advance(now time.Time) (busy, free bool) {
	f.heldBy, f.waits = "", time.Hour
	for budget := turnEvents; ; {
		if !f.rested && !f.open && !f.quiesce(now) {
			return busy, false
		}
		if !f.Host.Open() {
			return busy, true
		}
		if budget--; budget <= 0 || busy && f.Host.Called() {
			return true, true
		}
		if !f.step() {
			return busy, true
		}
		busy = true
	}
}

// step does what comes next: an event, a timer, the end of an instant. It is false when nothing does.
func (f *Flow) step() bool {
	n, at, ok := f.order.First()
	if ok && f.open && at <= f.instant {
		return f.stepTo(n)
	}
	mono := f.mono
	if m, until, missing := f.order.Missing(mono); missing {
		f.waitFor(m, time.Duration(until-mono))
		return false
	}
	f.noWait()
	if f.open {
		f.close()
		return true
	}
	if !ok {
		return f.stand(mono)
	}
	if f.now.IsZero() && f.advances(n) {
		// A position needs no time. What is noted with it is told the time when that begins.
		f.entries[f.owners[n].input].anew = true
		f.fold(n)
		return true
	}
	if f.now.IsZero() && at == timeline.Never {
		if f.newest == timeline.Never && mono-f.stirred < f.idle {
			f.waits = time.Duration(f.idle - (mono - f.stirred)) // until something says what time it is
			return false
		}
		at = f.begin()
	}
	t := f.now
	if at != timeline.Never {
		if e := time.Unix(0, at).UTC(); e.After(t) {
			t = e
		}
	}
	if f.now.IsZero() {
		f.begins(t)
		f.Core.Tick(t) // a cadence begins with the first event, and not with the first boundary
	} else if f.timer(t, false) {
		return true
	}
	f.now, f.open, f.instant = t, true, t.UnixNano()
	return f.stepTo(n)
}

// advances says that what comes next of stream n is a position, and no event.
func (f *Flow) advances(n int) bool {
	s := f.owners[n].stream
	return s != nil && s.queue[s.head].Kind == pump.Advance
}

// begin is when engine time begins for an event that has no time, before any that has one: at the
// first of those, or with the wall clock.
func (f *Flow) begin() int64 {
	if at, ok := f.order.Earliest(); ok {
		return at
	}
	return f.Now().UnixNano()
}

// stepTo folds the next event of stream n, if its input has room.
func (f *Flow) stepTo(n int) bool {
	i := f.owners[n].input
	if !f.Lanes.Roomy(i) {
		f.stick(i)
		return true
	}
	f.fold(n)
	return true
}

// close ends an instant: what was folded at it is handed over.
func (f *Flow) close() {
	f.open = false
	for i := range f.entries {
		e := &f.entries[i]
		if !e.touched || e.line == nil {
			continue
		}
		e.touched = false
		if boundaries, letters, _ := e.line.Core().Pending(); boundaries+letters > 0 {
			f.rested = false
		}
	}
}

// quiesce hands over what the accumulators have and fires until nothing is left to fire. It is
// false when something is in the way.
func (f *Flow) quiesce(now time.Time) bool {
	for i := range f.entries {
		f.handOver(i)
	}
	f.Core.Tick(f.now)
	f.flush()
	before := f.fired
	for !f.now.IsZero() && f.Core.Wants(f.now) { // what an earlier run has left waits for time to begin
		if f.left < 0 {
			f.left = f.Host.Grant(now)
		}
		if f.left == 0 || f.Host.Deserted() || f.fired > before && f.Host.Called() {
			f.freed()
			return false
		}
		if !f.Core.Fire(f.now) {
			break
		}
		f.left--
		f.fired++
		f.flush()
	}
	f.freed()
	f.rested = true
	return true
}

// freed gives back the room that epochs have made, and what waits in keys does not take.
func (f *Flow) freed() {
	f.Core.DrainFreed(f.Lanes.Free)
	if f.stuck > 0 {
		f.loosen()
	}
}

// flush has the batches handed over that are flushed with epochs, when some were kept.
func (f *Flow) flush() {
	if len(f.flushing) == 0 || f.Core.Kept() == f.kept {
		return
	}
	f.kept = f.Core.Kept()
	for _, i := range f.flushing {
		if l := f.entries[i].line; l != nil {
			l.Core().EpochKept(f.now)
			f.handOver(i)
		}
	}
}

// conclude makes what is owed at the end of a turn: answers to senders, marks that have lagged.
func (f *Flow) conclude(now time.Time) {
	owes := false
	for i := range f.entries {
		e := &f.entries[i]
		if e.line == nil {
			continue
		}
		if e.line.Owes() || e.ending && e.count == 0 {
			owes = true
		}
		if e.owed || e.line.Refusing() {
			if due := e.marked.Add(f.MarkEvery).Sub(now); due <= 0 || f.Core.Config().Journal {
				owes = true
			} else {
				f.waits = min(f.waits, due)
			}
		}
	}
	if owes {
		f.Settle()
		f.pushed()
	}
	for i := range f.entries {
		if f.entries[i].ending {
			f.drained(i)
		}
	}
}

// waitFor notes who is waited for, and for how long at most.
func (f *Flow) waitFor(n int, most time.Duration) {
	f.waits = most
	o := f.owners[n]
	f.heldBy = f.Core.Config().Inputs[o.input].Name
	if o.stream != nil && o.stream.name != "" {
		f.heldBy += " " + o.stream.name
	}
	if l := f.entries[o.input].line; l != nil {
		l.Starve(true)
		f.starving = true
	}
}

func (f *Flow) noWait() {
	if !f.starving {
		return
	}
	f.starving = false
	for i := range f.entries {
		if l := f.entries[i].line; l != nil {
			l.Starve(false)
		}
	}
}
