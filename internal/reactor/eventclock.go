package reactor

import (
	"time"

	"github.com/graphd/graphd/internal/accumulator"
)

// Under the event clock engine time is that of the events (M26), and what has nothing to do with
// them goes by the wall clock: the end of warming, when a checkpoint, a pause or a dead letter was
// made. The core is told it beside the calls that bear engine time.

// SetWall tells the core the wall clock. It means something under [Config.EventClock] alone.
func (c *Core) SetWall(now time.Time) { c.wall = now }

// housekeeping is the time of what does not go by engine time.
func (c *Core) housekeeping() time.Time {
	if c.cfg.EventClock && !c.wall.IsZero() {
		return c.wall
	}
	return c.now
}

// WarmDue is when warming ends at the latest; under the event clock a time of the wall clock.
func (c *Core) WarmDue() (at time.Time, ok bool) { return c.life.due() }

// AdmitPart is Admit for what is complete of a handoff whose mark comes later: an accumulator that
// folds one event after the other need not make one for each. Until Admit has brought it, the core
// must not be sealed, looked at, or asked for its journal.
func (c *Core) AdmitPart(now time.Time, i int, h *accumulator.Handoff) {
	c.journal.partial = true
	c.take(now, i, h, 0)
}

// Whole says that every mark that AdmitPart has left out has come.
func (c *Core) Whole() { c.journal.partial = false }
