package graph

import (
	"slices"

	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/spec"
)

// A delayed read is of a node's value as of the key's last kept epoch (M17), whatever the node does in this one. So
// it is no edge that orders nodes, and it makes none due: the value has a place of its own in the environment, which
// is filled from the state when an epoch begins.

// findDelayed fills in which nodes a unit reads as of the last kept epoch.
func (c *compiler) findDelayed(u *unit) {
	for _, n := range u.decl.Delay {
		at, known := c.index[n.Name]
		switch i := at - len(c.inputs); {
		case !known || at >= c.varsIndex():
			c.tell(n.Pos, spec.CodeUnknownName, "there is no node %s to read as of the last epoch; declare it or "+
				"correct the name", n.Name)
		case i < 0:
			c.tell(n.Pos, codeNotANode, "%s is an accumulator, and delay reads nodes: let a node hand it on, such "+
				"as { expr: %s }, and name that", n.Name, n.Name)
		case u.kind != nil && u.decl.Reads().Listed():
			c.tell(n.Pos, spec.CodeConflict, "what a node of kind %s reads is listed as inputs, and is of this "+
				"epoch; let a node with an expression read %s with delay, and list that", u.decl.Kind, n.Name)
		default:
			u.delays = append(u.delays, i)
			if !slices.Contains(c.delayed, i) {
				c.delayed = append(c.delayed, i)
			}
		}
	}
	slices.Sort(u.delays)
}

// refuseFresh reports a question about this epoch that is asked of the last one.
func (c *compiler) refuseFresh(u *unit, s *source, r expression.Read) bool {
	if !r.Fresh {
		return false
	}
	name := c.units[r.Name-len(c.inputs)].decl.Name
	c.tell(s.Expr.Pos, expression.CodeNotAllowed, "fresh(%s) asks what has come in this epoch, and %s reads %s as "+
		"of the last one; ask another node, or take %s out of delay", name, u.decl.Name, name, name)
	return true
}

// refuseUnread reports nodes in delay that no expression of the unit reads; late are those that are read.
func (c *compiler) refuseUnread(u *unit, late []int) {
	if slices.ContainsFunc(u.sources, func(s source) bool { return s.broken }) {
		return // what cannot be read may have read it
	}
	for _, n := range u.decl.Delay {
		if i := c.index[n.Name] - len(c.inputs); slices.Contains(u.delays, i) && !slices.Contains(late, i) {
			c.tell(n.Pos, spec.CodeNoEffect, "%s does not read %s, so there is nothing to delay; read it, or take "+
				"it out", u.decl.Name, n.Name)
		}
	}
}

// addLate adds the places of what is read as of the last kept epoch. Their types are not known: the node may come
// later in the plan.
func (c *compiler) addLate(n *names) {
	if len(c.delayed) == 0 {
		return
	}
	n.all = append(n.all, make([]expression.Name, outputNames)...)
	for _, i := range c.delayed {
		n.all = append(n.all, expression.Name{Name: c.units[i].decl.Name, Type: expression.Any()})
	}
	n.narrow = make([]expression.Name, len(n.all))
}

// lateNames are the places of what a unit reads as of the last kept epoch, by name; nil for nothing.
func (c *compiler) lateNames(u *unit) map[string]int {
	if len(u.delays) == 0 {
		return nil
	}
	late := make(map[string]int, len(u.delays))
	for _, i := range u.delays {
		late[c.units[i].decl.Name] = c.varsIndex() + 2 + outputNames + slices.Index(c.delayed, i)
	}
	return late
}

// late is the place in an environment of the k-th of the delayed values.
func (p *Plan) late(k int) int { return len(p.inputs) + len(p.nodes) + 2 + outputNames + k }
