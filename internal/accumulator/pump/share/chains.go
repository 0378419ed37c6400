package share

// Chains are the events of a load, those of each shard one behind the other: a shard goes from one of its own to the
// next, and what it leaves to the others costs it nothing. The zero value has none; once made it is only read.
type Chains struct {
	heads []int32 // by shard: the place of its first event; -1 for none
	nexts []int32 // by event: the place of the next one of its shard; -1 for none
}

// Make makes the chains of events that are dealt to so many shards.
func (c *Chains) Make(shards []int32, of int) {
	c.Clear()
	for range of {
		c.heads = append(c.heads, -1)
	}
	c.nexts = append(c.nexts, shards...)
	for i := len(shards) - 1; i >= 0; i-- {
		s := shards[i]
		c.nexts[i], c.heads[s] = c.heads[s], int32(i)
	}
}

// Clear forgets them.
func (c *Chains) Clear() { c.heads, c.nexts = c.heads[:0], c.nexts[:0] }

// Made reports whether there are any.
func (c *Chains) Made() bool { return len(c.heads) > 0 }

// Next is the place of a shard's first event from a place on, and len(shards), what Make was given, where there is
// none. It is at hand behind an event of the shard's own.
func (c *Chains) Next(shards []int32, shard, from int) int {
	next := c.heads[shard]
	if from > 0 && int(shards[from-1]) == shard {
		next = c.nexts[from-1]
	}
	for next >= 0 && int(next) < from {
		next = c.nexts[next]
	}
	if next < 0 {
		return len(shards)
	}
	return int(next)
}
