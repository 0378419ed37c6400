package expression

import (
	"errors"
	"fmt"
	"slices"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/builtin"
	"github.com/expr-lang/expr/compiler"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/vm"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression/eval"
)

// oracle evaluates an expression in another way: in the virtual machine of
// expr-lang, on plain Go values. Its syntax tree is rewritten so that every
// operation whose meaning the project defines goes through a function written
// here, with exact arithmetic; control flow, variables, predicates and
// optional chains are the machine's own.
type oracle struct {
	program *vm.Program
	machine vm.VM
	env     *Env
	names   map[string]int
	vars    []string
	fresh   int
}

// absentRoot is what a lenient read of an absent name yields.
type absentRoot struct{}

func newOracle(text string, s Scope) (*oracle, error) {
	config := newConfig(bracketObjects(text).text, s)
	tree, err := parse(bracketObjects(text).text, config)
	if err != nil {
		return nil, err
	}
	v := newValidator(text, s)
	if err := v.validate(tree.Node); err != nil {
		return nil, err
	}
	o := &oracle{names: v.names}
	node := o.rewrite(tree.Node, v.optional)
	funcs := conf.FunctionsTable{}
	for name, f := range o.functions() {
		funcs[name] = &builtin.Function{Name: name, Func: f}
	}
	c := &conf.Config{Functions: funcs, ShortCircuit: true}
	c.WithEnv(map[string]any{})
	program, cerr := compiler.Compile(&parser.Tree{Node: node, Source: tree.Source}, c)
	if cerr != nil {
		return nil, cerr
	}
	o.program = program
	return o, nil
}

// eval is the result, or the code of the error ("!absent" for ErrAbsent).
func (o *oracle) eval(env *Env) (boundary.Value, string, error) {
	o.env = env
	out, err := o.machine.Run(o.program, map[string]any{})
	if errors.Is(err, ErrAbsent) {
		return boundary.Value{}, "!absent", nil
	}
	if ee, ok := errors.AsType[*EvalError](err); ok {
		return boundary.Value{}, "!" + ee.Code, nil
	}
	if err != nil {
		return boundary.Value{}, "", err
	}
	v, err := boundary.FromAny(out)
	return v, "", err
}

func call(name string, args ...ast.Node) ast.Node {
	return &ast.CallNode{Callee: &ast.IdentifierNode{Value: name}, Arguments: args}
}

func constant(x any) ast.Node {
	switch x := x.(type) {
	case int:
		return &ast.IntegerNode{Value: x}
	case bool:
		return &ast.BoolNode{Value: x}
	}
	return &ast.StringNode{Value: x.(string)}
}

func (o *oracle) rewrite(n ast.Node, optional map[ast.Node]bool) ast.Node {
	rw := func(n ast.Node) ast.Node { return o.rewrite(n, optional) }
	switch n := n.(type) {
	case nil:
		return nil
	case *ast.IdentifierNode, *ast.MemberNode, *ast.ChainNode:
		return o.chain(n, optional, false)
	case *ast.UnaryNode:
		if n.Operator == "-" || n.Operator == "+" {
			return call("$unary", constant(n.Operator), rw(n.Node))
		}
		return &ast.UnaryNode{Operator: "!", Node: call("$bool", rw(n.Node))}
	case *ast.BinaryNode:
		switch n.Operator {
		case "and", "&&", "or", "||":
			return &ast.BinaryNode{
				Operator: n.Operator, Left: call("$bool", rw(n.Left)), Right: call("$bool", rw(n.Right)),
			}
		case "??":
			return o.coalesce(n, optional, false)
		}
		return call("$binary", constant(n.Operator), o.side(n, n.Left, n.Right, optional),
			o.side(n, n.Right, n.Left, optional))
	case *ast.ConditionalNode:
		return &ast.ConditionalNode{Cond: call("$bool", rw(n.Cond)), Exp1: rw(n.Exp1), Exp2: rw(n.Exp2)}
	case *ast.SliceNode:
		from, to := ast.Node(constant("")), ast.Node(constant(""))
		if n.From != nil {
			from = rw(n.From)
		}
		if n.To != nil {
			to = rw(n.To)
		}
		return call("$slice", rw(n.Node), from, to, constant(n.From != nil), constant(n.To != nil))
	case *ast.ArrayNode:
		out := &ast.ArrayNode{}
		for _, m := range n.Nodes {
			out.Nodes = append(out.Nodes, rw(m))
		}
		return out
	case *ast.MapNode:
		var pairs []ast.Node
		for _, p := range n.Pairs {
			pair := p.(*ast.PairNode)
			pairs = append(pairs, call("$name", rw(pair.Key)), rw(pair.Value))
		}
		return call("$object", pairs...)
	case *ast.VariableDeclaratorNode:
		value := rw(n.Value)
		o.vars = append(o.vars, n.Name)
		body := rw(n.Expr)
		o.vars = o.vars[:len(o.vars)-1]
		return &ast.VariableDeclaratorNode{Name: n.Name, Value: value, Expr: body}
	case *ast.CallNode:
		if eval.IsMethodCall(n) {
			return o.chain(n, optional, false)
		}
		return o.library(n.Callee.(*ast.IdentifierNode).Value, n.Arguments, rw)
	case *ast.PredicateNode:
		return &ast.PredicateNode{Node: rw(n.Node)}
	case *ast.BuiltinNode:
		if !eval.IsLoop(n) {
			return o.library(n.Name, n.Arguments, rw)
		}
		return o.loop(n, rw)
	case *ast.SequenceNode:
		out := &ast.SequenceNode{}
		for _, m := range n.Nodes {
			out.Nodes = append(out.Nodes, rw(m))
		}
		return out
	}
	return n // literals and pointers
}

// side is one side of an operator; where the other is nil itself, what is absent reads as null.
func (o *oracle) side(n *ast.BinaryNode, this, other ast.Node, optional map[ast.Node]bool) ast.Node {
	if _, asks := other.(*ast.NilNode); asks && (n.Operator == "==" || n.Operator == "!=") {
		if b, ok := this.(*ast.BinaryNode); ok && b.Operator == "??" {
			return o.coalesce(b, optional, true)
		}
		return o.chain(this, optional, true)
	}
	return o.rewrite(this, optional)
}

func (o *oracle) library(name string, args []ast.Node, rw func(ast.Node) ast.Node) ast.Node {
	if name == eval.Fresh {
		return call("$fresh", constant(o.names[args[0].(*ast.IdentifierNode).Value]))
	}
	all := []ast.Node{constant(name)}
	for _, a := range args {
		all = append(all, rw(a))
	}
	return call("$call", all...)
}

// loop keeps the machine's own loops and checks what goes in and out.
func (o *oracle) loop(n *ast.BuiltinNode, rw func(ast.Node) ast.Node) ast.Node {
	list := call("$list", rw(n.Arguments[0]))
	var body ast.Node = &ast.PredicateNode{Node: &ast.PointerNode{}}
	if len(n.Arguments) > 1 {
		body = rw(n.Arguments[1])
	}
	mapped := func() ast.Node {
		return &ast.BuiltinNode{Name: "map", Arguments: []ast.Node{list, body}}
	}
	switch n.Name {
	case "map":
		return mapped()
	case "sum":
		step := call("$add", &ast.PointerNode{Name: "acc"}, body.(*ast.PredicateNode).Node)
		return call("$total", &ast.BuiltinNode{
			Name: "reduce", Arguments: []ast.Node{list, &ast.PredicateNode{Node: step}, &ast.NilNode{}},
		})
	case "reduce":
		args := []ast.Node{list, body}
		if len(n.Arguments) > 2 {
			args = append(args, rw(n.Arguments[2]))
		} else {
			args[0] = call("$some", list)
		}
		return &ast.BuiltinNode{Name: "reduce", Arguments: args}
	case "sortBy":
		order := constant("asc")
		if len(n.Arguments) > 2 {
			order = rw(n.Arguments[2])
		}
		return call("$sort", list, mapped(), order)
	case "groupBy":
		body = &ast.PredicateNode{Node: call("$key", body.(*ast.PredicateNode).Node)}
		return call("$group", list, mapped())
	}
	test := &ast.PredicateNode{Node: call("$bool", body.(*ast.PredicateNode).Node)}
	// The machine's findLast leaves its loop's conditions on the stack, where the
	// operation around takes them for operands: find from the other end instead.
	switch n.Name {
	case "findLast":
		return &ast.BuiltinNode{Name: "find", Arguments: []ast.Node{call("$reverse", list), test}}
	case "findLastIndex":
		return call("$flip", list, &ast.BuiltinNode{
			Name: "findIndex", Arguments: []ast.Node{call("$reverse", list), test},
		})
	}
	return &ast.BuiltinNode{Name: n.Name, Arguments: []ast.Node{list, test}}
}

// coalesce is ??, where names and paths on the left read null when absent.
func (o *oracle) coalesce(n *ast.BinaryNode, optional map[ast.Node]bool, inner bool) ast.Node {
	side := func(n ast.Node, lenient bool) ast.Node {
		if b, ok := n.(*ast.BinaryNode); ok && b.Operator == "??" && lenient {
			return o.coalesce(b, optional, true)
		}
		if lenient {
			return o.chain(n, optional, true)
		}
		return o.rewrite(n, optional)
	}
	return &ast.BinaryNode{Operator: "??", Left: side(n.Left, true), Right: side(n.Right, inner)}
}

// chain turns accesses into calls, and ?. into a variable and a condition.
func (o *oracle) chain(n ast.Node, optional map[ast.Node]bool, lenient bool) ast.Node {
	var links []ast.Node
	for done := false; !done; {
		switch m := n.(type) {
		case *ast.ChainNode:
			n = m.Node
		case *ast.MemberNode:
			links, n = append(links, m), m.Node
		case *ast.CallNode:
			if done = !eval.IsMethodCall(m); !done {
				links, n = append(links, m), m.Arguments[0]
			}
		default:
			done = true
		}
	}
	slices.Reverse(links)
	id, ok := n.(*ast.IdentifierNode)
	if !ok || slices.Contains(o.vars, id.Value) {
		base := n
		if !ok {
			base = o.rewrite(n, optional)
		}
		return o.links(base, links, optional)
	}
	if len(links) > 0 {
		if m, ok := links[0].(*ast.MemberNode); ok && m.Optional || optional[links[0]] {
			lenient = true
		}
	}
	return o.bind(call("$root", constant(o.names[id.Value]), constant(lenient)), "$gone", func(v ast.Node) ast.Node {
		return o.links(v, links, optional)
	})
}

// bind puts a value into a variable and goes on unless the test says that the chain ends.
func (o *oracle) bind(v ast.Node, test string, rest func(ast.Node) ast.Node) ast.Node {
	o.fresh++
	name := &ast.IdentifierNode{Value: fmt.Sprintf("$v%d", o.fresh)}
	return &ast.VariableDeclaratorNode{Name: name.Value, Value: v, Expr: &ast.ConditionalNode{
		Cond: call(test, name), Exp1: &ast.NilNode{}, Exp2: rest(name),
	}}
}

func (o *oracle) links(v ast.Node, links []ast.Node, optional map[ast.Node]bool) ast.Node {
	if len(links) == 0 {
		return v
	}
	rest := func(v ast.Node) ast.Node {
		var next ast.Node
		switch l := links[0].(type) {
		case *ast.MemberNode:
			next = call("$get", v, o.rewrite(l.Property, optional))
		case *ast.CallNode:
			next = call("$call", append([]ast.Node{constant(l.Callee.(*ast.IdentifierNode).Value), v},
				o.rewriteAll(l.Arguments[1:], optional)...)...)
		}
		return o.links(next, links[1:], optional)
	}
	if m, ok := links[0].(*ast.MemberNode); ok && m.Optional || optional[links[0]] {
		return o.bind(v, "$null", rest)
	}
	return rest(v)
}

func (o *oracle) rewriteAll(nodes []ast.Node, optional map[ast.Node]bool) []ast.Node {
	out := make([]ast.Node, len(nodes))
	for i, n := range nodes {
		out[i] = o.rewrite(n, optional)
	}
	return out
}
