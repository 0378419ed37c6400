package graph

import (
	"fmt"

	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/spec/lanes"
)

// A lane is how nodes are executed (M23): inline, which is what a node without one is too, by the workers of a pool, or
// at the ticks of a cadence (rate.go). What a pool is makes no difference to what an epoch comes to, but for what it
// has no room for, and that is decided by the plan and by what is due, never by how many workers there are or how fast
// they are (0315).

// Codes of a [NodeError] that a pool gives.
const (
	// CodeLaneOverflow is a node that was due and that its lane had no room for.
	CodeLaneOverflow = "lane_overflow"
	// CodeStuckNode is a node that has not come back from an epoch that was given up, and so cannot run.
	CodeStuckNode = "stuck_node"
)

// Lane is a pool of a plan.
type Lane struct {
	Name string
	// Threads is how many of its nodes are computed at one time.
	Threads int
	// Capacity is how many nodes of one rank it takes in one epoch; Overflow what becomes of more.
	Capacity int
	Overflow string
	// Reentrant is how many runs of one node may be under way.
	Reentrant int
}

// Lanes are the pools that nodes are executed in, in declaration order. The slice is the plan's: read only.
func (p *Plan) Lanes() []Lane { return p.lanes }

// wave is the nodes of one rank and one pool, where they are more than that takes. All that they rest on is of lower
// ranks, so that once those are final it is known which of the wave are due.
type wave struct {
	lane  int
	first int // of the plan's nodes, the first of the rank
	nodes []int
}

// checkLanes checks that nodes can be executed in the lanes that they name.
func (c *compiler) checkLanes() {
	kinds := make(map[string]string, len(c.g.Lanes))
	for i := range c.g.Lanes {
		l := &c.g.Lanes[i]
		if kinds[l.Name] = l.Kind; l.Kind == lanes.FixedRate && len(c.g.Reactor.Keys) > 0 {
			c.tell(l.Pos, spec.CodeConflict, "the reactor has keys, and at each tick of %s each of them would run; "+
				"take out the lane, and give the reactor an every: a key then fires at the instants of that where "+
				"something is new", l.Name)
		}
	}
	for i := range c.units {
		u := &c.units[i]
		switch kinds[u.decl.Lane.Name] {
		case lanes.Pool:
			u.pooled = true
			c.checkPooled(u)
		case lanes.FixedRate:
			c.checkPaced(u)
		}
	}
}

// checkPooled checks what a node of a pool cannot be: what it does has to be its own, so that the epoch can go on
// without it.
func (c *compiler) checkPooled(u *unit) {
	at, name := u.decl.Lane.Pos, u.decl.Name
	if u.ring != nil {
		c.tell(at, spec.CodeConflict, "%s runs in the loop %s, whose nodes run one after the other; take out the lane",
			name, u.ring.decl.Name)
	}
	if _, calls := u.decl.Config.(spec.CallingNode); calls {
		c.tell(at, spec.CodeConflict, "what %s calls is called beside the epoch already; take out the lane, and give "+
			"its kind a concurrency", name)
	}
	for k := range u.sources {
		if p := u.sources[k].program; p != nil && p.Memories() > 0 {
			c.tell(at, spec.CodeConflict, "%s remembers values of epochs, so that %s cannot be left behind by one; "+
				"let a node without a lane remember, and read that", p.Remembers(), name)
			break
		}
	}
	for _, d := range u.deps {
		if d.from < len(c.inputs) && c.inputs[d.from].isTable() {
			c.tell(at, spec.CodeConflict, "%s looks rows of %s up, which change between epochs; let a node without a "+
				"lane look them up, and read that", name, c.inputs[d.from].Name)
			break
		}
	}
}

// addLanes gives the nodes their pools; they are there.
func (c *compiler) addLanes(p *Plan, order []int) {
	number, rates := make(map[string]int32), make(map[string]uint8)
	for i := range c.g.Lanes {
		l := &c.g.Lanes[i]
		if l.Kind == lanes.FixedRate {
			rates[l.Name] = p.addRate(l)
		}
		if l.Kind != lanes.Pool {
			continue
		}
		p.lanes = append(p.lanes, Lane{Name: l.Name, Threads: l.MaxThreads, Capacity: l.QueueCapacity,
			Overflow: l.Overflow, Reentrant: l.Reentrant})
		number[l.Name] = int32(len(p.lanes))
	}
	for at, i := range order {
		u := &c.units[i]
		p.nodes[at].Lane, p.steps[at].rate = u.decl.Lane.Name, rates[u.decl.Lane.Name]
		if u.pooled {
			p.steps[at].lane = number[u.decl.Lane.Name]
		}
	}
	p.addPaced()
	for k := range p.lanes {
		if p.lanes[k].Overflow != lanes.Block {
			p.addWaves(k)
		}
	}
	p.replayed = c.g.Durability.Mode == "journal"
}

// addWaves finds where pool k may have no room.
func (p *Plan) addWaves(k int) {
	for first := 0; first < len(p.nodes); {
		w := wave{lane: k, first: first}
		at := first
		for ; at < len(p.nodes) && p.nodes[at].Rank == p.nodes[first].Rank; at++ {
			if int(p.steps[at].lane) == k+1 {
				w.nodes = append(w.nodes, at)
			}
		}
		first = at
		if len(w.nodes) <= p.lanes[k].Capacity {
			continue
		}
		p.waves = append(p.waves, w)
		for _, i := range w.nodes {
			p.steps[i].wave, p.steps[i].apart = int32(len(p.waves)), true
		}
	}
}

// Overflows reports whether an epoch may have more for pool k than it takes.
func (p *Plan) Overflows(k int) bool {
	for i := range p.waves {
		if p.waves[i].lane == k {
			return true
		}
	}
	return false
}

// settled says that what wave w rests on is final.
func (r *Result) settled(w *wave) bool {
	due, out := r.due.Least(), r.out.Least()
	return (due < 0 || due >= w.first) && (out < 0 || out >= w.first)
}

// overflows says that node i, which is due, is one that its pool has no room for in this epoch. It is for the owner of
// the result, once what the node's wave rests on is final.
func (r *Result) overflows(i int) bool {
	p := r.plan
	k := int(p.steps[i].wave) - 1
	if !r.counted.Has(k) {
		r.counted.Set(k)
		r.countWave(&p.waves[k], i)
	}
	return r.over.Has(i)
}

// countWave finds which nodes of a wave there is no room for: of those that are to run, i among them.
func (r *Result) countWave(w *wave, i int) {
	var runs []int
	for _, n := range w.nodes {
		s := &r.plan.steps[n]
		if (n == i || r.due.Has(n)) && (s.gates.n == 0 || r.open(s)) {
			runs = append(runs, n)
		}
	}
	l := &r.plan.lanes[w.lane]
	switch more := len(runs) - l.Capacity; {
	case more <= 0:
		return
	case l.Overflow == lanes.DropOldest:
		runs = runs[:more]
	default:
		runs = runs[l.Capacity:]
	}
	for _, n := range runs {
		r.over.Set(n)
	}
}

// noRoom is the error of a node that its pool has no room for.
func (r *Result) noRoom(i int) *NodeError {
	l := &r.plan.lanes[r.plan.steps[i].lane-1]
	return &NodeError{Node: i, Name: r.plan.nodes[i].Name, Code: CodeLaneOverflow, Text: fmt.Sprintf("more than %d "+
		"nodes were to run in the lane %s at once (overflow: %s)", l.Capacity, l.Name, l.Overflow)}
}

// policyOf is what an error of node i does.
func (p *Plan) policyOf(i int, err *NodeError) policy {
	s := &p.steps[i]
	if err.ends {
		return failEpoch
	}
	switch err.Code {
	case CodeOverBudget:
		return lastGood
	case CodeLaneOverflow:
		switch p.lanes[s.lane-1].Overflow {
		case lanes.DropOldest, lanes.DropNewest:
			return lastGood
		case lanes.FailFast:
			return failEpoch
		}
	case CodeStuckNode:
		if p.replayed { // the journal has epochs that ran out of time, and none without a node
			err.Code = CodeEpochTimeout
			return failEpoch
		}
	}
	return s.onError
}
