package reactor

import (
	"time"

	"github.com/graphd/graphd/internal/accumulator/stage"
)

// ending is what the end of a run waits for. Ticks go on for ever, and so does what they feed to stages: what is of
// them alone is not waited for. A nil ending tells nothing apart.
type ending struct {
	last []uint64 // by input, the last boundary that is waited for
	open []bool   // by a stage's input: something that it holds open is of ticks alone
	fed  []bool   // by a stage's input: what it was fed last is
	owed bool     // the ticks of the present instant are waited for
	vain bool     // what is handed over now is of ticks alone
}

// Ending says that the inputs of a run have ended: from here on what ticks alone call for is not waited for.
func (c *Core) Ending() {
	if c.stages == nil || c.cfg.Keys != nil {
		return
	}
	n := len(c.cfg.Inputs)
	c.ending = &ending{last: make([]uint64, n), open: make([]bool, n), fed: make([]bool, n)}
	for i := range n {
		c.ending.last[i] = c.admitted
	}
}

// Owing says whether the ticks of the present instant are waited for.
func (c *Core) Owing(owed bool) {
	if c.ending != nil {
		c.ending.owed = owed
	}
}

// Waiting says that what a stage holds open is waited for, whatever it is of.
func (c *Core) Waiting(s *stage.Stage) {
	if c.ending != nil {
		c.ending.open[s.Input] = false
	}
}

// admits notes that a boundary of an input was admitted.
func (e *ending) admits(input int, boundary uint64) {
	if e != nil && !e.vain {
		e.last[input] = boundary
	}
}

// feed notes what an epoch fed to a stage.
func (e *ending) feed(input int, vain bool) {
	e.fed[input] = vain
	e.open[input] = e.open[input] || vain
}

// hands says that a stage hands over what an epoch has completed, or else what time has, until handed.
func (e *ending) hands(input int, epoch bool) {
	if e == nil {
		return
	}
	if e.vain = e.open[input]; epoch {
		e.vain = e.fed[input]
	}
}

func (e *ending) handed() {
	if e != nil {
		e.vain = false
	}
}

// idle says that what the epoch at hand feeds a stage is of ticks alone: of nothing that it takes which is waited for.
func (c *Core) idle(s *stage.Stage) bool {
	if c.ending.owed {
		return false
	}
	for _, i := range s.Rests {
		if since, waits := c.news(c.shared, i); c.cut.take[i] != nil && waits && since <= c.ending.last[i] {
			return false
		}
	}
	return true
}

// AwaitedDue is FireDue where something waits that has come of an input, and not of ticks alone, which go on for ever.
func (c *Core) AwaitedDue() (at time.Time, ok bool) {
	if at, ok = c.FireDue(); !ok || c.ending == nil {
		return at, ok
	}
	_, zips := c.zipped(c.shared)
	for i := range c.cfg.Inputs {
		in := &c.cfg.Inputs[i]
		if !in.Triggers || c.cfg.All && !in.Alone && !zips && c.cfg.MaxWait == 0 {
			continue
		}
		if since, waits := c.news(c.shared, i); waits && since <= c.ending.last[i] {
			return at, true
		}
	}
	return at, false
}
