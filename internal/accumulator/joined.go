package accumulator

import (
	"time"

	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/boundary"
)

// AsSide is what a join has to know of the accumulator that it takes.
func (p *Program) AsSide() fold.Side {
	s := fold.Side{Type: p.Type(), Times: p.KeyTimes(), Joined: p.joins}
	if p.key != nil {
		for _, x := range p.key.parts {
			s.Key = append(s.Key, x.Type())
		}
	}
	return s
}

// Join folds a boundary that another input has handed over to this one: side says which. What is wrong with one that
// cannot be taken is its sender's to account for, and it is nothing to the books here.
func (c *Core) Join(now time.Time, side int, b *boundary.Boundary) (bad *BadEvent) {
	f, ok := c.fold.(fold.Joining)
	if !ok {
		return &BadEvent{Stage: "fold", Code: "no_join", Text: c.p.name + " takes no other input"}
	}
	n := len(c.out)
	var said fold.Verdict
	c.out, said, bad = f.Join(side, b, c.out)
	if c.refused != nil && (said == fold.Dropped || bad != nil && bad.Code == lateEvent) {
		c.noteLateSide(now, b)
	}
	if said == fold.Refused {
		c.changed = true // it may have been late, and counts as that
		return bad
	}
	c.mark.Counters.Received += b.Events
	c.mark.LastEventAt, c.changed = now, true
	if said != fold.Folded {
		c.mark.Counters.Filtered += b.Events
		return nil
	}
	c.folded(now, n)
	return nil
}

// Passed says that the graph has come to a time at which nothing was due here. What comes from before that is late.
func (c *Core) Passed(now time.Time) {
	c.Quiet(now)
	c.changed = true
}

// Heard takes note of an event of a side that another Core of the join was given; see [fold.Joining].
func (c *Core) Heard(side int, at int64) {
	c.fold.(fold.Joining).Heard(side, at)
	c.changed = true
}
