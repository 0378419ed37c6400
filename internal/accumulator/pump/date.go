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

// date finds when the events of a parcel happen.
func (l *Line) date(p *Parcel) {
	now := l.cfg.Now()
	p.own, p.lent = true, l.dater.Lends()
	p.loan.Expect(len(p.Events))
	for i := range p.Events {
		ev := &p.Events[i]
		if ev.At.IsZero() {
			ev.At = now
		}
		p.bytes += int64(len(ev.Raw))
		at, own, bad := l.when(&l.dater, ev, now, &p.loan)
		p.own = p.own && own
		if bad != nil {
			if p.bads == nil {
				p.bads = make([]*accumulator.BadEvent, len(p.Events))
			}
			p.bads[i] = bad
		}
		p.Times = append(p.Times, at)
		p.Newest = max(p.Newest, at)
	}
	if l.share == nil {
		return
	}
	for i := range p.Events {
		bad := p.bads != nil && p.bads[i] != nil
		p.fates = append(p.fates, l.share.fate(&p.Events[i], dated(p.Times[i], p.own, p.lent), bad, &p.loan))
	}
}

// when is the time that an event happens; own says that it is the event's own, or none. One whose
// reading panics happens now, and panics again when it is folded.
func (l *Line) when(d **accumulator.Dater, ev *boundary.Event, now time.Time, loan *boundary.Loan) (at int64, own bool,
	bad *accumulator.BadEvent) {
	defer func() {
		if r := recover(); r != nil {
			*d = l.cfg.Dater() // its scratch may be in any state
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
