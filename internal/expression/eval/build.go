package eval

import (
	"slices"

	"github.com/expr-lang/expr/ast"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression/rules"
)

// list compiles [a, b, c].
func (c *compiler) list(n *ast.ArrayNode) code {
	at, shares := c.site(n), c.shares
	parts := make([]value, len(n.Nodes))
	for i, m := range n.Nodes {
		parts[i] = c.compile(m).val
	}
	return valueCode(func(e *Env) boundary.Value {
		items := make([]boundary.Value, len(parts))
		for i, f := range parts {
			if items[i] = f(e); items[i].IsAbsent() {
				return boundary.Value{}
			}
		}
		if !e.admit(at, items, shares) {
			return boundary.Value{}
		}
		return boundary.List(items)
	})
}

// object compiles {a: 1, "b": 2}. A name given twice has its last value.
func (c *compiler) object(n *ast.MapNode) code {
	at, shares := c.site(n), c.shares
	var names []string
	slots := make([]int, len(n.Pairs))
	vals := make([]value, len(n.Pairs))
	for i, p := range n.Pairs {
		pair := p.(*ast.PairNode)
		key, ok := pair.Key.(*ast.StringNode)
		if !ok {
			return c.dynamicObject(n)
		}
		if slots[i] = slices.Index(names, key.Value); slots[i] < 0 {
			slots[i] = len(names)
			names = append(names, key.Value)
		}
		vals[i] = c.compile(pair.Value).val
	}
	shape := boundary.NewShape(names...)
	return valueCode(func(e *Env) boundary.Value {
		fields := make([]boundary.Value, len(names))
		for i, f := range vals {
			v := f(e)
			if v.IsAbsent() {
				return v
			}
			fields[slots[i]] = v
		}
		if !e.admit(at, fields, shares) {
			return boundary.Value{}
		}
		return boundary.Object(shape, fields)
	})
}

// dynamicObject compiles an object with names that are computed: {(a): 1}.
func (c *compiler) dynamicObject(n *ast.MapNode) code {
	at := c.site(n)
	keys, vals := make([]value, len(n.Pairs)), make([]value, len(n.Pairs))
	for i, p := range n.Pairs {
		pair := p.(*ast.PairNode)
		keys[i], vals[i] = c.compile(pair.Key).val, c.compile(pair.Value).val
	}
	return valueCode(func(e *Env) boundary.Value {
		var fields Fields
		for i := range keys {
			k := keys[i](e)
			if k.IsAbsent() {
				return k
			}
			name, ok := k.AsString()
			if !ok {
				return e.Fail(at, rules.CodeTypeError, "the name of a field must be string, got %s", k.Kind())
			}
			v := vals[i](e)
			if v.IsAbsent() {
				return v
			}
			fields.Set(name, v)
		}
		return e.Object(at, &fields)
	})
}

// rangeList is a..b: the ints from a to b, both included.
func rangeList(at Site, l, r value) value {
	return func(e *Env) boundary.Value {
		a := l(e)
		if a.IsAbsent() {
			return a
		}
		b := r(e)
		if b.IsAbsent() {
			return b
		}
		from, ok := a.AsInt()
		to, ok2 := b.AsInt()
		if !ok || !ok2 {
			return e.fault(at, rules.Mismatch("..", a, b))
		}
		if to < from {
			return boundary.List(nil)
		}
		n := uint64(to) - uint64(from)
		if n >= MaxItems {
			e.Room(at, MaxItems+1)
			return boundary.Value{}
		}
		if !e.Room(at, int(n)+1) {
			return boundary.Value{}
		}
		items := make([]boundary.Value, n+1)
		for i := range items {
			items[i] = boundary.Int(from + int64(i))
		}
		return boundary.List(items)
	}
}

// slice compiles v[from:to].
func (c *compiler) slice(n *ast.SliceNode) code {
	at, of := c.site(n), c.compile(n.Node).val
	bound := func(n ast.Node) value {
		if n == nil {
			return func(*Env) boundary.Value { return boundary.Null() }
		}
		return c.compile(n).val
	}
	from, to := bound(n.From), bound(n.To)
	hasFrom, hasTo := n.From != nil, n.To != nil
	return valueCode(func(e *Env) boundary.Value {
		v := of(e)
		if v.IsAbsent() {
			return v
		}
		a := from(e)
		if a.IsAbsent() {
			return a
		}
		b := to(e)
		if b.IsAbsent() {
			return b
		}
		i, iok := a.AsInt()
		j, jok := b.AsInt()
		if iok != hasFrom || jok != hasTo {
			return e.Fail(at, rules.CodeTypeError, "the bounds of a slice must be int")
		}
		return e.Slice(at, v, i, j, hasTo)
	})
}
