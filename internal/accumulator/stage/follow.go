package stage

import "time"

// How far a stage has come under the event clock (M26).
//
// The events of a stage lie behind engine time: those of a minute's window come when the minute and
// its lateness are over, and told by their start they are a minute older still. So a stage does not
// go by their times but by engine time, held back by what is open in front of it: it has come as
// far as the one furthest behind of the inputs that its node rests on. An input has come to engine
// time less its lateness, and not beyond what it still holds open; a stage input to where its own
// stage has come, in place of engine time.
//
// A stage's window is then complete when its stage has come to its end and its own lateness
// beyond: not before everything that ends in it was handed over. That is looked at when the graph is
// at rest, so what was handed over has been through its epochs too.

// Open says until when what an input holds open is: ok is false when it holds nothing that has an end.
type Open func(input int) (end time.Time, ok bool)

// FollowDue is when [Set.Follow] has something to do; false where that is never, as far as time
// alone decides: what is open in front of a stage may hold it back.
//
// joins says that joins alone may go on.
func (s *Set) FollowDue(open Open, joins bool) (at time.Time, ok bool) {
	for _, one := range s.All() {
		if joins && !one.Joins {
			continue
		}
		if due, has := s.due(one, open); has && (!ok || due.Before(at)) {
			at, ok = due, true
		}
	}
	return at, ok
}

// Follow completes what is due at engine time now of the first stage input that has anything. It
// says which one that is, and how far the stage has come.
func (s *Set) Follow(now time.Time, open Open, joins bool) (one *Stage, to time.Time) {
	for _, one := range s.All() {
		if joins && !one.Joins {
			continue
		}
		if due, ok := s.due(one, open); ok && !due.After(now) {
			to := s.come(one, now, open)
			one.Quiet(to)
			return one, to
		}
	}
	return nil, to
}

// Rested notes how far joins have come where the graph is at rest at engine time now, and nothing is due: what comes of
// their sides from here on, and is behind that, is late. A join is told by [Stage.Pass]. It reports whether one of them
// has come further.
func (s *Set) Rested(now time.Time, open Open) (further bool) {
	for _, one := range s.All() {
		if !one.Joins {
			continue
		}
		if to := s.come(one, now, open); to.After(one.rested) {
			one.rested, further = to, true
		}
	}
	return further
}

// Came is how far a join has come, if it does not know of it.
func (s *Stage) Came() (to time.Time, ok bool) { return s.rested, s.rested.After(s.told) }

// Pass tells a join how far it has come, and completes what is due.
func (s *Stage) Pass(to time.Time) {
	s.Passed(to)
	s.told = to
}

// Late reports whether what happened at a time is late for a join that has come further and does not know of it.
func (s *Set) Late(join *Stage, at time.Time) bool {
	to, ok := join.Came()
	return ok && at.Before(to.Add(-s.lateness[join.Input]))
}

// due is the engine time at which a stage comes to where something of its input is complete.
func (s *Set) due(one *Stage, open Open) (at time.Time, ok bool) {
	if !one.Follows {
		return at, false
	}
	if at, ok = one.QuietDue(); !ok {
		return at, false
	}
	return s.reach(one, at, open)
}

// LastDue is when time completes the last of what a stage input holds open now, as soon as nothing holds that back
// which joins in front of it keep; false where time completes nothing of it.
func (s *Set) LastDue(one *Stage) (at time.Time, ok bool) {
	at, ok = one.LastDue(time.Time{})
	if _, quiet := one.QuietDue(); ok && quiet {
		if !one.Follows {
			return time.Time{}, false // its own events alone do, and none comes
		}
		return s.reach(one, at, nil)
	}
	return at, ok
}

// reach is the engine time at which the stage of an input comes to the time to; ok is false when
// something in front of it ends later. Without open that is waited for: it is a join's, for all else has ended.
func (s *Set) reach(one *Stage, to time.Time, open Open) (at time.Time, ok bool) {
	at = to
	for _, i := range one.Rests {
		if end, holds := s.open(i, open); holds && !end.After(to) {
			return at, false
		}
		due, ok := to.Add(s.lateness[i]), true
		if before := s.of[i]; before != nil {
			due, ok = s.reach(before, due, open)
		}
		if !ok {
			return at, false
		}
		at = later(at, due)
		if before := s.of[i]; before != nil && open == nil && before.Joins {
			if until, holds := before.LastDue(to); holds {
				until, _ = s.reach(before, until, nil)
				at = later(at, until)
			}
		}
	}
	return at, true
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// come is how far the stage of an input has come at engine time now.
func (s *Set) come(one *Stage, now time.Time, open Open) time.Time {
	least := now
	for _, i := range one.Rests {
		at := now
		if before := s.of[i]; before != nil {
			at = s.come(before, now, open)
		}
		at = at.Add(-s.lateness[i])
		if end, holds := s.open(i, open); holds && !end.After(at) {
			at = end.Add(-1)
		}
		if at.Before(least) {
			least = at
		}
	}
	return least
}

// open is until when what input i holds open is.
func (s *Set) open(i int, open Open) (time.Time, bool) {
	if open == nil {
		return time.Time{}, false
	}
	if one := s.of[i]; one != nil {
		return one.OpenUntil()
	}
	return open(i)
}
