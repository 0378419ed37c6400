package graph

import (
	"fmt"
	"slices"

	"github.com/graphd/graphd/internal/spec"
)

// checkStrategies looks for inputs that are latest only because nothing is declared, and that a
// node rests on to which every event matters: an event node, or one that remembers. What comes of
// it would depend on how fast the graph is, so the declaration has to choose (M9).
func (c *compiler) checkStrategies(order []int) {
	for i, in := range c.inputs {
		if !in.Unsaid {
			continue
		}
		for _, at := range order {
			u := &c.units[at]
			if why := u.counts(); why != "" && u.inputs.Has(i) {
				c.report(c.inputPos(in.Name), CodeStrategyNeeded, fmt.Sprintf("%s is latest by default: a value that "+
					"is overwritten before an epoch takes it never reaches %s, %s; say here (or in the reactor, for "+
					"all) what is meant: strategy: sequential where every value counts, strategy: latest where the "+
					"newest is enough", in.Name, u.decl.Name, why), "")
				break
			}
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
