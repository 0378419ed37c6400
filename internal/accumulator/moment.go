package accumulator

import "github.com/graphd/graphd/internal/accumulator/fold"

// Moment is a Core at one moment, to go back to.
type Moment struct {
	mark  Mark
	state fold.State
}

// Moment remembers where the Core stands. Nothing complete may wait for Drain.
func (c *Core) Moment() Moment {
	c.shared = true
	return Moment{mark: c.mark, state: c.fold.State()}
}

// GoBack undoes everything since m: the events since then have not been taken.
func (c *Core) GoBack(m Moment) {
	c.mark, c.shared = m.mark, true
	if m.state != nil {
		c.fold.Resume(m.state)
	}
	clear(c.out)
	c.out, c.letters, c.late, c.changed = c.out[:0], nil, nil, true
}
