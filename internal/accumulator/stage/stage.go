// Package stage is the accumulators of a graph that its own nodes feed: the inputs of a second
// stage, and of those behind it. The reactor's core owns them. An epoch that is kept folds the
// values of its nodes in the same call, so that a stage's events are those of the epochs there are:
// a failed one gives none, and one that is run again from a checkpoint or a journal gives the same.
//
// Like the accumulators that they are, they know no goroutine, no clock and no I/O.
package stage

import (
	"fmt"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
)

// Declared is one stage input as it was compiled.
type Declared struct {
	Input int // its place among the graph's inputs
	Node  int // the node that feeds it, by its place in the plan; -1 for a join
	// Joins says that it takes what two other inputs hand over, its Rests, in place of events.
	Joins bool
	// Rests are the inputs that the node rests on, directly or not.
	Rests   []int
	Program *accumulator.Program
	// Follows says that what its fold holds open by event time is complete by engine time, and not
	// by the times of its own events; see [Set.Follow].
	Follows bool
}

// Set is all stage inputs of a graph. It belongs to one goroutine.
type Set struct {
	stages   []*Stage
	of       []*Stage        // by input; nil for those that have a source of their own
	takes    []*Stage        // by input; nil for those that no join takes
	lateness []time.Duration // by input
}

// Stage is one input of a Set.
type Stage struct {
	Declared
	*accumulator.Core
	rested, told time.Time // how far a join has come, see [Set.Rested], and as far as it knows
}

// NewSet makes the stage inputs of a graph, each behind those that feed it; nil when there are none.
// lateness is, by input of the graph, how far its events may be out of order where it folds windows.
func NewSet(declared []Declared, lateness []time.Duration) *Set {
	if len(declared) == 0 {
		return nil
	}
	n := len(lateness)
	s := &Set{of: make([]*Stage, n), takes: make([]*Stage, n), lateness: lateness}
	for _, d := range declared {
		one := &Stage{Declared: d, Core: accumulator.NewCore(d.Program, accumulator.Limits{})}
		s.stages = append(s.stages, one)
		s.of[d.Input] = one
		if d.Joins {
			for _, side := range d.Rests {
				s.takes[side] = one
			}
		}
	}
	return s
}

// All are the stage inputs, each behind those that feed it.
func (s *Set) All() []*Stage {
	if s == nil {
		return nil
	}
	return s.stages
}

// Of is input i where it is of a stage, else nil.
func (s *Set) Of(i int) *Stage {
	if s == nil || i < 0 {
		return nil
	}
	return s.of[i]
}

// Takes is the join that takes what input i hands over, nil for none.
func (s *Set) Takes(i int) *Stage {
	if s == nil || i < 0 {
		return nil
	}
	return s.takes[i]
}

// TakeSide folds what one side of a join has handed over, input i; bad says why it cannot. One that makes the fold
// panic cannot be used either.
func (s *Stage) TakeSide(now time.Time, i int, b *boundary.Boundary) (bad *accumulator.BadEvent) {
	defer func() {
		if caught := recover(); caught != nil {
			bad = accumulator.Panicked(fmt.Sprint(caught))
		}
	}()
	return s.Join(now, s.side(i), b)
}

// side is which side of a join input i is.
func (s *Stage) side(i int) int {
	if s.Rests[0] == i {
		return 0
	}
	return 1
}

// HeardOf takes note of when something happened of a side, input i, which another part of its keys was given.
func (s *Stage) HeardOf(i int, at int64) { s.Heard(s.side(i), at) }

// Take folds one event. One that makes the fold panic is refused like any that cannot be used:
// pulled says that it becomes a dead letter then.
func (s *Stage) Take(now time.Time, ev *boundary.Event, pulled bool) (o accumulator.Outcome) {
	defer func() {
		if caught := recover(); caught != nil {
			o = s.Poison(now, ev, pulled, fmt.Sprint(caught))
		}
	}()
	return s.Add(now, ev, pulled)
}

// Due is when a fold waits for time to pass; false for never.
func (s *Set) Due() (at time.Time, ok bool) {
	for _, one := range s.All() {
		if due, has := one.Due(); has && (!ok || due.Before(at)) {
			at, ok = due, true
		}
	}
	return at, ok
}
