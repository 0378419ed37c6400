package graph

import "strconv"

// Counts are running counts of what epochs came to.
type Counts struct {
	// Nodes counts what nodes did, by Status.
	Nodes [Failed + 1]int64
	// Loops counts why loops have ended, by Ended; Iterations are those of all of them.
	Loops      [Unready + 1]int64
	Iterations int64
	// Overruns counts nodes that took longer than their budget, Overflows those that their lane had no room for.
	Overruns, Overflows int64
	// Overlong counts epochs that took longer than theirs, Lifted nodes that ran in spite of that.
	Overlong, Lifted int64
}

// Count adds what an epoch came to. Call it once for each that has a record: by them it is counted, too, for how many a
// node has been left out. One that is tried again, or only aside, is none.
func (r *Result) Count(to *Counts) {
	r.grow()
	for _, s := range r.status {
		to.Nodes[s]++
	}
	to.Overruns += int64(len(r.Overran))
	if r.Overlong {
		to.Overlong++
	}
	to.Lifted += int64(r.Lifted)
	for _, e := range r.failures {
		if e.Code == CodeLaneOverflow {
			to.Overflows++
		}
	}
	for _, o := range r.rounds {
		if o.ended != NotLooped {
			to.Loops[o.ended]++
			to.Iterations += int64(o.iterations)
		}
	}
}

// Add adds what others have counted.
func (c *Counts) Add(o *Counts) {
	for i, n := range o.Nodes {
		c.Nodes[i] += n
	}
	for i, n := range o.Loops {
		c.Loops[i] += n
	}
	c.Iterations += o.Iterations
	c.Overruns += o.Overruns
	c.Overflows += o.Overflows
	c.Overlong += o.Overlong
	c.Lifted += o.Lifted
}

// AppendMore appends what a record tells of a node that most have not: members of its JSON, each behind a comma.
func (n *NodeResult) AppendMore(dst []byte) []byte {
	if n.Overran {
		dst = append(dst, `,"overran":true`...)
	}
	if n.Ended != NotLooped {
		dst = append(dst, `,"iterations":`...)
		dst = strconv.AppendInt(dst, int64(n.Iterations), 10)
		dst = append(append(append(dst, `,"ended":"`...), n.Ended.String()...), '"')
	}
	return dst
}
