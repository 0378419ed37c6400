package virtual

import (
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
)

// What only may be beside an input.
const (
	nothing = -1 - iota
	several
)

// touch notes that input i is given something, and says when.
func (g *Graph) touch(i int) time.Time {
	if g.only == nothing {
		g.only = i
	} else if g.only != i {
		g.only = several
	}
	return g.drive.Touch(i)
}

// through has the one boundary that input i has go straight through the core, where the graph is at rest. It is false,
// and has done nothing, where that is another's way.
func (g *Graph) through(i int) bool {
	if g.Tap != nil || g.err != nil || !g.drive.Rested() || g.drive.Open() {
		return false
	}
	now := g.Now()
	if now.IsZero() {
		return false
	}
	acc := g.accs[i]
	b, mark := acc.One()
	if b == nil {
		return false
	}
	done, stays := g.core.Through(now, i, b, mark)
	if !done {
		return false
	}
	if acc.OneGone(!stays); stays {
		g.lent[i]++
	}
	g.drive.Passed(i)
	g.fired()
	return true
}

// fired hands out what a boundary that went through has come to.
func (g *Graph) fired() {
	g.hand()
	g.look()
	if g.core.DeadLettersPending() > 0 {
		g.letters = append(g.letters, g.core.DrainDeadLetters()...)
	}
}

// Pass is AdvanceTo, AddTaken and Step, with nothing to be looked for where the graph is at rest and the event fires at
// once.
func (g *Graph) Pass(t time.Time, i int, ev *boundary.Event, taken *accumulator.Taken) error {
	if g.short && g.only == nothing && g.Tap == nil && g.err == nil && !g.drive.Open() && g.drive.Skip(t) {
		if done, err := g.pass(i, ev, taken); done {
			return err
		}
	} else if err := g.AdvanceTo(t); err != nil {
		return err
	}
	g.AddTaken(i, ev, taken)
	return g.Step()
}

// pass has the event go through the accumulator, and what it becomes straight through the core. done is false, and
// nothing has been done, where that is another's way.
func (g *Graph) pass(i int, ev *boundary.Event, taken *accumulator.Taken) (done bool, err error) {
	acc, now := g.accs[i], g.drive.Present()
	b, mark, ok := acc.Straight(now, ev, taken)
	if !ok || b == nil {
		return ok, nil
	}
	through, stays := g.core.Through(now, i, b, mark)
	if !through {
		acc.StraightStays()
		g.touch(i)
		return true, g.Step()
	}
	if acc.StraightGone(!stays); stays {
		g.lent[i]++
	}
	g.fired()
	return true, g.err
}
