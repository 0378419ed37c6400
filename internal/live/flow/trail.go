package flow

import (
	"github.com/graphd/graphd/internal/accumulator/pump/pace"
	"github.com/graphd/graphd/internal/timeline"
)

// A side of a join that was held back trails when it may go on: the other inputs and the timers have moved engine time
// meanwhile, and what has waited is behind it. That is not late. So its join has come no further than to the next event
// of it, as if engine time were there, until the side is where engine time is (M26).
//
// So it does where it begins, unless the core knows that it did not trail when the process ended: what comes of it
// first may have been held back then.

// trail notes that something of input i may wait while engine time goes on.
func (f *Flow) trail(i int) {
	if e := &f.entries[i]; !e.trails && f.Core.Joined(i) {
		e.trails = true
		f.trailing++
		f.Core.Trail(i, true)
	}
}

func (f *Flow) caughtUp(i int) {
	if e := &f.entries[i]; e.trails {
		e.trails = false
		f.trailing--
		f.Core.Trail(i, false)
	}
}

// behind reports whether what comes next of all is behind engine time.
func (f *Flow) behind() bool {
	_, at, _ := f.order.First()
	return at < f.drive.Time().UnixNano()
}

// arrive has sides trail no more of which nothing is here, where nobody is waited for: what has waited is through, and
// what their joins were held back with may be due.
func (f *Flow) arrive() {
	if f.trailing == 0 || f.waiting() {
		return
	}
	for i := range f.entries {
		e := &f.entries[i]
		if !e.trails || e.line == nil || e.stuck || e.held != pace.Free {
			continue
		}
		if _, here := f.next(e); !here {
			f.caughtUp(i)
			f.drive.Stir()
		}
	}
}

// waiting says that somebody is waited for.
func (f *Flow) waiting() bool {
	_, _, missing := f.order.Missing(f.mono)
	return missing
}

// next is when the next event of an input happens that may come in; here is false where there is none.
func (f *Flow) next(e *entry) (at int64, here bool) {
	at, here = f.order.Next(e.pushes)
	for _, s := range e.streams {
		if next, ok := f.order.Next(s.number); ok && (!here || next < at) {
			at, here = next, true
		}
	}
	return at, here
}

// Trails implements [drive.Events].
func (f events) Trails(i int) (next int64, ok bool) {
	e := &f.entries[i]
	if !e.trails {
		return 0, false
	}
	if !e.stuck && e.held == pace.Free && !f.waiting() {
		if at, here := f.next(e); here {
			return at, true
		}
	}
	return timeline.Never, true
}
