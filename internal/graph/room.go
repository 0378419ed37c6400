package graph

import (
	"fmt"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
)

// What nodes may come to, in bytes, with what a value shares with others counted in full: it is sent, kept and
// compared in full. A list of two times the list of the node before costs nothing to make, and thirty nodes of
// that are more than any machine has.
const (
	maxResult = 64 << 20  // of one node
	maxEpoch  = 512 << 20 // of all nodes that run in one epoch
)

// roomFor refuses a value that is too large for a node, or for what is left of the epoch's room, which it takes.
func roomFor(v boundary.Value, room *int) error {
	n := v.SizeUpTo(min(maxResult, *room))
	switch {
	case n > maxResult:
		return &expression.EvalError{Code: expression.CodeLimitExceeded,
			Text: fmt.Sprintf("the value is larger than %d MiB, what it has several times counted each time",
				maxResult>>20)}
	case n > *room:
		return &expression.EvalError{Code: expression.CodeLimitExceeded,
			Text: fmt.Sprintf("the values of the nodes of one epoch are larger than %d MiB together", maxEpoch>>20)}
	}
	*room -= n
	return nil
}

// tooLarge takes the room that the value of node i needs, and is the node's error where it has none. Which node is the
// one that has none depends with a pool on who was first, so with a journal that ends the epoch, whatever on_error
// says: all of them have no room in a replay either.
func (r *Result) tooLarge(i int, v boundary.Value) *NodeError {
	err := roomFor(v, &r.room)
	if err == nil {
		return nil
	}
	e := errorOf(i, r.plan.nodes[i].Name, err)
	e.ends = r.plan.replayed && len(r.plan.lanes) > 0 && v.SizeUpTo(maxResult) <= maxResult
	return e
}
