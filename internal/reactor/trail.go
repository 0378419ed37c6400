package reactor

import (
	"fmt"
	"slices"

	"github.com/graphd/graphd/internal/reactor/form"
)

// A side of a join trails where something of it has waited, or may have, while engine time went on: nothing of it is
// late then. Who feeds the core finds out, and the core keeps it with what it has taken in: one that goes on from there
// after a restart would else take what was late for what has waited (0363).

// Trail notes whether input i, a side of a join, trails.
func (c *Core) Trail(i int, trails bool) {
	if c.caught[i] == !trails || !c.Joined(i) {
		return
	}
	c.caught[i], c.changes.head = !trails, true
	c.logCaught()
}

// Trails reports whether input i, a side of a join, trails, as far as it was noted. One that is new does, and one of
// which it is not known.
func (c *Core) Trails(i int) bool { return !c.caught[i] }

func (c *Core) caughtNames() (names []string) {
	for i, caught := range c.caught {
		if caught {
			names = append(names, c.cfg.Inputs[i].Name+" "+c.cfg.Inputs[i].Identity)
		}
	}
	return names
}

// restoreCaught takes over which sides trail no more; joins are the identities of the joins that took them. One of
// another join, or of another source, begins.
func (c *Core) restoreCaught(names []string, joins map[string]string) {
	for i := range c.caught {
		in := &c.cfg.Inputs[i]
		c.caught[i] = slices.Contains(names, in.Name+" "+in.Identity) && c.Joined(i) && c.joinOf(i) == joins[in.Name]
	}
}

// readCaught reads what [Core.logCaught] has noted.
func (r *Replayer) readCaught(data []byte) error {
	in, names := form.Reader{Rest: data}, []string(nil)
	for len(in.Rest) > 0 && in.Err == nil {
		names = append(names, in.Text())
	}
	if in.Err != nil {
		return fmt.Errorf("%w: which sides do not trail: %w", ErrCorrupt, in.Err)
	}
	if !r.foreign() {
		r.c.restoreCaught(names, r.joins)
	}
	return nil
}
