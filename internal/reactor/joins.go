package reactor

import (
	"slices"
	"time"

	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/accumulator/stage"
	"github.com/graphd/graphd/internal/boundary"
)

// A join takes what two inputs hand over, its sides, in the call that admits it: nothing of it waits for a cut, and
// what it completes is admitted in the same call. So the join is part of one moment with everything else of the core,
// as the stages are whose machinery it has: its state is sealed with the rest, and a replay that admits again joins
// again.
//
// An event of a side is consumed when the join has it, and is one of the join's from then on.

// Joins reports whether the graph has joins.
func (c *Core) Joins() bool { return c.owed != nil }

// Joined reports whether a join takes what input i hands over.
func (c *Core) Joined(i int) bool { return c.stages.Takes(i) != nil }

// Rested says that the graph is at rest at engine time now, and the moment over: so far its joins have come. open says
// what the other inputs hold open. It reports whether that is further than before.
func (c *Core) Rested(now time.Time, open stage.Open) (further bool) {
	_, ok := c.follows()
	return ok && c.Joins() && !now.IsZero() && c.stages.Rested(now, open)
}

// pass tells a join how far it has come, before it is given what is late by that alone. Where nothing was due it was
// not asked, and to tell it each time would be a line in the journal for each event.
func (c *Core) pass(i int, bs []boundary.Boundary) {
	s := c.stages.Takes(i)
	if s != nil && slices.ContainsFunc(bs, func(b boundary.Boundary) bool { return c.stages.Late(s, b.At) }) {
		c.passed(s)
	}
}

// passOpen tells joins how far they have come where an instant is open, and what is written down now is gone on from
// within it.
func (c *Core) passOpen() {
	if _, open := c.Open(); !open || !c.Joins() {
		return
	}
	for _, s := range c.stages.All() {
		if s.Joins {
			c.passed(s)
		}
	}
}

func (c *Core) passed(s *stage.Stage) {
	if to, ok := s.Came(); ok {
		s.Pass(to)
		c.logFollow(s.Input, to) // which may cut the journal, and come here again
		c.changes.accs[s.Input] = true
	}
}

// join gives a join what input i has handed over, and how far the events of other shards had come in between.
func (c *Core) join(s *stage.Stage, i int, bs []boundary.Boundary, heard []fold.Heard) {
	hear := func(n int) {
		for len(heard) > 0 && heard[0].Before <= n {
			s.HeardOf(i, heard[0].At)
			heard = heard[1:]
		}
	}
	for n := range bs {
		hear(n)
		b := &bs[n]
		if bad := s.TakeSide(c.now, i, b); bad != nil {
			c.deadLetter(i, b, bad.Stage, bad.Code, bad.Text, 0)
		} else {
			c.accs[i].consumed += b.Events
		}
		c.owed[i].add(b)
		c.handStage(s, 0) // before the next, as where it is of another shard
	}
	hear(len(bs))
	c.changes.accs[s.Input] = true
}

// OnHanded has hand admit what joins hand over, in place of the core: by [Core.TakeIn], one or more at a time.
func (c *Core) OnHanded(hand func(i int, bs []boundary.Boundary)) { c.hands = hand }

// TakeIn admits what input i has handed over.
func (c *Core) TakeIn(i int, bs []boundary.Boundary) { c.admitTo(i, bs) }

// Heard takes note of when something happened of input i, a side of a join, which another shard was given.
func (c *Core) Heard(i int, at int64) { c.stages.Takes(i).HeardOf(i, at) }

// repay gives the sides of joins their room back. While more than there is room for waits of what a join has made, they
// do not get it: its sides wait then, as any input does whose boundaries nobody takes (M4).
func (c *Core) repay() {
	for i := range c.owed {
		if c.owed[i] == (Credit{}) || c.Stuffed(i) {
			continue
		}
		c.freed[i].Boundaries += c.owed[i].Boundaries
		c.freed[i].Bytes += c.owed[i].Bytes
		c.owed[i] = Credit{}
	}
}

// Stuffed reports whether input i is a side of a join of which, or of what takes that, as much waits as it has room
// for: what the side has next is to wait.
func (c *Core) Stuffed(i int) bool {
	for s := c.stages.Takes(i); s != nil; s = c.stages.Takes(s.Input) {
		if c.stuffed(s) {
			return true
		}
	}
	return false
}

// stuffed reports whether as much waits of a join as it has room for. What waits in keys takes none (M13).
func (c *Core) stuffed(s *stage.Stage) bool {
	waits, own := c.accs[s.Input].waiting, &c.accs[s.Input].own
	waits.boundaries -= own.boundaries
	waits.bytes -= own.bytes
	return c.cfg.Inputs[s.Input].filledBy(&waits)
}

// full reports whether more waits of a stage than it has room for.
func (c *Core) full(s *stage.Stage) bool {
	return c.cfg.Inputs[s.Input].filledBy(&c.accs[s.Input].waiting)
}

// filledBy reports whether so much is all that an input has room for.
func (in *Input) filledBy(b *backlog) bool {
	return in.bounded() && (b.boundaries >= in.Capacity || b.bytes >= in.CapacityBytes)
}

// leaveSides makes dead letters of what waits of an input that was none of a join when it was admitted: when it has
// happened is not known any more. Replayed it comes in anew.
func (c *Core) leaveSides() {
	for i := range c.owed {
		if !c.Joined(i) || !c.shared.slots[i].dirty() {
			continue
		}
		var waits []*boundary.Boundary
		if c.shared.slots[i].pend != nil {
			waits = append(waits, c.lower(c.shared, i))
		}
		for c.shared.slots[i].queue.len() > 0 {
			waits = append(waits, c.pop(c.shared, i).b)
		}
		for _, b := range waits {
			c.leaveSide(i, b)
		}
		c.freed[i] = Credit{} // nobody has counted the room
		c.changes.accs[i], c.changes.slots[i] = true, true
	}
}

func (c *Core) leaveSide(i int, b *boundary.Boundary) {
	c.deadLetter(i, b, "join", "input_joined",
		"it waited when its input became a side of a join, of another, or of none", 0)
}

// joins are the identities of the joins that take inputs, by the name of the input.
func (c *Core) joins() map[string]string {
	identities := make(map[string]string)
	for i := range c.cfg.Inputs {
		if identity := c.joinOf(i); identity != "" {
			identities[c.cfg.Inputs[i].Name] = identity
		}
	}
	return identities
}

// joinOf is the identity of the join that takes input i, "" where none does.
func (c *Core) joinOf(i int) string {
	if s := c.stages.Takes(i); s != nil {
		return c.cfg.Inputs[s.Input].Identity
	}
	return ""
}
