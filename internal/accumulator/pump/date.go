package pump

import (
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/timeline"
)

// maxAhead is how far an event's time may be ahead of the wall clock to be believed: what clocks
// are off by. One further ahead happens when it arrives, or it would take engine time with it, and
// all that comes after it would be late (decision 0081).
const maxAhead = time.Minute

// date finds when the events of a load happen.
func (l *Loader) date(d *Load, now time.Time) {
	d.own, d.lent = true, l.dater.Lends()
	d.loan.Expect(len(d.events))
	for i := range d.events {
		ev := &d.events[i]
		if ev.At.IsZero() {
			ev.At = now
		}
		d.bytes += int64(len(ev.Raw))
		at, own, bad := when(l.cfg.Dater, &l.dater, ev, now, &d.loan)
		d.own = d.own && own
		d.times = append(d.times, at)
		l.spoil(d, i, bad)
		d.newest = max(d.newest, at)
	}
}

// when is the time that an event happens; own says that it is the event's own, or none. One whose
// reading panics happens now, and panics again when it is folded.
func when(another func() *accumulator.Dater, d **accumulator.Dater, ev *boundary.Event, now time.Time,
	loan *boundary.Loan) (at int64, own bool, bad *accumulator.BadEvent) {
	defer func() {
		if r := recover(); r != nil {
			*d = another() // its scratch may be in any state
			at, own, bad = timeline.Never, false, nil
		}
	}()
	t, ok, bad := (*d).Date(ev, loan)
	if bad != nil || !ok {
		return timeline.Never, true, bad
	}
	if t.Sub(now) > maxAhead {
		return now.UnixNano(), false, nil
	}
	return t.UnixNano(), true, nil
}

// dated is what is known of an event that happens at a time.
func dated(at int64, own, lent bool) accumulator.Dated {
	return accumulator.Dated{At: at, Timed: own && at != timeline.Never, Lent: lent}
}
