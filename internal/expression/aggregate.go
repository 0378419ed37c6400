package expression

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/builtin"
	"github.com/expr-lang/expr/parser"
	"github.com/graphd/graphd/internal/expression/elsewhere"
	"github.com/graphd/graphd/internal/expression/rules"
)

// Fold is a function that makes one value of many: what stands in an aggregate.
type Fold struct {
	// Min and Max are how many arguments it takes, and Usage is how a call is written: top(x, by, k).
	Min, Max int
	Usage    string
	// Result is the type of its result, or an error in words about the arguments.
	Result func(args []Type) (Type, error)
	// Later says that it is known and not built yet.
	Later bool
}

// FoldCall is one use of a [Fold]. Its arguments are expressions over the events.
type FoldCall struct {
	Name   string
	Args   []*Program
	Offset int    // of the call in the text
	text   string // the call as the parser writes it, for finding equal ones
}

// Aggregate is an expression over the results of folds, such as max(event.x) - min(event.x).
type Aggregate struct {
	// Calls are the folds it rests on; equal ones are one.
	Calls []FoldCall
	// Result is over one name for each of Calls, in order, and then the names of the outer scope.
	Result *Program
}

// CompileAggregate compiles an aggregate: in it the names of folds mean the folds, whatever
// the library calls so, and their arguments are expressions over the inner scope. All else
// is over the outer scope. The library's function of a fold's name is written ::name(…).
// The error is an [*Error], the first mistake found.
func CompileAggregate(text string, inner, outer Scope, folds map[string]Fold) (agg *Aggregate, err error) {
	// See compile: the parser and the checker are not ours.
	defer func() {
		if r := recover(); r != nil {
			agg, err = nil, &Error{
				Code: CodeSyntax, Text: "the expression cannot be compiled; write it in a simpler way",
			}
		}
	}()
	if inner.For.HasGone() {
		return nil, errStopped
	}
	text = inner.For.tell(text, inner, outer)
	src := bracketObjects(text)
	config := newConfig(src.text, inner)
	config.Functions = maps.Clone(config.Functions)
	for name := range folds {
		config.Functions[name] = &builtin.Function{Name: name}
	}
	tree, failure := parse(src.text, config)
	if failure != nil {
		return nil, src.moveBack(failure)
	}
	taken := &foldFinder{}
	if ast.Walk(&tree.Node, taken); taken.found != "" {
		return nil, &Error{Code: CodeNotAllowed, Text: taken.found + ": names do not begin with $"}
	}
	c := &foldCompiler{src: &src, tree: tree, inner: inner, folds: folds}
	ast.Walk(&tree.Node, c)
	left := remainder{c: c, outer: outer}
	ast.Walk(&tree.Node, &left)
	if err := cmp.Or(c.err, left.first()); err != nil {
		return nil, err
	}
	scope := outer
	scope.Names = slices.Concat(c.names, outer.Names)
	result, failure := compileTree(&src, text, tree, scope)
	if failure != nil {
		return nil, failure
	}
	return &Aggregate{Calls: c.calls, Result: result}, nil
}

// foldCompiler takes the calls of folds out of a tree and puts names in their place.
type foldCompiler struct {
	src   *bracketed
	tree  *parser.Tree
	inner Scope
	folds map[string]Fold
	calls []FoldCall
	names []Name
	err   *Error
}

// foldName is the name that stands for the i-th call. Nobody can write it.
func foldName(i int) string { return "$" + strconv.Itoa(i) }

// Visit implements [ast.Visitor]. It sees the arguments of a call before the call.
func (c *foldCompiler) Visit(node *ast.Node) {
	call, ok := (*node).(*ast.CallNode)
	if !ok || c.err != nil {
		return
	}
	callee, ok := call.Callee.(*ast.IdentifierNode)
	if !ok {
		return
	}
	fold, ok := c.folds[callee.Value]
	if !ok {
		return
	}
	i := c.call(call, callee.Value, fold)
	if c.err == nil {
		ast.Patch(node, &ast.IdentifierNode{Value: foldName(i)})
	}
}

// call compiles a call, and returns its index.
func (c *foldCompiler) call(n *ast.CallNode, name string, fold Fold) int {
	text := n.String()
	if i := slices.IndexFunc(c.calls, func(o FoldCall) bool { return o.text == text }); i >= 0 {
		return i
	}
	offset := c.offset(n)
	if fold.Later {
		c.err = &Error{
			Offset: offset, Code: CodeNotYetSupported, Text: name + " is not supported by this version yet; remove it",
		}
		return 0
	}
	if got := len(n.Arguments); got < fold.Min || got > fold.Max {
		c.err = &Error{
			Offset: offset, Code: CodeWrongArguments, Text: fmt.Sprintf("%s takes %s here, got %d; write %s", name,
				arguments(fold.Min, fold.Max), got, fold.Usage),
		}
		return 0
	}
	call := FoldCall{Name: name, Offset: offset, text: text}
	types := make([]Type, len(n.Arguments))
	for i := range n.Arguments {
		if c.nested(&n.Arguments[i], name) {
			return 0
		}
		arg := &parser.Tree{Node: n.Arguments[i], Source: c.tree.Source}
		p, err := compileTree(c.src, n.Arguments[i].String(), arg, c.inner)
		if err != nil {
			c.err = err
			return 0
		}
		call.Args, types[i] = append(call.Args, p), p.Type()
	}
	result, err := fold.Result(types)
	if err != nil {
		c.err = &Error{Offset: offset, Code: CodeTypeMismatch, Text: err.Error()}
		return 0
	}
	c.calls = append(c.calls, call)
	c.names = append(c.names, Name{Name: foldName(len(c.calls) - 1), Type: result})
	return len(c.calls) - 1
}

func (c *foldCompiler) offset(n ast.Node) int {
	return c.src.original(rules.ByteOffset(c.src.text, n.Location().From))
}

// remainder finds mistakes in what is left of an aggregate when its folds are out: a call of what is no function where
// a fold was probably meant, and a name that only the arguments of folds can read. What else is wrong is told by who
// compiles it.
type remainder struct {
	c          *foldCompiler
	outer      Scope
	call, name *Error
	strange    bool // there is a call of what is no function, which is told first
}

// first is the mistake to tell of, nil when what is left is for others to judge.
func (r *remainder) first() *Error {
	if r.call == nil && r.strange {
		return nil
	}
	return cmp.Or(r.call, r.name)
}

// Visit implements [ast.Visitor].
func (r *remainder) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.CallNode:
		callee, ok := n.Callee.(*ast.IdentifierNode)
		switch {
		case !ok || r.call != nil:
		case callee.Value == "median" && r.name != nil:
			r.call = &Error{Offset: r.c.offset(n), Code: CodeUnknownFunction, Text: "median is of a list; of events " +
				"it is quantile(x, 0.5)"}
		case isFunction(callee.Value):
		default:
			r.strange = true
			if meant := foldOf(callee.Value, r.c.folds); meant != "" {
				r.call = &Error{Offset: r.c.offset(n), Code: CodeUnknownFunction,
					Text: fmt.Sprintf("unknown function %.64s", callee.Value), Suggest: meant}
			}
		}
	case *ast.IdentifierNode:
		if r.name == nil && r.c.inner.has(n.Value) && !r.outer.has(n.Value) {
			r.name = &Error{Offset: r.c.offset(n), Code: CodeUnknownName, Text: fmt.Sprintf("%s is of one event, and "+
				"an aggregate of many: read it in a function that makes one value of them, such as last(%s)", n.Value,
				n.Value)}
		}
	}
}

func (s *Scope) has(name string) bool {
	return slices.ContainsFunc(s.Names, func(n Name) bool { return n.Name == name })
}

// foldOf is the fold that is meant by a name that is no function's, "" when that is none: what is written in another
// way here, and what is nearer to a function of the library, is told by others.
func foldOf(name string, folds map[string]Fold) string {
	meant := nearest(name, slices.Sorted(maps.Keys(folds)))
	if meant != "" && alike(name, meant) {
		return meant
	}
	if there := elsewhere.Fold(name); folds[there].Result != nil {
		return there
	}
	other := nearest(name, Functions())
	if elsewhere.Instead(name) != "" || elsewhere.Function(name) != "" ||
		meant != "" && other != "" && distance(name, other) < distance(name, meant) {
		return ""
	}
	return meant
}

// nested refuses a fold within the argument of another.
func (c *foldCompiler) nested(arg *ast.Node, outer string) bool {
	f := &foldFinder{}
	ast.Walk(arg, f)
	if f.found == "" {
		return false
	}
	i, _ := strconv.Atoi(f.found[1:])
	inner := c.calls[i]
	c.err = &Error{Offset: inner.Offset, Code: CodeNotAllowed, Text: fmt.Sprintf(
		"%s is an aggregate and cannot stand within %s; the function of that name is ::%s(…)", inner.Name, outer,
		inner.Name)}
	return true
}

// foldFinder finds a name that stands for a call.
type foldFinder struct{ found string }

// Visit implements [ast.Visitor].
func (f *foldFinder) Visit(node *ast.Node) {
	if id, ok := (*node).(*ast.IdentifierNode); ok && len(id.Value) > 1 && id.Value[0] == '$' && id.Value[1] >= '0' &&
		id.Value[1] <= '9' {
		f.found = id.Value
	}
}
