package pump

import (
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
)

// pushes is the reactor's hold on a Line's mailbox: a group of pushed events, of which the first
// ones have been folded and the others wait for their turn.
type pushes struct {
	reader   int64 // the claim on the mailbox
	recall   func()
	recalled atomic.Bool // a sender in the group has given up

	group   []span
	at      int  // in the group: the span whose event is next
	next    int  // in that span: the event
	folded  bool // something of the group was folded
	has     bool // there is a group
	refused int64
	dater   *accumulator.Dater
	dated   bool // the next event's time is known
	when    int64
	own     bool // it is the event's own, or none
	bad     *accumulator.BadEvent
}

// NextPush is when the next pushed event happens; ok is false when there is none.
func (l *Line) NextPush() (at int64, ok bool) {
	h := &l.pushes
	if h.has && h.at == len(h.group) {
		return 0, false // all of it is folded: it is to be committed first
	}
	if !h.has && !l.pop() {
		return 0, false
	}
	if !h.dated {
		if h.dater == nil {
			h.dater = l.cfg.Dater()
		}
		ev := &h.group[h.at].push.events[h.next]
		now := l.cfg.Now()
		if ev.At.IsZero() {
			ev.At = now
		}
		h.when, h.own, h.bad = when(l.cfg.Dater, &h.dater, ev, now, nil)
		h.dated = true
	}
	return h.when, true
}

// PushTimeless says of the next pushed event that it needs no engine time: it cannot be used.
func (l *Line) PushTimeless() bool { return l.pushes.bad != nil }

// pop takes the next group out of the mailbox.
func (l *Line) pop() bool {
	h := &l.pushes
	if !l.cfg.Mailbox.pending() {
		return false
	}
	h.recalled.Store(false)
	h.group = l.cfg.Mailbox.popFor(h.reader, h.recall, h.group[:0])
	if len(h.group) == 0 {
		return false
	}
	l.cfg.Fail.Hit("decode")
	h.has, h.at, h.next, h.folded, h.dated = true, 0, h.group[0].lo, false, false
	return true
}

// FoldPush folds the next pushed event. One that panics is rejected.
func (l *Line) FoldPush(now time.Time) (poison *accumulator.PanicError) {
	h := &l.pushes
	s := &h.group[h.at]
	ev, index := &s.push.events[h.next], h.next
	defer func() {
		if r := recover(); r != nil {
			kept := *ev
			poison = &accumulator.PanicError{Value: r, Stack: debug.Stack(), Event: &kept}
			s.record(index, l.cfg.Core.Poison(now, &kept, carried(&kept), fmt.Sprint(r)))
		}
		h.folded, h.dated = true, false
		if h.next++; h.next == s.hi {
			if h.at++; h.at < len(h.group) {
				h.next = h.group[h.at].lo
			}
		}
	}()
	if h.bad == nil {
		l.cfg.Core.Dated(ev, dated(h.when, h.own, false))
	}
	switch f := s.push.fate(index); {
	case f.Elsewhere:
		l.cfg.Core.Pass(now, ev, f) // and who folds it answers
	case h.bad != nil:
		s.record(index, l.cfg.Core.AddBad(now, ev, carried(ev), h.bad))
	default:
		s.record(index, l.cfg.Core.Add(now, ev, carried(ev)))
	}
	return nil
}

// ComingPush is the n-th pushed event from the next on, and whether it is folded here; nil where there are not so many.
func (l *Line) ComingPush(n int) (ev *boundary.Event, here bool) {
	h := &l.pushes
	if !h.has {
		return nil, false
	}
	next := h.next
	for i := h.at; i < len(h.group); i++ {
		s := &h.group[i]
		if i > h.at {
			next = s.lo
		}
		if n < s.hi-next {
			return &s.push.events[next+n], !s.push.fate(next + n).Elsewhere
		}
		n -= s.hi - next
	}
	return nil, false
}

// Exhausted reports whether all of the group is folded, so that Answer lets the next ones in.
func (l *Line) Exhausted() bool { return l.pushes.has && l.pushes.at == len(l.pushes.group) }

// Refusing reports whether the mailbox has refused what no mark counts.
func (l *Line) Refusing() bool { return l.cfg.Mailbox.uncounted() > l.pushes.refused }

// Owes reports whether senders are to be answered: something of the group was folded, or one of
// them has given up.
func (l *Line) Owes() bool {
	h := &l.pushes
	return h.has && (h.folded || h.recalled.Load())
}

// Answer says that the core has the mark of what was folded, and answers the senders. What was not
// folded is back in the mailbox.
func (l *Line) Answer(ticket accumulator.Ticket) {
	h := &l.pushes
	if !h.has {
		return
	}
	l.cfg.Mailbox.commitFor(h.reader, h.part(), ticket)
	clear(h.group)
	h.has, h.dated = false, false
}

// part is what was folded of the group.
func (h *pushes) part() []span {
	n := h.at
	if h.at < len(h.group) && h.next > h.group[h.at].lo {
		h.group[h.at].hi = h.next
		n++
	}
	return h.group[:n]
}

// Keys are the keys of what was folded and not answered yet: they go with its mark.
func (l *Line) Keys() []checkpoint.PushKey {
	if !l.pushes.has {
		return nil
	}
	return notes(l.pushes.part())
}

// Refused counts what the mailbox has refused into the core's books; Counted says that a mark has
// brought it. It reports whether there was any.
func (l *Line) Refused() bool {
	h := &l.pushes
	n := l.cfg.Mailbox.uncounted()
	if n <= h.refused {
		return false
	}
	l.cfg.Core.RefuseTail(n - h.refused)
	h.refused = n
	return true
}

// Counted says that the core has a mark of all that Refused has counted.
func (l *Line) Counted() {
	if h := &l.pushes; h.refused > 0 {
		l.cfg.Mailbox.counted(h.refused)
		h.refused = 0
	}
}

// Leave gives back what was not folded; the line is not the reactor's any more.
func (l *Line) Leave() {
	l.pushes.has = false
	l.cfg.Mailbox.leave(l.pushes.reader)
}

// Ticket is for what was put last; nil where there is nothing to wait for.
func (l *Line) Ticket() accumulator.Ticket {
	if t, ok := l.cfg.Port.(accumulator.Ticketer); ok {
		return t.Ticket()
	}
	return nil
}
