package flow

import (
	"time"

	"github.com/graphd/graphd/internal/reactor/drive"
)

// Turn takes the flow further, as far as may be done at once. done says that something was, fired
// how many epochs were; free that nothing but the events and the criteria kept it from more.
func (f *Flow) Turn(now time.Time) (done bool, fired int, free bool) {
	f.left, f.fired, f.took, f.turn = -1, 0, 0, now
	f.look()
	f.loosen()
	f.pushed()
	if f.Core.Wants(f.drive.Time()) {
		f.drive.Stir()
	}
	done, free = f.advance()
	f.conclude(now)
	if f.rests = f.waits; done {
		f.rests = 0 // the next turn is now
	}
	return done || f.fired > 0, f.fired, free && f.drive.Rested()
}

// advance goes from event to event until there is none whose turn it is, or the turn is over.
func (f *Flow) advance() (busy, free bool) {
	f.heldBy, f.waits = "", time.Hour
	for budget := turnEvents; ; {
		f.arrive()
		if !f.drive.Rested() && !f.drive.Open() {
			f.burst = f.fired
			free := f.drive.Quiesce()
			if f.freed(); !free {
				return busy, false
			}
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

// step does what comes next, and is false when nothing does.
func (f *Flow) step() bool {
	said := f.drive.Step(f.mono)
	if said == drive.Waits {
		n, until, _ := f.order.Missing(f.mono)
		f.listen(until - f.mono)
		f.waitFor(n)
		return false
	}
	f.noWait()
	return said == drive.Went || f.stand()
}

// freed gives back the room that epochs have made, and what waits in keys does not take.
func (f *Flow) freed() {
	f.Core.DrainFreed(f.Lanes.Free)
	if f.stuck > 0 {
		f.loosen()
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
		if e.owes() || e.line.Refusing() {
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

// waitFor notes who is waited for.
func (f *Flow) waitFor(n int) {
	o := f.owners[n]
	f.heldBy = f.Core.Config().Inputs[o.input].Name
	stream := ""
	if o.stream != nil {
		stream = o.stream.name
	}
	if stream != "" {
		f.heldBy += " " + stream
	}
	if _, _, here := f.order.First(); !here {
		f.heldBy = "" // nobody waits
	}
	if f.heldBy != f.heldFor {
		f.heldFor, f.heldFrom = f.heldBy, f.mono
	}
	if left := heldLasts - (f.mono - f.heldFrom); left > 0 {
		f.waits = min(f.waits, time.Duration(left))
	}
	if l := f.entries[o.input].line; l != nil {
		l.Starve(true, stream)
		f.starving = true
	}
}

func (f *Flow) noWait() {
	f.heldFor = ""
	if !f.starving {
		return
	}
	f.starving = false
	for i := range f.entries {
		if l := f.entries[i].line; l != nil {
			l.Starve(false, "")
		}
	}
}
