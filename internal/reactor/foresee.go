package reactor

import (
	"slices"
	"time"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/graph"
	"github.com/graphd/graphd/internal/reactor/answers"
	"github.com/graphd/graphd/internal/reactor/form"
)

// Where epochs go by the times of events the next instant begins when all of this one has fired, and what its epochs
// call for would be asked for no sooner. So the epoch of an event that waits for its turn is tried aside (0541): what
// it asks for is asked, and its own try is given the answer where it asks for the same.

// Foreseen is an event that waits for its turn, as what the core knows of its epoch.
type Foreseen struct {
	Input    int
	At       int64              // when it happens
	Boundary *boundary.Boundary // nil: none comes of it
	epoch    *answers.Epoch     // nil: it has not been tried
}

// Told reports whether something is known of the epoch.
func (f *Foreseen) Told() bool { return f.epoch != nil }

// Foresees reports whether it can be told what an event of input i calls for: where each fires for itself, at once.
func (c *Core) Foresees(i int) bool {
	in := &c.cfg.Inputs[i]
	return c.calls != nil && c.calls.trust > 0 && c.cfg.Keys != nil && c.isPlain() && in.Triggers && !c.isShared(i) &&
		in.Table == nil && slices.ContainsFunc(c.calls.Callers, func(n graph.Caller) bool { return n.Safe() })
}

// foresees reports whether what a node asks for may be asked for an event that waits: only of a server that is not
// changed by it, for much of what comes before can make it something else.
func (c *Core) foresees(node int) bool {
	return slices.ContainsFunc(c.calls.Callers, func(n graph.Caller) bool { return n.Node == node && n.Safe() })
}

// Foresee appends what an event's epoch, behind so many others, is to ask for now. Its nodes may run for that, which
// tried says. While there is something else of its key nothing is known. It comes after [Core.Ahead].
func (c *Core) Foresee(asks []Ask, f *Foreseen, behind int64) (all []Ask, tried bool) {
	s, key := c.calls, f.Boundary.Key
	e := s.book.Next(key)
	if key == "" || e != nil && e != f.epoch || e == nil && s.book.Full() {
		return asks, false
	}
	if tried = s.line.Stale(e); tried {
		k := c.keys.byKey.Get(key)
		if k == nil {
			k = c.newCell(key)
		}
		if !c.cutAhead(k, f) {
			return asks, false
		}
		if e != nil {
			e.Aside = false // this try is none in its turn
		}
		cell, now := c.cell, c.now
		c.cell, c.now = k, form.NanoTime(max(f.At, form.Nano(now)))
		f.epoch = c.aside(CauseCriteria, int64(len(c.keys.agenda.ready))+behind)
		f.epoch.Aside, f.epoch.At = true, time.Time{}
		f.epoch.Asked = slices.DeleteFunc(f.epoch.Asked, func(a Ask) bool { return !c.foresees(a.Node) })
		c.cell, c.now = cell, now
	}
	return s.line.Next(asks, f.epoch, tried), tried
}

// cutAhead fills the cut that an event would make of its key; it is false where something of the key comes before.
func (c *Core) cutAhead(k *cell, f *Foreseen) bool {
	c.cut.reset()
	for i := range c.cfg.Inputs {
		s := c.slotOf(k, i)
		if s.queue.len() > 0 || s.pend != nil && c.cfg.Inputs[i].Triggers && !c.isShared(i) {
			c.cut.reset()
			return false
		}
		c.cut.take[i] = s.pend
	}
	c.cut.take[f.Input] = f.Boundary
	return true
}

// Forgo forgets what is known of the epoch of an event that will not come in.
func (c *Core) Forgo(f *Foreseen) {
	if e := f.epoch; e != nil && e.Aside && c.calls.book.Next(e.Key()) == e {
		c.calls.book.Forget(e.Key())
	}
	f.epoch = nil
}

// judge looks whether an epoch that was foreseen misses something that was not, or was given something for nothing, now
// that it is tried in its turn.
func (c *Core) judge(e *answers.Epoch, wants []graph.Want) {
	e.Aside = false
	c.calls.trust.Judge(!e.InVain(c.calls.Used, wants) && !slices.ContainsFunc(wants, func(w graph.Want) bool {
		return c.foresees(w.Node) && !e.Foretold(&w)
	}))
}
