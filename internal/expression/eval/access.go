package eval

import (
	"github.com/expr-lang/expr/ast"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression/rules"
)

// read is a read of a name in scope and of the constant path of fields that
// follows it, such as orderbook.bid. [Program.Bind] fills in shape and slot.
type read struct {
	name  int // index in Scope.Names
	plain bool
	fresh bool // not the value is read, but whether it is fresh
	path  []field
	shape *boundary.Shape // nil: not bound
	slot  int             // of path[0] in shape
}

// field is one step of a path.
type field struct {
	name     string
	optional bool // follows ?.
	at       Site
}

// first is the first field of the path, by slot where that is known. What is
// absent is for missing to judge.
func (r *read) first(e *Env) boundary.Value {
	root := &e.Values[r.name]
	if r.shape != nil {
		if at := root.SlotAt(r.shape, r.slot); at != nil {
			return *at
		}
	}
	return root.Field(r.path[0].name)
}

// missing is the value of a read whose first field is not there. ended is as of load.
func (r *read) missing(e *Env) (v boundary.Value, ended bool) {
	root, f := e.Values[r.name], &r.path[0]
	switch root.Kind() {
	case boundary.KindAbsent:
		return r.absent(e), true
	case boundary.KindNull:
		if f.optional {
			return root, true
		}
	}
	v = e.field(f.at, root, f.name)
	return v, v.IsAbsent()
}

// absent is the value of a read whose name is absent.
func (r *read) absent(e *Env) boundary.Value {
	if r.plain {
		e.err = ErrAbsent
		return boundary.Value{}
	}
	return boundary.Null()
}

// load follows the whole path. ended says that v is the value of the whole
// chain of accesses, whatever may come after this path: null by ?., or a failure.
func (r *read) load(e *Env) (v boundary.Value, ended bool) {
	if len(r.path) == 0 {
		v = e.Values[r.name]
		if v.IsAbsent() {
			return r.absent(e), true
		}
		return v, false
	}
	if v = r.first(e); v.IsAbsent() {
		if v, ended = r.missing(e); ended {
			return v, true
		}
	}
	for i := 1; i < len(r.path); i++ {
		f := &r.path[i]
		if f.optional && v.IsNull() {
			return v, true
		}
		if v = e.field(f.at, v, f.name); v.IsAbsent() {
			return v, true
		}
	}
	return v, false
}

// code compiles a read with nothing after it.
func (r *read) code() code {
	switch len(r.path) {
	case 0:
		return valueCode(func(e *Env) boundary.Value {
			if v := e.Values[r.name]; !v.IsAbsent() {
				return v
			}
			return r.absent(e)
		})
	case 1:
		return code{val: firstValue(r), num: firstNumber(r), read: r}
	}
	return valueCode(func(e *Env) boundary.Value {
		v, _ := r.load(e)
		return v
	})
}

// firstValue is the value of a path of one field.
func firstValue(r *read) value {
	return func(e *Env) boundary.Value {
		v := r.first(e)
		if v.IsAbsent() {
			v, _ = r.missing(e)
		}
		return v
	}
}

// firstNumber is firstValue in registers.
func firstNumber(r *read) number {
	return func(e *Env) (uint64, numKind) {
		v := r.first(e)
		if bits, ok := v.FloatBits(); ok {
			return bits, numFloat
		}
		if v.IsAbsent() {
			v, _ = r.missing(e)
		}
		return e.split(v)
	}
}

// step is one access after another: .name, [key] or .Method(…).
type step struct {
	optional bool
	at       Site
	name     string    // of a field
	key      value     // of an element; nil for the others
	method   *Function // nil for the others
	args     []code    // of the method
	slots    int       // where the method's receiver and arguments go
	loop     bool      // within a loop
}

func (s *step) apply(e *Env, v boundary.Value) boundary.Value {
	switch {
	case s.key != nil:
		k := s.key(e)
		if k.IsAbsent() {
			return k
		}
		if v.Kind() == boundary.KindTable {
			return e.row(s.at, v, k)
		}
		out, f := rules.Element(v, k)
		return e.done(s.at, out, f)
	case s.method != nil:
		e.vars[s.slots] = v
		return s.method.apply(e, s.at, s.slots, 1, s.args, s.loop)
	}
	return e.field(s.at, v, s.name)
}

// follow applies the steps to v. Once ?. meets null, the whole chain is null.
func follow(e *Env, v boundary.Value, steps []step) boundary.Value {
	for i := range steps {
		s := &steps[i]
		if s.optional && v.IsNull() {
			return v
		}
		if v = s.apply(e, v); v.IsAbsent() {
			return v
		}
	}
	return v
}

// access compiles a chain of accesses. Under lenient, see [compiler.lenient], a name that is
// absent makes the whole chain null.
func (c *compiler) access(n ast.Node, lenient bool) code {
	base, links := c.unchain(n)
	if id, ok := base.(*ast.IdentifierNode); ok {
		if _, local := c.local(id.Value); !local {
			return c.accessName(id, links, lenient)
		}
	}
	from := c.compile(base).val
	steps := c.steps(links)
	switch {
	case len(steps) == 0:
		return valueCode(from)
	case len(steps) == 1 && steps[0].name != "" && !steps[0].optional:
		s := steps[0]
		return valueCode(func(e *Env) boundary.Value {
			v := from(e)
			if f := v.Field(s.name); !f.IsAbsent() {
				return f
			}
			if v.IsAbsent() {
				return v
			}
			return e.field(s.at, v, s.name)
		})
	}
	return valueCode(func(e *Env) boundary.Value {
		v := from(e)
		if v.IsAbsent() {
			return v
		}
		return follow(e, v, steps)
	})
}

// accessName compiles a chain that begins at a name in scope.
func (c *compiler) accessName(id *ast.IdentifierNode, links []ast.Node, lenient bool) code {
	r := &read{name: c.names[id.Value], plain: !lenient}
	for len(links) > 0 {
		m, ok := links[0].(*ast.MemberNode)
		if !ok {
			break
		}
		name, ok := m.Property.(*ast.StringNode)
		if !ok {
			break
		}
		if m.Optional && len(r.path) == 0 {
			r.plain = false
		}
		r.path = append(r.path, field{name: name.Value, optional: m.Optional, at: c.site(m.Property)})
		links = links[1:]
	}
	if len(links) > 0 && len(r.path) == 0 {
		if m, ok := links[0].(*ast.MemberNode); ok && m.Optional || c.optional[links[0]] {
			r.plain = false
		}
	}
	c.reads = append(c.reads, r)
	c.outside = true
	if len(links) == 0 {
		return r.code()
	}
	steps := c.steps(links)
	return valueCode(func(e *Env) boundary.Value {
		v, ended := r.load(e)
		if ended {
			return v
		}
		return follow(e, v, steps)
	})
}

// unchain takes a chain of accesses apart: what it begins with, and the
// accesses in order, each a MemberNode or the CallNode of a method.
func (c *compiler) unchain(n ast.Node) (base ast.Node, links []ast.Node) {
	for {
		switch m := n.(type) {
		case *ast.ChainNode:
			n = m.Node
			continue
		case *ast.MemberNode:
			links = append(links, m)
			n = m.Node
			continue
		case *ast.CallNode:
			if IsMethodCall(m) {
				links = append(links, m)
				n = m.Arguments[0]
				continue
			}
		}
		for i, j := 0, len(links)-1; i < j; i, j = i+1, j-1 {
			links[i], links[j] = links[j], links[i]
		}
		return n, links
	}
}

func (c *compiler) steps(links []ast.Node) []step {
	steps := make([]step, len(links))
	for i, l := range links {
		switch l := l.(type) {
		case *ast.MemberNode:
			steps[i] = step{optional: l.Optional, at: c.site(l.Property)}
			if name, ok := l.Property.(*ast.StringNode); ok {
				steps[i].name = name.Value
			} else {
				steps[i].key = c.compile(l.Property).val
			}
		case *ast.CallNode:
			f := c.functions[l.Callee.(*ast.IdentifierNode).Value]
			s := step{optional: c.optional[l], at: c.site(l), method: f, loop: len(c.loops) > 0}
			s.slots = c.takeSlots(len(l.Arguments))
			for _, a := range l.Arguments[1:] {
				s.args = append(s.args, c.compile(a))
			}
			steps[i] = s
		}
	}
	return steps
}
