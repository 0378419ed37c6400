package expression

import (
	"slices"

	"github.com/expr-lang/expr/ast"
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
