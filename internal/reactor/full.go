package reactor

import (
	"slices"
	"strings"
	"time"

	"github.com/graphd/graphd/internal/reactor/form"
)

// Stalled says that no epoch can complete with what is there: something else has to arrive first,
// or max_wait has to run out.
func (c *Core) Stalled() bool {
	switch {
	case !c.cfg.All && !c.cfg.Guard || !c.mayFire():
		return false
	case c.cfg.Keys != nil:
		return len(c.keys.agenda.ready) == 0
	}
	_, complete := c.completed(c.cell)
	return !complete || c.cell.waits
}

// SetFull says which inputs have no room for more while the graph is stalled, nil when none has:
// unless what it waits for comes, it stands still (M4).
func (c *Core) SetFull(inputs []int) {
	if !slices.Equal(inputs, c.life.full) {
		c.life.full = inputs
		c.reassess()
	}
}

// fullDetail says who is full, since when, and who is waited for.
func (c *Core) fullDetail() string {
	var full []string
	for _, i := range c.life.full {
		text := c.cfg.Inputs[i].Name + " is full"
		if q := c.slot(i).queue; c.cfg.Keys == nil && q.len() > 0 && q.at(0).at != form.Never {
			text += " (the first waits since " + form.NanoTime(q.at(0).at).Format(time.RFC3339) + ")"
		}
		full = append(full, text)
	}
	text := strings.Join(full, ", ") + ", and no epoch can complete"
	if missing := c.WaitingFor(); len(missing) > 0 {
		text += " until " + strings.Join(missing, " and ") + " has something"
	}
	if c.cell.waits {
		return text + ": the guard waits for it; see to its source, or let the guard do without (?? and == nil)"
	}
	return text + ": when: all takes one of each; see to the source that is behind, give max_wait or more capacity, " +
		"or join by key"
}
