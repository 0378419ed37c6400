package eval

import (
	"github.com/expr-lang/expr/ast"
	"github.com/graphd/graphd/internal/boundary"
)

// Where a name that is absent reads as null instead of ending the evaluation: before ?? and
// beside nil. The third such place, ?. behind a name, is a matter of access.

// coalesce is a ?? b: b when a is null.
func (c *compiler) coalesce(n *ast.BinaryNode) code {
	l, r := c.lenient(n.Left), c.compile(n.Right)
	return orElse(l, r)
}

// lenient compiles the left side of ??, or what is compared with nil: a name that is absent
// reads as null there.
func (c *compiler) lenient(n ast.Node) code {
	if b, ok := n.(*ast.BinaryNode); ok && b.Operator == "??" {
		return orElse(c.lenient(b.Left), c.lenient(b.Right))
	}
	if base, _ := c.unchain(n); base != nil {
		if id, ok := base.(*ast.IdentifierNode); ok {
			if _, local := c.local(id.Value); !local {
				return c.access(n, true)
			}
		}
	}
	return c.compile(n)
}

func orElse(l, r code) code {
	f, g := l.val, r.val
	return valueCode(func(e *Env) boundary.Value {
		if v := f(e); !v.IsNull() {
			return v
		}
		return g(e)
	})
}

// sides are the two sides of an operator. What is compared with nil itself reads null when it
// is absent: `x == nil` is how an expression asks whether x is there.
func (c *compiler) sides(n *ast.BinaryNode) (l, r code) {
	if n.Operator == "==" || n.Operator == "!=" {
		switch {
		case isNil(n.Right):
			return c.lenient(n.Left), c.compile(n.Right)
		case isNil(n.Left):
			return c.compile(n.Left), c.lenient(n.Right)
		}
	}
	return c.compile(n.Left), c.compile(n.Right)
}

func isNil(n ast.Node) bool {
	_, is := n.(*ast.NilNode)
	return is
}
