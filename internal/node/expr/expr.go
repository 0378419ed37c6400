// Package expr is the node that is an expression: its value is what that comes to.
package expr

import (
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/kind"
	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/spec/decode"
	"github.com/graphd/graphd/internal/spec/meaning"
)

// Kind describes the node.
func Kind() kind.Node {
	about := decode.Inline("The node's value. Over accumulators, nodes and vars.", `"$ref": "#/$defs/expression"`)
	declared := decode.NewKind("expr", about, defaults, func(d *decode.Decoder, v decode.Value, c *Declared) {
		c.Expr = d.Expr(v)
	})
	result := func(_ Declared, terms []*expression.Program) expression.Type { return terms[0].Type() }
	// The program itself evaluates the node: nothing stands between it and the plan.
	compile := func(_ Declared, parts kind.Parts) kind.Evaluator { return parts.Programs[0] }
	return kind.NewNode(declared, kind.Unchecked, kind.Unchecked, result, compile)
}

// Declared is the node as a declaration describes it.
type Declared struct{ Expr spec.Expr }

func defaults() Declared { return Declared{} }

// Canonical implements [spec.NodeConfig].
func (c Declared) Canonical(t *meaning.Tree, name string) { t.Expr(name, c.Expr.Text) }

// Identity implements [spec.NodeConfig]: the expression is all there is.
func (c Declared) Identity() string { return "" }

// Reads implements [spec.NodeConfig].
func (c Declared) Reads() spec.Reads { return spec.ByTerms(spec.Term{Expr: c.Expr}) }

// Routes implements [spec.NodeConfig].
func (c Declared) Routes() []string { return nil }
