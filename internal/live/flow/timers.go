package flow

import (
	"time"

	"github.com/graphd/graphd/internal/timeline"
)

// stand is a step where no event waits: engine time goes on to the next timer when all have been
// silent for long enough, or when what is full can only be freed by time.
func (f *Flow) stand(mono int64) bool {
	if f.now.IsZero() {
		return false
	}
	silent := mono-f.stirred >= f.idle
	due, ok := f.due(true)
	if !ok {
		return false
	}
	t := f.base.Add(time.Duration(mono - f.stirred))
	switch {
	case f.stuck > 0:
		if f.newest != timeline.Never {
			if newest := time.Unix(0, f.newest).UTC(); newest.After(t) {
				t = newest
			}
		}
	case !silent:
		f.waits = max(time.Duration(f.idle-(mono-f.stirred)), due.Sub(t))
		return false
	}
	if f.timer(t, silent) {
		return true
	}
	f.waits = due.Sub(t)
	return false
}

// due is the next timer. quiet are also those that a silence alone makes due.
func (f *Flow) due(quiet bool) (at time.Time, ok bool) {
	at, _, ok = f.nextTimer(quiet)
	return at, ok
}

// nextTimer is the earliest timer: input i's, or the reactor's when i is -1. At equal times the
// accumulators come first, in declaration order.
func (f *Flow) nextTimer(quiet bool) (at time.Time, i int, ok bool) {
	i = -1
	for k := range f.entries {
		l := f.entries[k].line
		if l == nil {
			continue
		}
		if due, has := l.Core().Due(); has && (!ok || due.Before(at)) {
			at, i, ok = due, k, true
		}
		if quiet {
			if due, has := l.Core().QuietDue(); has && (!ok || due.Before(at)) {
				at, i, ok = due, k, true
			}
		}
	}
	if due, has := f.Core.Due(); has && (!ok || due.Before(at)) {
		at, i, ok = due, -1, true
	}
	return at, i, ok
}

// timer brings engine time to the next timer that is due by t, if there is one.
func (f *Flow) timer(t time.Time, quiet bool) bool {
	at, i, ok := f.nextTimer(quiet)
	if !ok || at.After(t) {
		return false
	}
	if at.After(f.now) {
		f.now, f.still = at, 0
	} else if f.still++; f.still > stillTimers {
		return false // timers that do not move on must not hold up the events
	}
	if i >= 0 {
		core := f.entries[i].line.Core()
		core.Tick(f.now)
		if quiet {
			core.Quiet(f.now)
		}
		f.entries[i].owed = true
	}
	f.rested = false
	return true
}
