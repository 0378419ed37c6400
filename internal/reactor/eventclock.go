package reactor

import (
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/reactor/form"
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

// SetHeldBack says who has been waited for, for so long that it is worth telling; "" for nobody.
func (c *Core) SetHeldBack(by string) {
	if by != c.life.heldBy {
		c.life.heldBy = by
		c.reassess()
	}
}

func heldDetail(by string) string {
	return "events of other inputs wait for " + by + ", which has more to come and gives nothing; after `idle` " +
		"nobody waits for it any more"
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

// OpenInstant says that at, in nanoseconds since 1970, more may happen than what was taken in. What has come of
// that instant waits for the rest, after a crash too: so what is persisted says which instant is open.
func (c *Core) OpenInstant(at int64) { c.open = at }

// CloseInstant says that no instant is open.
func (c *Core) CloseInstant() { c.open = form.Never }

// Open is the instant that is open; ok is false when none is.
func (c *Core) Open() (at int64, ok bool) { return c.open, c.open != form.Never }

// eventClock names the event clock in what is stored; the arrival clock has no name there.
const eventClock = "event"

func (c *Config) clock() string {
	if c.EventClock {
		return eventClock
	}
	return ""
}

// OtherClock says that what was restored goes by the other clock.
func (c *Core) OtherClock() bool { return c.other }

// beginAnew has engine time begin as at a first start: the one that was restored is of the other clock.
func (c *Core) beginAnew() {
	c.other, c.anew, c.now, c.ticked, c.changes.head = true, true, time.Time{}, form.Never, true
	c.pace.Forget()
}

// carryOver has everything that the other clock has timed count from where engine time begins: no
// timer waits for a time of the other clock, and none has run out by it.
func (c *Core) carryOver() {
	c.anew = false
	at := form.Nano(c.now)
	c.retime(func(int64) int64 { return at })
}

func (c *Core) moveOn(now time.Time) {
	if !now.After(c.now) {
		return
	}
	begins := c.now.IsZero() && (c.cfg.EventClock || c.life.state != HealthStarting)
	if begins && c.ticked == form.Never {
		// Engine time begins with the first event, also in a replay: the cadence has served no instant yet.
		c.ticked = form.Nano(now) - 1
	}
	if c.now = now; begins {
		c.beginPace(form.Nano(now) - 1)
	}
	if c.anew {
		c.carryOver()
	}
	if c.micro > 0 {
		c.unlock()
	}
}
