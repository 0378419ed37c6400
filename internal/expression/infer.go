package expression

import (
	"slices"

	"github.com/expr-lang/expr/ast"
	"github.com/graphd/graphd/internal/expression/library"
)

// typeOf is the type of a checked node. It knows what the checker forgets: the
// fields of objects that the expression itself makes.
func typeOf(n ast.Node, vars []Name) Type {
	switch n := n.(type) {
	case *ast.IdentifierNode:
		for _, v := range slices.Backward(vars) {
			if v.Name == n.Value {
				return v.Type
			}
		}
	case *ast.MapNode:
		return typeOfObject(n, vars)
	case *ast.ArrayNode:
		if len(n.Nodes) == 0 {
			return ListOf(Any())
		}
		elem := typeOf(n.Nodes[0], vars)
		for _, m := range n.Nodes[1:] {
			elem = unify(elem, typeOf(m, vars))
		}
		return ListOf(elem)
	case *ast.ConditionalNode:
		return unify(typeOf(n.Exp1, vars), typeOf(n.Exp2, vars))
	case *ast.BinaryNode:
		if n.Operator == "??" {
			return unify(typeOf(n.Left, vars), typeOf(n.Right, vars))
		}
	case *ast.VariableDeclaratorNode:
		return typeOf(n.Expr, append(vars, Name{n.Name, typeOf(n.Value, vars)}))
	case *ast.SequenceNode:
		return typeOf(n.Nodes[len(n.Nodes)-1], vars)
	}
	return fromNature(*n.Nature())
}

func typeOfObject(n *ast.MapNode, vars []Name) Type {
	fields := make(map[string]Type, len(n.Pairs))
	for _, p := range n.Pairs {
		pair := p.(*ast.PairNode)
		name, ok := pair.Key.(*ast.StringNode)
		if !ok {
			return ObjectOf(nil, true)
		}
		fields[name.Value] = typeOf(pair.Value, vars)
	}
	return ObjectOf(fields, false)
}

// reckoned is the operator or function that an expression comes to the result of, where that is never bool, whatever
// the types of what it reads; "" where it may be. It is of numbers, texts and times, and fails on anything else.
func reckoned(n ast.Node) string {
	switch n := n.(type) {
	case *ast.UnaryNode:
		if n.Operator == "-" || n.Operator == "+" {
			return n.Operator
		}
	case *ast.BinaryNode:
		switch n.Operator {
		case "+", "-", "*", "/", "%", "**", "^":
			return n.Operator
		case "??":
			return bothReckoned(n.Left, n.Right)
		}
	case *ast.ConditionalNode:
		return bothReckoned(n.Exp1, n.Exp2)
	case *ast.VariableDeclaratorNode:
		return reckoned(n.Expr)
	case *ast.SequenceNode:
		return reckoned(n.Nodes[len(n.Nodes)-1])
	case *ast.CallNode:
		if name, ok := n.Callee.(*ast.IdentifierNode); ok {
			if f := library.Table()[name.Value]; f != nil && f.Same { // abs, min, max: of no bool
				return name.Value
			}
		}
	}
	return ""
}

func bothReckoned(a, b ast.Node) string {
	if reckoned(a) == "" {
		return ""
	}
	return reckoned(b)
}
