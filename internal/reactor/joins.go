package reactor

import (
	"github.com/graphd/graphd/internal/accumulator/stage"
	"github.com/graphd/graphd/internal/boundary"
)

// A join takes what two inputs hand over, its sides, in the call that admits it: nothing of it waits for a cut, and
// what it completes is admitted in the same call. So the join is part of one moment with everything else of the core,
// as the stages are whose machinery it has: its state is sealed with the rest, and a replay that admits again joins
// again.
//
// An event of a side is consumed when the join has it, and is one of the join's from then on.

// Joined reports whether a join takes what input i hands over.
func (c *Core) Joined(i int) bool { return c.stages.Takes(i) != nil }

// join gives a join what input i has handed over.
func (c *Core) join(s *stage.Stage, i int, bs []boundary.Boundary) {
	for n := range bs {
		b := &bs[n]
		if bad := s.TakeSide(c.now, i, b); bad != nil {
			c.deadLetter(i, b, bad.Stage, bad.Code, bad.Text, 0)
		} else {
			c.accs[i].consumed += b.Events
		}
		c.owed[i].add(b)
	}
	c.changes.accs[s.Input] = true
	c.handStage(s, 0)
}

// repay gives the sides of joins their room back. While more than there is room for waits of what a join has made, they
// do not get it: its sides wait then, as any input does whose boundaries nobody takes (M4).
func (c *Core) repay() {
	for i := range c.owed {
		if c.owed[i] == (Credit{}) || c.stuffed(c.stages.Takes(i)) {
			continue
		}
		c.freed[i].Boundaries += c.owed[i].Boundaries
		c.freed[i].Bytes += c.owed[i].Bytes
		c.owed[i] = Credit{}
	}
}

// stuffed reports whether more waits of a join than it has room for. What waits in keys takes none (M13).
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
			c.deadLetter(i, b, "join", "input_joined", "it waited when its input became a side of a join", 0)
		}
		c.freed[i] = Credit{} // nobody has counted the room
		c.changes.accs[i], c.changes.slots[i] = true, true
	}
}
