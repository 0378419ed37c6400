package flow

import (
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/timeline"
)

// stick passes over an input whose room in front of the core is used up: it alone waits (M4), and nobody for it.
func (f *Flow) stick(i int) {
	e := &f.entries[i]
	e.stuck = true
	f.stuck++
	f.trail(i)
	f.awaitAll(e)
	f.keep(i)
	f.order.Clear(e.pushes)
	for _, s := range e.streams {
		f.order.Clear(s.number)
	}
}

// Stuck are the inputs whose room in front of the core is used up.
func (f *Flow) Stuck() (inputs []int) {
	for i := range f.entries {
		if f.entries[i].stuck {
			inputs = append(inputs, i)
		}
	}
	return inputs
}

// unstick lets an input take part again.
func (f *Flow) unstick(i int) {
	e := &f.entries[i]
	if !e.stuck {
		return
	}
	e.stuck = false
	f.stuck--
	f.awaitAll(e)
	f.keep(i)
	for _, s := range e.streams {
		if s.head < len(s.queue) {
			f.order.Set(s.number, s.queue[s.head].Times[s.next])
		}
	}
	if e.line != nil {
		f.nextPush(i)
	}
}

// roomy says that there is room for what input i has: in front of the core, and where it is a side of a join for what
// that makes of it too. One event may have many partners, and a side has room for many events.
func (f *Flow) roomy(i int) bool { return f.Lanes.Roomy(i) && !f.Core.Stuffed(i) }

// loosen looks whether inputs without room have some again.
func (f *Flow) loosen() {
	if f.stuck == 0 {
		return
	}
	for i := range f.entries {
		if f.entries[i].stuck && f.roomy(i) {
			f.unstick(i)
		}
	}
}

// events is where a flow's events wait, for its drive.
type events struct{ *Flow }

// Fold implements [drive.Events].
func (f events) Fold(n int) int {
	o := f.owners[n]
	if !f.roomy(o.input) {
		f.stick(o.input)
		return -1
	}
	e := &f.entries[o.input]
	if e.trails && !f.behind() {
		f.caughtUp(o.input)
	}
	f.base, f.stirred = f.drive.Time(), f.mono
	var poison *accumulator.PanicError
	if o.stream != nil {
		poison = f.foldPulled(e, o.stream)
	} else if poison = f.foldPush(e); poison == nil {
		if e.line.Exhausted() {
			f.Settle() // its senders are answered, and others have their turn
			f.pushed() // what others have not folded of theirs is to be found anew, too
		} else {
			f.nextPush(o.input)
		}
	}
	if poison != nil {
		f.poisoned(o.input, poison)
	}
	return o.input
}

// Timeless implements [drive.Events]. What is noted without a time is told the time when that begins.
func (f events) Timeless(n int) bool {
	o := f.owners[n]
	e := &f.entries[o.input]
	if s := o.stream; s != nil && s.queue[s.head].Timeless(s.next) || s == nil && e.line.PushTimeless() {
		e.anew = true
		return true
	}
	return false
}

// Begin implements [drive.Events]: in a silence with the wall clock, for nothing says what time it is.
func (f events) Begin() (time.Time, bool) {
	if silence := f.mono - f.stirred; f.newest == timeline.Never && silence < f.idle {
		f.listen(f.idle - silence)
		return time.Time{}, false
	}
	return f.Now(), true
}

func (f *Flow) foldPush(e *entry) (poison *accumulator.PanicError) {
	var ev *boundary.Event
	if len(e.coming) > 0 {
		ev, _ = e.line.ComingPush(0)
	}
	if poison = e.line.FoldPush(f.base); poison == nil {
		f.cameIn(&e.coming, ev)
	}
	return poison
}

func (f *Flow) foldPulled(e *entry, s *staged) (poison *accumulator.PanicError) {
	p := s.queue[s.head]
	if poison = e.line.Fold(f.base, p, s.next); poison == nil {
		f.cameIn(&s.coming, &p.Events[s.next])
	}
	if s.next++; s.next == len(p.Events) {
		s.queue[s.head] = nil
		s.head, s.next = s.head+1, 0
		e.count -= len(p.Events)
		e.line.Done(p)
	}
	if s.head < len(s.queue) {
		f.order.Set(s.number, s.queue[s.head].Times[s.next])
		return poison
	}
	s.queue, s.head = s.queue[:0], 0
	f.order.Clear(s.number)
	f.order.Heard(s.number, f.mono) // its silence begins when nothing of it waits any more
	if e.count == 0 {
		f.await(e)
	}
	return poison
}

// poisoned ends a line that could not fold an event: the event is a dead letter, and the
// accumulator is restarted (M35).
func (f *Flow) poisoned(i int, poison *accumulator.PanicError) {
	l := f.entries[i].line
	f.Leave(i)
	l.Fail(poison)
}

// runner is a flow as its drive runs it.
type runner struct{ *Flow }

// HandOver implements [drive.Host]. The mark comes later, see [Flow.Settle].
func (f runner) HandOver(i int) {
	if f.entries[i].line.Core().DrainPart(&f.handoff) {
		f.Core.AdmitPart(f.drive.Time(), i, &f.handoff)
		f.Lanes.Took(i, &f.handoff)
	}
}

// Grant implements [drive.Host].
func (f runner) Grant() bool {
	if !f.Core.Wants(f.drive.Time()) {
		return true
	}
	if f.left < 0 {
		f.left = f.Host.Grant(f.turn)
	}
	return f.left > 0 && !f.Host.Deserted() && (f.fired == f.burst || !f.Host.Called())
}

// Fired implements [drive.Host].
func (f runner) Fired() {
	f.left--
	f.fired++
	if f.took += f.Core.Took(); f.took >= TurnWithin {
		f.left = 0
	}
}

// Begun implements [drive.Host].
func (f runner) Begun(at time.Time) { f.begins(at) }

// owes says that the core has no mark of something that entry i has folded.
func (e *entry) owes() bool {
	_, _, mark := e.line.Core().Pending()
	return mark
}

// Settle hands over what is complete and the marks of all that was folded: together they are one
// moment of the flow, which a checkpoint can go on from.
func (f *Flow) Settle() {
	whole := true
	for i := range f.entries {
		e := &f.entries[i]
		if e.line == nil || !e.line.Refused() && !e.owes() {
			continue
		}
		if whole {
			f.Core.SetWall(f.Now())
		}
		whole = false
		if e.line.Core().Drain(&f.handoff) {
			f.handoff.Keys = e.line.Keys()
			f.Core.Admit(f.drive.Time(), i, &f.handoff, 0)
			f.handoff.Keys = nil
			f.Lanes.Took(i, &f.handoff)
			if len(f.handoff.Boundaries)+len(f.handoff.DeadLetters)+len(f.handoff.Late) > 0 {
				f.drive.Stir()
			}
		}
		e.marked = f.Now()
	}
	f.Core.Whole()
	for i := range f.entries {
		e := &f.entries[i]
		if e.line == nil {
			continue
		}
		e.line.Counted()
		if e.line.Owes() {
			e.line.Answer(e.line.Ticket())
			e.pushing = false // what comes next has not been seen
		}
	}
}
