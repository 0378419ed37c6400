package pump

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/boundary"
)

// pulls folds the next group of the source's events and hands over what they complete.
func (u *Unit) pulls(ctx context.Context) (busy bool, err error) {
	if u.current.events == nil {
		if u.ended {
			return false, nil
		}
		select {
		case p, ok := <-u.feed.parcels:
			if !ok {
				return true, u.sourceEnded(ctx)
			}
			u.current, u.folded = p, 0
		default:
			return false, nil
		}
	}
	to, all := u.folded, u.current.events
	for n, bytes := 0, int64(0); to < len(all) && n < u.groupEvents && bytes < u.groupBytes; n++ {
		if to = u.current.own(to, u.cfg.Share); to < len(all) {
			bytes, to = bytes+int64(len(all[to].Raw)), to+1
		}
	}
	u.cfg.Fail.Hit("decode")
	poison := u.foldPulled(to)
	if u.folded = to; to == len(all) {
		u.current.load.Release()
		u.current = parcel{}
	}
	if boundaries, letters, _ := u.core.Pending(); boundaries+letters > 0 {
		if err := u.handOver(ctx); err != nil {
			return true, err
		}
	}
	if poison != nil {
		return true, poison
	}
	return true, nil
}

// foldPulled folds the source's events up to a place. The one that panics becomes a dead letter, and is
// the last: what the source sent after it is read again after the restart.
func (u *Unit) foldPulled(to int) (poison *accumulator.PanicError) {
	i, keeps, events := u.folded, !u.cfg.Share.Echoes(), u.current.events
	defer func() {
		if r := recover(); r != nil {
			ev := events[i]
			poison = &accumulator.PanicError{Value: r, Stack: debug.Stack(), Event: &ev}
			u.core.Poison(u.now, &ev, keeps, fmt.Sprint(r))
		}
	}()
	if u.current.load.kind == Advance {
		u.core.Advance(u.now, events[0].Pos)
		return nil
	}
	for i = u.current.own(i, u.cfg.Share); i < to; i = u.current.own(i+1, u.cfg.Share) {
		switch bad := u.current.bad(i); {
		case u.passed(&events[i], i):
		case bad != nil:
			u.core.AddBad(u.now, &events[i], keeps, bad)
		default:
			u.core.Add(u.now, &events[i], keeps)
		}
	}
	if i = to - 1; u.current.load.chains.Made() { // who is behind the last is behind all that was others'
		u.core.Pass(u.now, &events[i], fold.Fate{Elsewhere: true})
	}
	return nil
}

// pushes folds the next group of pushed events and hands them over; only then are their
// senders answered. A sender who gives up while the handoff is held back recalls it: the
// Core goes back to where it was, and the group is taken anew without what was withdrawn.
func (u *Unit) pushes(ctx context.Context) (busy bool, err error) {
	if !u.mailbox.pending() {
		return false, nil
	}
	putCtx, recall := context.WithCancel(ctx)
	defer recall()
	u.group = u.mailbox.pop(u.groupEvents, u.groupBytes, recall, u.group[:0])
	if len(u.group) == 0 {
		return false, nil
	}
	before := u.core.Moment()
	u.cfg.Fail.Hit("decode")
	poison := u.foldPushed()
	if err := u.handOver(putCtx, notes(u.group)...); err != nil {
		if errors.Is(err, context.Canceled) && ctx.Err() == nil {
			u.core.GoBack(before)
			u.mailbox.giveBack()
			return true, nil
		}
		return true, err
	}
	u.mailbox.commit(u.group, u.ticket())
	clear(u.group)
	if poison != nil {
		return true, poison
	}
	return true, nil
}

// ticket is for the handoff just made.
func (u *Unit) ticket() accumulator.Ticket {
	if t, ok := u.port.(accumulator.Ticketer); ok {
		return t.Ticket()
	}
	return nil
}

// foldPushed folds the group. The event that panics is rejected, and the group ends with
// it: what its sender sent after it stays in the mailbox for the next Unit.
func (u *Unit) foldPushed() (poison *accumulator.PanicError) {
	g, i := 0, 0
	defer func() {
		if r := recover(); r != nil {
			s := &u.group[g]
			ev := s.push.events[i]
			poison = &accumulator.PanicError{Value: r, Stack: debug.Stack(), Event: &ev}
			s.record(i, u.core.Poison(u.now, &ev, carried(&ev), fmt.Sprint(r)))
			s.hi = i + 1
			u.group = u.group[:g+1]
		}
	}()
	for g = range u.group {
		s := &u.group[g]
		for i = s.lo; i < s.hi; i++ {
			ev := &s.push.events[i]
			if f := s.push.fate(i); f.Elsewhere {
				u.core.Pass(u.now, ev, f) // and who folds it answers
				continue
			}
			s.record(i, u.core.Add(u.now, ev, carried(ev)))
		}
	}
	return nil
}

// passed passes the i-th event of the current parcel if it is another shard's, and reports whether it was.
func (u *Unit) passed(ev *boundary.Event, i int) bool {
	f := u.current.load.fate(u.current.first+i, u.cfg.Share)
	if f.Elsewhere {
		u.core.Pass(u.now, ev, f)
	}
	return f.Elsewhere
}

// carried says that an event in the mailbox comes from a source all the same: another graph's
// output. It has a position, which a push has not, and nobody to tell that it was refused.
func carried(ev *boundary.Event) bool { return !ev.Pos.IsZero() }
