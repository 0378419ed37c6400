package kind

import (
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/spec/decode"
)

// Evaluator computes a node's value from what there is in an epoch. A compiled expression is
// one as it stands, so that a node which is nothing but an expression costs no more than it.
//
// An evaluator is pure and safe for concurrent use: the same for the same values, without clock
// and I/O of its own. What it plainly reads and is absent makes the node skipped: it answers
// [expression.ErrAbsent]. What its terms remember is in env.Memories, term after term.
type Evaluator interface {
	Eval(env *expression.Env) (boundary.Value, error)
}

// Foreign is an [Evaluator] that runs somebody else's code: one that may not come back. While it
// runs, its node is known by name (M25).
type Foreign interface {
	Evaluator
	Foreign()
}

// Holding is a configuration of a node that takes memory beside the values that it makes. One that does not answer
// takes none.
type Holding interface {
	// Bytes is about how much. Safe for concurrent use.
	Bytes() int64
}

// Loading is a configuration of a node of which a part stands in a file. One that does not answer has none.
type Loading interface {
	// Load reads the file, and answers with the configuration that has it, or with what is wrong. inputs is how many
	// values the node reads.
	Load(at Place, inputs int) (spec.NodeConfig, spec.Diagnostics)
}

// Parts is what a plan has made of what a node reads.
type Parts struct {
	// Programs are the node's terms, compiled.
	Programs []*expression.Program
	// Inputs are what its field `inputs` lists.
	Inputs []Read
	// File is the declaration's; "" when it was pushed.
	File string
	// Retry is how a call is tried again; the zero Retry is not at all.
	Retry spec.Retry
	// GoesOn says that the node's on_error has the epoch go on where it fails, and that nothing is lost by that.
	GoesOn bool
}

// Read is a value that a node reads by its name.
type Read struct {
	Name string
	// At is the place of the value in [expression.Env.Values].
	At int
}

// Node describes a kind of node. Make one with [NewNode].
type Node struct {
	decode.Kind[spec.NodeConfig]
	check   func(spec.NodeConfig, Place) spec.Diagnostics
	remarks func(spec.NodeConfig, Place) spec.Diagnostics
	result  func(spec.NodeConfig, []*expression.Program) expression.Type
	compile func(spec.NodeConfig, Parts) Evaluator
}

// NewNode describes a kind of node: how it is declared, what of a declaration only it can
// check, what in one is valid and hardly meant, the type of its value by its terms (those that
// are wrong are nil), and how it is evaluated.
//
// What a node reads and which routes it has, its configuration says; see [spec.NodeConfig].
func NewNode[C spec.NodeConfig](
	declared decode.Kind[C],
	check func(C, Place) spec.Diagnostics,
	remarks func(C, Place) spec.Diagnostics,
	result func(C, []*expression.Program) expression.Type,
	compile func(C, Parts) Evaluator,
) Node {
	return Node{
		Kind:    decode.As(declared, func(c C) spec.NodeConfig { return c }),
		check:   func(c spec.NodeConfig, at Place) spec.Diagnostics { return check(c.(C), at) },
		remarks: func(c spec.NodeConfig, at Place) spec.Diagnostics { return remarks(c.(C), at) },
		result: func(c spec.NodeConfig, terms []*expression.Program) expression.Type {
			return result(c.(C), terms)
		},
		compile: func(c spec.NodeConfig, parts Parts) Evaluator { return compile(c.(C), parts) },
	}
}

// LaterNode is a kind of node that is known and not built yet. instead says what there is instead.
func LaterNode(name, about, instead string) Node {
	return Node{Kind: decode.LaterKind[spec.NodeConfig](name, about, instead)}
}

// Check says what is wrong with a configuration where it stands.
func (n *Node) Check(c spec.NodeConfig, at Place) spec.Diagnostics { return n.check(c, at) }

// Remarks say what in a configuration is valid and hardly meant.
func (n *Node) Remarks(c spec.NodeConfig, at Place) spec.Diagnostics { return n.remarks(c, at) }

// Result is the type of the node's value; terms that are wrong are nil.
func (n *Node) Result(c spec.NodeConfig, terms []*expression.Program) expression.Type {
	return n.result(c, terms)
}

// Compile makes the node's evaluator.
func (n *Node) Compile(c spec.NodeConfig, parts Parts) Evaluator { return n.compile(c, parts) }
