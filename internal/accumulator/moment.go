package accumulator

import (
	"fmt"
	"slices"
	"time"

	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/boundary"
)

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
	c.out, c.letters, c.late, c.heard, c.changed = c.out[:0], nil, nil, nil, true
}

// Restore goes on where a mark left off: state is its encoded State, nil when it had none. It is called before the
// first event. When the state was dropped although events were open in it, those count as filtered.
func (c *Core) Restore(state []byte, ctr Counters, positions []boundary.Position) error {
	return c.RestoreMark(Mark{Counters: ctr, Positions: positions}, state)
}

// RestoreMark is Restore for a mark that may have its state as a handle still: then state is nil.
func (c *Core) RestoreMark(m Mark, state []byte) error {
	ctr, s := m.Counters, m.State
	if s == nil {
		var err error
		if s, err = c.fold.Decode(state); err != nil {
			return fmt.Errorf("restore accumulator %q: %w", c.p.name, err)
		}
	}
	if s != nil {
		c.fold.Resume(s)
	}
	lost := ctr.Open - c.fold.Open()
	if lost < 0 || lost > 0 && len(state) > 0 {
		return fmt.Errorf("restore accumulator %q: %w: it holds %d open events, the counters say %d",
			c.p.name, fold.ErrForeign, c.fold.Open(), ctr.Open)
	}
	ctr.Filtered += lost
	ctr.Open = c.fold.Open()
	c.mark = Mark{Counters: ctr, Positions: slices.Clone(m.Positions)}
	c.shared, c.changed = false, lost > 0
	return nil
}

// Restarted says that what [Core.Restore] brought back is gone on from at engine time now, after a
// time in which nobody listened: silences count anew, and what is due stays due. Under virtual time
// no time passes between a checkpoint and what is restored from it.
func (c *Core) Restarted(now time.Time) {
	if f, ok := c.fold.(fold.Restarter); ok {
		f.Restarted(now)
	}
}
