package graph

import (
	"fmt"
	"slices"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/spec"
)

// isTable says that the input is a table: what is looked up, and no value of its own (M3).
func (in *Input) isTable() bool { return in.Type.Kind() == boundary.KindTable }

// passesOver says that a change of a table makes the node not due: every run of it counts, so that what
// has not happened must not be counted again. A node that rests on tables alone has nothing else to run on.
func (u *unit) passesOver(inputs []Input) bool {
	return u.counts() != "" && slices.ContainsFunc(u.deps, func(d dependency) bool {
		return d.from >= len(inputs) || !inputs[d.from].isTable()
	})
}

// refuseTable reports a table where a value is asked for.
func (c *compiler) refuseTable(at spec.Pos, input int, what string) {
	if in := &c.inputs[input]; in.isTable() {
		c.report(at, codeNotANode, fmt.Sprintf("%s is a table, which is looked up and no value by itself: %s",
			in.Name, what), "")
	}
}

// refuseSide reports a side of a join where its value is asked for: nothing of it waits to be read.
func (c *compiler) refuseSide(at spec.Pos, input int) {
	if in := &c.inputs[input]; in.JoinedBy != "" {
		c.report(at, codeNotANode, fmt.Sprintf("%s is a side of the join %s, which takes its events: read %s.left or "+
			"%s.right, or declare an input of its own for this", in.Name, in.JoinedBy, in.JoinedBy, in.JoinedBy), "")
	}
}
