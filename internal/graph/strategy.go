package graph

import (
	"fmt"
	"slices"

	"github.com/graphd/graphd/internal/graph/internal/order"
	"github.com/graphd/graphd/internal/spec"
)

// checkStrategies looks for inputs that are latest only because nothing is declared, and that a
// node comes of to which every event matters: an event node, or one that remembers. What comes of
// it would depend on how fast the graph is, so the declaration has to choose (M9).
func (c *compiler) checkStrategies(ranked []int) {
	c.findReach()
	for i, in := range c.inputs {
		if !in.Unsaid {
			continue
		}
		for _, at := range ranked {
			u := &c.units[at]
			if why := u.counts(); why != "" && u.reach.Has(i) {
				c.report(c.inputPos(in.Name), CodeStrategyNeeded, fmt.Sprintf("%s is latest by default: a value that "+
					"is overwritten before an epoch takes it never reaches %s, %s; say here (or in the reactor, for "+
					"all) what is meant: strategy: sequential where every value counts, strategy: latest where the "+
					"newest is enough", in.Name, u.decl.Name, why), "")
				break
			}
		}
	}
}

// findReach fills in which inputs units come of in any epoch: those that they rest on, and those under what they, or
// nodes that they rest on, read as of the last one.
func (c *compiler) findReach() {
	for i := range c.units {
		c.units[i].reach = c.units[i].inputs
	}
	if len(c.delayed) == 0 {
		return
	}
	under := make([][]int, len(c.units)) // by unit: those that it reads, whenever
	for i := range c.units {
		u := &c.units[i]
		under[i] = slices.Clone(u.delays)
		deps := u.deps
		if u.ring != nil {
			deps = slices.Concat(deps, u.ring.deps)
		}
		for _, d := range deps {
			if n := d.from - len(c.inputs); n >= 0 {
				under[i] = append(under[i], n)
			}
		}
	}
	for _, part := range order.Parts(under) {
		if c.caller.HasGone() {
			return // nobody asks for the plan any more
		}
		reach := slices.Clone(c.units[part[0]].inputs) // that of all in the part: they come of each other
		for _, i := range part {
			reach.Add(c.units[i].inputs)
			for _, n := range under[i] {
				reach.Add(c.units[n].reach)
			}
		}
		for _, i := range part {
			c.units[i].reach = reach
		}
	}
}

// counts says why every event matters to a node; "" when only the newest values do.
func (u *unit) counts() string {
	for _, s := range u.sources {
		if s.program != nil && s.program.Memories() > 0 {
			return fmt.Sprintf("which remembers every value (%s)", s.program.Remembers())
		}
	}
	switch {
	case len(u.delays) > 0:
		return "which goes on from its last epoch (delay)"
	case u.decl.Event != nil && *u.decl.Event:
		return "whose every run counts (event: true)"
	case u.eventOf():
		return "whose every run counts since it rests on a sequential input too"
	}
	return ""
}

// inputPos is where an input is declared.
func (c *compiler) inputPos(name string) spec.Pos {
	i := slices.IndexFunc(c.g.Accumulators, func(a spec.Accumulator) bool { return a.Name == name })
	if i < 0 {
		return spec.Pos{}
	}
	return c.g.Accumulators[i].Pos
}

// Conflates lists for an input that is not an event input the nodes to which every event
// matters, in plan order: under load they do not see every value of it.
func (p *Plan) Conflates(input int) []string { return p.conflates[input] }
