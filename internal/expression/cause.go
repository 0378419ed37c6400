package expression

import (
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"
	"github.com/graphd/graphd/internal/expression/library"
)

// causes checks that what cause() is compared with is one.
func (v *validator) causes(n *ast.BinaryNode) {
	if n.Operator != "==" && n.Operator != "!=" && n.Operator != "in" {
		return
	}
	asked := func(n ast.Node) bool {
		call, ok := n.(*ast.CallNode)
		if !ok {
			return false
		}
		id, ok := call.Callee.(*ast.IdentifierNode)
		return ok && id.Value == library.Cause && !v.known(id.Value)
	}
	switch {
	case asked(n.Left):
		v.isCause(n.Right)
	case asked(n.Right):
		v.isCause(n.Left)
	}
}

func (v *validator) isCause(n ast.Node) {
	switch n := n.(type) {
	case *ast.ArrayNode:
		for _, one := range n.Nodes {
			v.isCause(one)
		}
	case *ast.StringNode:
		if all := library.Causes(); !slices.Contains(all, n.Value) {
			v.fail(n, CodeUnknownName, causeOf(n.Value), "no epoch has the cause %.64q; there are %s", n.Value,
				strings.Join(all, ", "))
		}
	}
}

// causeOf is the cause that is meant by a word.
func causeOf(word string) string {
	switch strings.ToLower(word) {
	case "timer", "every", "cadence", "schedule", "interval", "clock":
		return "tick"
	case "timeout", "wait", "max-wait":
		return "max_wait"
	case "event", "arrival", "input", "data", "any", "all", "trigger":
		return "criteria"
	case "fire", "manual", "operator", "forced":
		return "force"
	}
	return nearest(word, library.Causes())
}
