package reactor

import (
	"errors"

	"github.com/graphd/graphd/internal/boundary"
)

// Try says whether an epoch on these values, one per input and absent where none is given, would be kept: it
// runs the guard and the nodes as [Core.FireWith] does without replace, and nothing comes of it: no number, no
// record, no output. code and text say why it would not; "" that it would.
func (c *Core) Try(key boundary.Key, values []boundary.Value) (code, text string, err error) {
	if err := c.mayCommand(); err != nil {
		return "", "", err
	}
	k, err := c.find(key)
	switch {
	case errors.Is(err, ErrNoKey):
		k = c.newCell(key)
	case err != nil:
		return "", "", err
	}
	c.cell = k
	c.cut.reset()
	c.snapshot()
	for i, v := range values {
		if b := c.slot(i).pend; v.IsAbsent() && b != nil {
			v = b.Value // the newest, which the epoch would take
		}
		if !v.IsAbsent() {
			c.cut.inject(i, v, c.stamp+1)
		}
	}
	defer c.cut.reset()
	c.prepare(c.epoch+1, CauseWith)
	c.ep.Aside = true
	if c.cfg.Guard {
		if ok, _, err := c.cfg.Plan.GuardHolds(&k.nodes, &c.ep, &c.work.guard); err != nil {
			return err.Code, "guard: " + err.Text, nil
		} else if !ok {
			return "", "", nil // it would be filtered, or wait
		}
	}
	c.cfg.Plan.Run(&k.nodes, &c.ep, &c.res)
	if len(c.res.Wants()) > 0 {
		return "", "", nil // what it calls for is not asked for a try
	}
	if err := c.res.Err; err != nil {
		return err.Code, c.failure(err), nil
	}
	for _, n := range c.res.DeadNodes {
		err := c.res.Node(n).Err
		return err.Code, c.failure(err), nil
	}
	return "", "", nil
}
