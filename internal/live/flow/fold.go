package flow

import "github.com/graphd/graphd/internal/accumulator"

// stick passes over an input whose room in front of the core is used up: it alone waits (M4).
func (f *Flow) stick(i int) {
	e := &f.entries[i]
	e.stuck = true
	f.stuck++
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
	for _, s := range e.streams {
		if s.head < len(s.queue) {
			f.order.Set(s.number, s.queue[s.head].Times[s.next])
		}
	}
	if e.line != nil {
		f.nextPush(e)
	}
}

// loosen looks whether inputs without room have some again.
func (f *Flow) loosen() {
	if f.stuck == 0 {
		return
	}
	for i := range f.entries {
		if f.entries[i].stuck && f.Lanes.Roomy(i) {
			f.unstick(i)
		}
	}
}

// fold folds the next event of the order's stream n.
func (f *Flow) fold(n int) {
	o := f.owners[n]
	e := &f.entries[o.input]
	e.touched, e.owed = true, true
	f.base, f.stirred = f.now, f.mono
	var poison *accumulator.PanicError
	if o.stream != nil {
		poison = f.foldPulled(e, o.stream)
	} else if poison = e.line.FoldPush(f.now); poison == nil {
		if e.line.Exhausted() {
			f.Settle() // its senders are answered, and others have their turn
		}
		f.nextPush(e)
	}
	if poison != nil {
		f.poisoned(o.input, poison)
	}
}

func (f *Flow) foldPulled(e *entry, s *staged) (poison *accumulator.PanicError) {
	p := s.queue[s.head]
	poison = e.line.Fold(f.now, p, s.next)
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

// handOver admits what input i's accumulator has complete, without its mark.
func (f *Flow) handOver(i int) {
	e := &f.entries[i]
	e.touched = false
	if e.line != nil && e.line.Core().DrainPart(&f.handoff) {
		f.Core.AdmitPart(f.now, i, &f.handoff)
		f.Lanes.Took(i, &f.handoff)
		e.owed = true
	}
}

// Settle hands over what is complete and the marks of all that was folded: together they are one
// moment of the flow, which a checkpoint can go on from.
func (f *Flow) Settle() {
	whole := true
	for i := range f.entries {
		e := &f.entries[i]
		if e.line == nil {
			continue
		}
		if e.line.Refused() {
			e.owed = true
		}
		if !e.owed {
			continue
		}
		if whole {
			f.Core.SetWall(f.Now())
		}
		whole = false
		if e.line.Core().Drain(&f.handoff) {
			f.Core.Admit(f.now, i, &f.handoff, 0)
			f.Lanes.Took(i, &f.handoff)
			if len(f.handoff.Boundaries)+len(f.handoff.DeadLetters)+len(f.handoff.Late) > 0 {
				f.rested = false
			}
		}
		e.owed, e.touched = false, false
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
		}
	}
}
