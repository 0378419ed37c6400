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
