package graph

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/graphd/graphd/internal/expression"
)

// Codes of a [NodeError] beside those of an evaluation, which are [expression]'s.
const (
	CodePanic        = "panic"         // the node's code panicked
	CodeEpochTimeout = "epoch_timeout" // interrupted: the epoch took too long
	CodeCancelled    = "cancelled"     // interrupted for any other reason

	CodeNoConvergence = "no_convergence" // its loop has not ended within its iterations
	unanswered        = "unanswered"     // what the epoch has asked for is not there yet; see [Result.Wants]
)

// NodeError is why a node failed, or why an epoch ended early.
type NodeError struct {
	// Node is the node's index; -1 for the guard and the condition of an output. When the epoch was interrupted it
	// is the node that would have run next.
	Node int
	// Name is the node's name, the output's, or "guard".
	Name string
	// Code is stable: one of this package's, or an expression's.
	Code string
	// Text says what happened, in one line.
	Text string
	// Stack is where it happened; only after a panic.
	Stack string

	ends bool // the epoch, whatever on_error says
}

func (e *NodeError) Error() string {
	return fmt.Sprintf("%s: %s: %s", e.Name, e.Code, e.Text)
}

// errorOf makes an evaluation's error the node's.
func errorOf(node int, name string, err error) *NodeError {
	e := &NodeError{Node: node, Name: name, Code: "error", Text: err.Error()}
	if eval, ok := errors.AsType[*expression.EvalError](err); ok {
		e.Code = eval.Code
	}
	return e
}

// errorOf makes the error of node i's program the node's. One that the clock has made ends the epoch in a graph with a
// journal, as one that has run out of its own time: the journal says so of an epoch, and a replay comes to the same.
// What had come of the node alone it could not know.
func (p *Plan) errorOf(i int, err error) *NodeError {
	e := errorOf(i, p.nodes[i].Name, err)
	if eval, ok := errors.AsType[*expression.EvalError](err); ok && eval.Timed && p.replayed {
		e.Code, e.ends = CodeEpochTimeout, true
	}
	return e
}

// panicOf makes a recovered panic the node's error. Call it while recovering.
func panicOf(node int, name string, recovered any) *NodeError {
	return &NodeError{
		Node: node, Name: name, Code: CodePanic,
		Text: fmt.Sprint(recovered), Stack: string(debug.Stack()),
	}
}

// ErrEpochTimeout is what an Interrupt answers when the time of the epoch is up (M25).
var ErrEpochTimeout = errors.New("the epoch ran past its epoch_timeout, or the budget that cancels it")

// interruptOf makes an interruption an error before the node it kept from running.
func interruptOf(node int, name string, err error) *NodeError {
	e := &NodeError{
		Node: node, Name: name, Code: CodeCancelled, Text: "the epoch was cancelled before this node ran: " +
			err.Error(),
	}
	if errors.Is(err, ErrEpochTimeout) {
		e.Code, e.Text = CodeEpochTimeout, "the epoch took too long before this node ran: "+err.Error()
	}
	return e
}
