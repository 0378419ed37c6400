package expression

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/builtin"
	"github.com/expr-lang/expr/compiler"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/vm"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression/eval"
	"github.com/graphd/graphd/internal/expression/library"
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
	config := newConfig(s)
	tree, err := parse(text, config)
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
			return &ast.BinaryNode{Operator: n.Operator, Left: call("$bool", rw(n.Left)), Right: call("$bool", rw(n.Right))}
		case "??":
			return o.coalesce(n, optional, false)
		}
		return call("$binary", constant(n.Operator), rw(n.Left), rw(n.Right))
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

func (o *oracle) library(name string, args []ast.Node, rw func(ast.Node) ast.Node) ast.Node {
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
		return call("$total", &ast.BuiltinNode{Name: "reduce", Arguments: []ast.Node{list, &ast.PredicateNode{Node: step}, &ast.NilNode{}}})
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
		return call("$flip", list, &ast.BuiltinNode{Name: "findIndex", Arguments: []ast.Node{call("$reverse", list), test}})
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
			next = call("$call", append([]ast.Node{constant(l.Callee.(*ast.IdentifierNode).Value), v}, o.rewriteAll(l.Arguments[1:], optional)...)...)
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

func fault(code string) error { return &EvalError{Code: code, Text: "oracle"} }

// functions are the meanings of everything that is patched in.
func (o *oracle) functions() map[string]func(args ...any) (any, error) {
	return map[string]func(args ...any) (any, error){
		"$root": func(args ...any) (any, error) {
			v := o.env.Values[args[0].(int)]
			if v.IsAbsent() && !args[1].(bool) {
				return nil, ErrAbsent
			}
			if v.IsAbsent() {
				return absentRoot{}, nil
			}
			return v.Any(), nil
		},
		"$gone": func(args ...any) (any, error) { return args[0] == absentRoot{}, nil },
		"$null": func(args ...any) (any, error) { return args[0] == nil, nil },
		"$bool": func(args ...any) (any, error) {
			if b, ok := args[0].(bool); ok {
				return b, nil
			}
			return nil, fault(CodeTypeError)
		},
		"$list": func(args ...any) (any, error) {
			if l, ok := args[0].([]any); ok {
				return l, nil
			}
			return nil, fault(CodeTypeError)
		},
		"$some": func(args ...any) (any, error) {
			if len(args[0].([]any)) == 0 {
				return nil, fault(CodeInvalidArgument)
			}
			return args[0], nil
		},
		"$name": func(args ...any) (any, error) {
			if s, ok := args[0].(string); ok {
				return s, nil
			}
			return nil, fault(CodeTypeError)
		},
		"$get":    func(args ...any) (any, error) { return oracleGet(args[0], args[1]) },
		"$unary":  func(args ...any) (any, error) { return oracleUnary(args[0].(string), args[1]) },
		"$binary": func(args ...any) (any, error) { return oracleBinary(args[0].(string), args[1], args[2]) },
		"$slice":  oracleSlice,
		"$add":    oracleAdd,
		"$object": func(args ...any) (any, error) {
			m := map[string]any{}
			for i := 0; i < len(args); i += 2 {
				m[args[i].(string)] = args[i+1]
			}
			return m, nil
		},
		"$reverse": func(args ...any) (any, error) {
			items := slices.Clone(args[0].([]any))
			slices.Reverse(items)
			return items, nil
		},
		"$flip": func(args ...any) (any, error) {
			if i, ok := args[1].(int); ok {
				return len(args[0].([]any)) - 1 - i, nil
			}
			return nil, nil
		},
		"$total": func(args ...any) (any, error) {
			if args[0] == nil {
				return 0, nil
			}
			return args[0], nil
		},
		"$key": func(args ...any) (any, error) {
			switch args[0].(type) {
			case nil, []any, map[string]any:
				return nil, fault(CodeTypeError)
			}
			return args[0], nil
		},
		"$sort":  oracleSort,
		"$group": oracleGroup,
		"$call":  o.call,
	}
}

// call goes to the library: its functions are what they are, and tested by table.
func (o *oracle) call(args ...any) (any, error) {
	f := library.Table()[args[0].(string)]
	vals := make([]boundary.Value, len(args)-1)
	for i := range vals {
		v, err := boundary.FromAny(args[i+1])
		if err != nil {
			return nil, err
		}
		vals[i] = v
	}
	for i, v := range vals {
		if !f.Param(i).Has(v.Kind()) {
			return nil, fault(CodeTypeError)
		}
	}
	if len(vals) == 1 {
		if out, ok, err := oracleRounding(f.Name, args[1]); ok {
			return out, err
		}
	}
	env := &Env{Now: o.env.Now, Epoch: o.env.Epoch, Rand: o.env.Rand}
	v := f.Call(env, 0, vals)
	if v.IsAbsent() {
		return nil, env.Stop()
	}
	return v.Any(), nil
}

func oracleRounding(name string, x any) (any, bool, error) {
	f, isFloat := x.(float64)
	if i, ok := x.(int); ok {
		f = float64(i)
		if name == "abs" {
			if i == math.MinInt64 {
				return nil, true, fault(CodeNotFinite)
			}
			return max(i, -i), true, nil
		}
	} else if !isFloat {
		return nil, false, nil
	}
	switch name {
	case "abs":
		return math.Abs(f), true, nil
	case "floor":
		return math.Floor(f), true, nil
	case "ceil":
		return math.Ceil(f), true, nil
	case "round":
		return math.Round(f), true, nil
	case "float":
		return f, true, nil
	}
	return nil, false, nil
}

func oracleGet(v, key any) (any, error) {
	switch v := v.(type) {
	case []any:
		i, ok := key.(int)
		if !ok {
			return nil, fault(CodeTypeError)
		}
		if i < 0 {
			i += len(v)
		}
		if i < 0 || i >= len(v) {
			return nil, fault(CodeOutOfRange)
		}
		return v[i], nil
	case map[string]any:
		if name, ok := key.(string); ok {
			return v[name], nil
		}
	}
	return nil, fault(CodeTypeError)
}

func oracleUnary(op string, x any) (any, error) {
	switch x.(type) {
	case int, float64:
		if op == "+" {
			return x, nil
		}
		if x == 0.0 {
			return math.Copysign(0, -1), nil
		}
		return oracleBinary("*", -1, x)
	}
	return nil, fault(CodeTypeError)
}

// exact is a number without rounding.
func exact(x any) (*big.Rat, bool) {
	switch x := x.(type) {
	case int:
		return new(big.Rat).SetInt64(int64(x)), true
	case float64:
		return new(big.Rat).SetFloat64(x), true
	}
	return nil, false
}

func asFloat(x any) float64 {
	if i, ok := x.(int); ok {
		return float64(i)
	}
	return x.(float64)
}

func oracleBinary(op string, a, b any) (any, error) {
	switch op {
	case "==":
		return oracleEqual(a, b), nil
	case "!=":
		return !oracleEqual(a, b), nil
	case "<", "<=", ">", ">=":
		c, err := oracleOrder(a, b)
		return op[0] == '<' && c < 0 || op[0] == '>' && c > 0 || len(op) == 2 && c == 0, err
	case "in":
		return oracleIn(a, b)
	case "contains", "startsWith", "endsWith", "matches":
		return oracleText(op, a, b)
	case "..":
		return oracleRange(a, b)
	}
	i, aInt := a.(int)
	j, bInt := b.(int)
	_, aNum := exact(a)
	_, bNum := exact(b)
	switch {
	case aInt && bInt && op != "/" && op != "**" && op != "^":
		x, y, r := big.NewInt(int64(i)), big.NewInt(int64(j)), new(big.Int)
		switch op {
		case "+":
			r.Add(x, y)
		case "-":
			r.Sub(x, y)
		case "*":
			r.Mul(x, y)
		case "%":
			if j == 0 {
				return nil, fault(CodeNotFinite)
			}
			r.Rem(x, y)
		}
		if !r.IsInt64() {
			return nil, fault(CodeNotFinite)
		}
		return int(r.Int64()), nil
	case aNum && bNum && op != "%":
		f, g := asFloat(a), asFloat(b)
		r := map[string]float64{"+": f + g, "-": f - g, "*": f * g, "/": f / g, "**": math.Pow(f, g), "^": math.Pow(f, g)}[op]
		if math.IsNaN(r) || math.IsInf(r, 0) {
			return nil, fault(CodeNotFinite)
		}
		return r, nil
	}
	if s, ok := a.(string); ok && op == "+" {
		if t, ok := b.(string); ok {
			return s + t, nil
		}
	}
	return oracleTime(op, a, b)
}

func oracleTime(op string, a, b any) (any, error) {
	t, aTime := a.(time.Time)
	u, bTime := b.(time.Time)
	d, aSpan := a.(time.Duration)
	s, bSpan := b.(time.Duration)
	n, span := a, s
	if aSpan {
		n, span = b, d
	}
	x, isNum := exact(n)
	ns := new(big.Int)
	isTime := false
	big64 := func(i int64) *big.Int { return big.NewInt(i) }
	switch {
	case op == "-" && aTime && bTime:
		ns.Sub(big64(t.UnixNano()), big64(u.UnixNano()))
	case op == "-" && aTime && bSpan:
		ns.Sub(big64(t.UnixNano()), big64(int64(s)))
		isTime = true
	case op == "+" && aTime && bSpan:
		ns.Add(big64(t.UnixNano()), big64(int64(s)))
		isTime = true
	case op == "+" && aSpan && bTime:
		ns.Add(big64(u.UnixNano()), big64(int64(d)))
		isTime = true
	case op == "+" && aSpan && bSpan:
		ns.Add(big64(int64(d)), big64(int64(s)))
	case op == "-" && aSpan && bSpan:
		ns.Sub(big64(int64(d)), big64(int64(s)))
	case op == "*" && (aSpan || bSpan) && isNum:
		if f, ok := n.(float64); ok {
			r := float64(span) * f
			if r >= 1<<63 || r < -1<<63 || r != r {
				return nil, fault(CodeNotFinite)
			}
			return time.Duration(r), nil
		}
		ns.Mul(big64(int64(span)), x.Num())
	default:
		return nil, fault(CodeTypeError)
	}
	if !ns.IsInt64() {
		return nil, fault(CodeNotFinite)
	}
	if isTime {
		return time.Unix(0, ns.Int64()).UTC(), nil
	}
	return time.Duration(ns.Int64()), nil
}

func oracleEqual(a, b any) bool {
	x, aNum := exact(a)
	y, bNum := exact(b)
	if aNum && bNum {
		return x.Cmp(y) == 0
	}
	switch a := a.(type) {
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, oracleEqual)
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for name, v := range a {
			if w, ok := b[name]; !ok || !oracleEqual(v, w) {
				return false
			}
		}
		return true
	case time.Time:
		b, ok := b.(time.Time)
		return ok && a.Equal(b)
	}
	switch b.(type) {
	case []any, map[string]any:
		return false
	}
	return a == b
}

func oracleOrder(a, b any) (int, error) {
	x, aNum := exact(a)
	y, bNum := exact(b)
	if aNum && bNum {
		return x.Cmp(y), nil
	}
	switch a := a.(type) {
	case string:
		if b, ok := b.(string); ok {
			return strings.Compare(a, b), nil
		}
	case time.Time:
		if b, ok := b.(time.Time); ok {
			return a.Compare(b), nil
		}
	case time.Duration:
		if b, ok := b.(time.Duration); ok {
			return big.NewInt(int64(a)).Cmp(big.NewInt(int64(b))), nil
		}
	}
	return 0, fault(CodeTypeError)
}

func oracleIn(a, b any) (any, error) {
	switch b := b.(type) {
	case nil:
		return false, nil
	case []any:
		return slices.ContainsFunc(b, func(x any) bool { return oracleEqual(a, x) }), nil
	case map[string]any:
		if name, ok := a.(string); ok {
			_, ok := b[name]
			return ok, nil
		}
	}
	return nil, fault(CodeTypeError)
}

func oracleText(op string, a, b any) (any, error) {
	s, aText := a.(string)
	t, bText := b.(string)
	if !(aText || a == nil) || !(bText || b == nil) {
		return nil, fault(CodeTypeError)
	}
	if !aText || !bText {
		return false, nil
	}
	switch op {
	case "contains":
		return strings.Contains(s, t), nil
	case "startsWith":
		return strings.HasPrefix(s, t), nil
	case "endsWith":
		return strings.HasSuffix(s, t), nil
	}
	ok, err := regexp.MatchString(t, s)
	if err != nil {
		return nil, fault(CodeInvalidArgument)
	}
	return ok, nil
}

func oracleRange(a, b any) (any, error) {
	i, ok := a.(int)
	j, ok2 := b.(int)
	if !ok || !ok2 {
		return nil, fault(CodeTypeError)
	}
	if n := new(big.Int).Sub(big.NewInt(int64(j)), big.NewInt(int64(i))); n.Cmp(big.NewInt(1<<20-1)) > 0 {
		return nil, fault(CodeLimitExceeded)
	}
	out := []any{}
	for k := i; k <= j; k++ {
		if out = append(out, k); k == math.MaxInt64 {
			break
		}
	}
	return out, nil
}

func oracleSlice(args ...any) (any, error) {
	chars := false
	var items []any
	switch v := args[0].(type) {
	case string:
		chars = true
		for _, r := range v {
			items = append(items, r)
		}
	case []any:
		items = v
	}
	from, to := 0, len(items)
	for k, bound := range []*int{&from, &to} {
		if !args[3+k].(bool) {
			continue
		}
		i, ok := args[1+k].(int)
		if !ok {
			return nil, fault(CodeTypeError)
		}
		if i < 0 {
			i += len(items)
		}
		*bound = min(max(i, 0), len(items))
	}
	if _, isList := args[0].([]any); !isList && !chars {
		return nil, fault(CodeTypeError)
	}
	items = slices.Clone(items[min(from, to):to])
	if !chars {
		return append([]any{}, items...), nil
	}
	var b strings.Builder
	for _, r := range items {
		b.WriteRune(r.(rune))
	}
	return b.String(), nil
}

// oracleAdd is a step of sum; the total is nil before the first.
func oracleAdd(args ...any) (any, error) {
	total, x := args[0], args[1]
	_, isNum := exact(x)
	if _, isSpan := x.(time.Duration); !isNum && !isSpan {
		return nil, fault(CodeTypeError)
	}
	if total == nil {
		return x, nil
	}
	return oracleBinary("+", total, x)
}

func oracleSort(args ...any) (any, error) {
	items, keys := args[0].([]any), args[1].([]any)
	order, _ := args[2].(string)
	if order != "asc" && order != "desc" {
		return nil, fault(CodeInvalidArgument)
	}
	out := []any{}
	var places []int
	for i := range items {
		// Insertion sort: the place before the first one that comes after.
		at := len(places)
		for at > 0 {
			c, err := oracleOrder(keys[i], keys[places[at-1]])
			if err != nil {
				return nil, err
			}
			if order == "asc" && c >= 0 || order == "desc" && c <= 0 {
				break
			}
			at--
		}
		places = slices.Insert(places, at, i)
	}
	for _, p := range places {
		out = append(out, items[p])
	}
	return out, nil
}

func oracleGroup(args ...any) (any, error) {
	groups := map[string]any{}
	for i, key := range args[1].([]any) {
		v, err := boundary.FromAny(key)
		if err != nil {
			return nil, err
		}
		name := strings.Trim(string(v.AppendJSON(nil)), `"`)
		if s, ok := key.(string); ok {
			name = s
		}
		list, _ := groups[name].([]any)
		groups[name] = append(list, args[0].([]any)[i])
	}
	return groups, nil
}
