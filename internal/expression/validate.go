package expression

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"
	"github.com/graphd/graphd/internal/expression/elsewhere"
	"github.com/graphd/graphd/internal/expression/eval"
	"github.com/graphd/graphd/internal/expression/library"
	"github.com/graphd/graphd/internal/expression/pattern"
	"github.com/graphd/graphd/internal/expression/rules"
)

// validator walks the syntax tree before the types are checked: it resolves
// names, refuses what is not allowed here, and rewrites methods, t.Hour(), to
// functions, .Hour(t), which the checker and the compiler know.
type validator struct {
	text     string
	scope    Scope
	names    map[string]int
	vars     []string // bound by let around the node
	loops    int      // predicates around the node
	optional map[ast.Node]bool
	shares   bool
	clock    bool
	iterates bool
	branches bool
	nodes    int
	steps    int // of all patterns
	err      *Error
}

func newValidator(text string, s Scope) *validator {
	v := &validator{text: text, scope: s, names: make(map[string]int, len(s.Names)), optional: make(map[ast.Node]bool)}
	for i, n := range s.Names {
		if _, ok := v.names[n.Name]; !ok {
			v.names[n.Name] = i
		}
	}
	return v
}

func (v *validator) validate(n ast.Node) *Error {
	v.visit(n)
	return v.err
}

func (v *validator) fail(n ast.Node, code, suggest, format string, args ...any) {
	if v.err == nil {
		v.err = &Error{
			Offset: rules.ByteOffset(v.text, n.Location().From), Code: code,
			Text: fmt.Sprintf(format, args...), Suggest: suggest,
		}
	}
}

func (v *validator) visit(n ast.Node) {
	// The parser shares the middle of a < b < c between two comparisons, so that a
	// small text can have a very large tree: counting as the tree is walked bounds it.
	if v.nodes++; v.nodes > maxNodes && v.err == nil {
		v.err = &Error{
			Code: CodeTooLarge, Text: "the expression has more than 10,000 parts; split it into several nodes",
		}
	}
	if v.err != nil {
		return
	}
	switch n := n.(type) {
	case *ast.IdentifierNode:
		v.name(n)
	case *ast.UnaryNode:
		v.visit(n.Node)
	case *ast.BinaryNode:
		v.binary(n)
	case *ast.ChainNode:
		v.branches = true
		v.visit(n.Node)
	case *ast.MemberNode:
		v.visit(n.Node)
		v.visit(n.Property)
	case *ast.CallNode:
		v.call(n)
	case *ast.BuiltinNode:
		v.builtin(n)
	case *ast.PredicateNode:
		v.branches = true
		v.loops++
		v.visit(n.Node)
		v.loops--
	case *ast.ConditionalNode:
		v.branches = true
		v.visitAll(n.Cond, n.Exp1, n.Exp2)
	case *ast.BytesNode:
		v.fail(n, CodeNotAllowed, "", "bytes are not a value here; write a string")
	default:
		v.composite(n)
	}
}

func (v *validator) composite(n ast.Node) {
	switch n := n.(type) {
	case *ast.SliceNode:
		v.visitAll(n.Node, n.From, n.To)
	case *ast.VariableDeclaratorNode:
		v.let(n)
	case *ast.SequenceNode:
		v.visitAll(n.Nodes...)
	case *ast.ArrayNode:
		v.visitAll(n.Nodes...)
	case *ast.MapNode:
		v.object(n)
	case *ast.PairNode:
		v.visitAll(n.Key, n.Value)
	case *ast.NilNode, *ast.BoolNode, *ast.IntegerNode, *ast.FloatNode, *ast.StringNode, *ast.PointerNode:
	default:
		v.fail(n, CodeSyntax, "", "this is not supported here")
	}
}

func (v *validator) object(n *ast.MapNode) {
	given := make(map[string]bool, len(n.Pairs))
	for _, p := range n.Pairs {
		v.visit(p)
		if key, ok := p.(*ast.PairNode).Key.(*ast.StringNode); ok {
			if given[key.Value] {
				v.fail(key, CodeDuplicateField, "", "the field %.64s is given twice", key.Value)
			}
			given[key.Value] = true
		}
	}
}

// visitAll visits the nodes that are there.
func (v *validator) visitAll(nodes ...ast.Node) {
	for _, n := range nodes {
		if n != nil {
			v.visit(n)
		}
	}
}

func (v *validator) known(name string) bool {
	_, ok := v.names[name]
	return ok || slices.Contains(v.vars, name)
}

func (v *validator) name(n *ast.IdentifierNode) {
	switch {
	case v.known(n.Value):
	case strings.HasPrefix(n.Value, "$"):
		v.fail(n, CodeNotAllowed, "", "%s: names do not begin with $", n.Value)
	case isFunction(n.Value):
		v.fail(n, CodeUnknownName, "", "%s is a function: write %s(…)", n.Value, n.Value)
	case n.Value == "null" || n.Value == "None":
		v.fail(n, CodeUnknownName, "nil", "%s is written nil", n.Value)
	default:
		names := append(slices.Clone(v.vars), slices.Sorted(maps.Keys(v.names))...)
		meant := nearest(n.Value, names)
		if meant == "" && v.known(rawEvent) {
			meant = rawEvent + "." + n.Value // people leave it out, since nodes read fields by less
		}
		v.fail(n, CodeUnknownName, meant, "unknown name %.64s%s", n.Value, listed(names))
	}
}

// rawEvent is the name of an event as it came, where expressions are over one.
const rawEvent = "event"

func isFunction(name string) bool {
	return library.Table()[name] != nil || slices.Contains(eval.Loops, name)
}

// sortedNames are the names of several lists, sorted.
func sortedNames(lists ...[]string) []string {
	all := slices.Concat(lists...)
	slices.Sort(all)
	return all
}

// listed is what is known, as long as that is not much.
func listed(names []string) string {
	if len(names) == 0 || len(names) > 8 {
		return ""
	}
	return "; known here: " + strings.Join(names, ", ")
}

func (v *validator) binary(n *ast.BinaryNode) {
	v.visit(n.Left)
	v.visit(n.Right)
	v.causes(n)
	v.branches = v.branches || slices.Contains([]string{"&&", "and", "||", "or", "??"}, n.Operator)
	if written, ok := n.Right.(*ast.StringNode); ok && n.Operator == "matches" {
		_, err := v.pattern(written.Value)
		if err != nil {
			v.fail(n.Right, CodeInvalidArgument, "", "%s", err)
		}
	}
}

func (v *validator) let(n *ast.VariableDeclaratorNode) {
	v.shares = true
	v.visit(n.Value)
	switch {
	case strings.HasPrefix(n.Name, "$"):
		v.fail(n, CodeNotAllowed, "", "%s: names do not begin with $", n.Name)
	case v.known(n.Name), isFunction(n.Name):
		v.fail(n, CodeNotAllowed, "", "%.64s is taken: give the variable another name", n.Name)
	}
	v.vars = append(v.vars, n.Name)
	v.visit(n.Expr)
	v.vars = v.vars[:len(v.vars)-1]
}

func (v *validator) call(n *ast.CallNode) {
	switch callee := n.Callee.(type) {
	case *ast.MemberNode:
		v.method(n, callee)
	case *ast.IdentifierNode:
		if v.known(callee.Value) {
			v.fail(n, CodeUnknownFunction, "",
				"%s is a value here, not a function; the function of that name is ::%s(…)", callee.Value, callee.Value)
			return
		}
		v.function(n, callee.Value, len(n.Arguments))
		v.visitAll(n.Arguments...)
		if callee.Value == eval.Fresh && v.err == nil {
			v.fresh(n.Arguments[0])
		}
		v.captures(callee.Value, n.Arguments)
	default:
		v.fail(n, CodeSyntax, "", "only functions can be called")
	}
}

// method rewrites receiver.Name(args) to .Name(receiver, args).
func (v *validator) method(n *ast.CallNode, m *ast.MemberNode) {
	name, ok := m.Property.(*ast.StringNode)
	if !ok {
		v.fail(n, CodeSyntax, "", "only functions can be called")
		return
	}
	if library.Table()["."+name.Value] == nil {
		v.unknownMethod(m, name.Value)
		return
	}
	v.optional[n] = m.Optional
	callee := &ast.IdentifierNode{Value: "." + name.Value}
	callee.SetLocation(m.Location())
	n.Callee, n.Arguments = callee, append([]ast.Node{m.Node}, n.Arguments...)
	v.function(n, callee.Value, len(n.Arguments))
	v.visitAll(n.Arguments...)
}

func (v *validator) unknownMethod(m *ast.MemberNode, name string) {
	if f := library.Table()[strings.ToLower(name)]; f != nil {
		v.fail(m, CodeUnknownFunction, "", "values have no method %.64s; write %s(…)", name, f.Name)
		return
	}
	if instead := elsewhere.Instead(name); instead != "" {
		v.fail(m, CodeUnknownFunction, "", "values have no method %.64s; %s", name, instead)
		return
	}
	v.fail(m, CodeUnknownFunction, nearest(name, library.Methods()),
		"unknown method %.64s; only times and durations have methods", name)
}

// builtin visits the functions that the parser knows by itself: those with a
// predicate, and others by way of ::.
func (v *validator) builtin(n *ast.BuiltinNode) {
	if eval.IsLoop(n) {
		v.shares = true
		v.visitAll(n.Arguments...)
		return
	}
	v.function(n, n.Name, len(n.Arguments))
	v.visitAll(n.Arguments...)
	v.captures(n.Name, n.Arguments)
}

// pattern compiles a pattern, as one of not too much together.
func (v *validator) pattern(text string) (*pattern.Pattern, error) {
	re, err := pattern.Compile(text)
	if err != nil {
		return nil, err
	}
	if v.steps += re.Steps(); v.steps > pattern.MaxSteps {
		return nil, fmt.Errorf("the patterns of one expression make more than %d steps together", pattern.MaxSteps)
	}
	return re, nil
}

// captures checks the pattern of captures(), which is compiled once.
func (v *validator) captures(name string, args []ast.Node) {
	if name != library.Captures || v.err != nil {
		return
	}
	written, ok := args[1].(*ast.StringNode)
	if !ok {
		v.fail(args[1], CodeNotAllowed, "",
			"captures() takes a pattern that is a text written here: it is compiled once")
		return
	}
	switch re, err := v.pattern(written.Value); {
	case err != nil:
		v.fail(written, CodeInvalidArgument, "", "%s", err)
	case re.NumSubexp() > library.MaxGroups:
		v.fail(written, CodeInvalidArgument, "", "the pattern has %d groups, more than the %d allowed", re.NumSubexp(),
			library.MaxGroups)
	}
}

// fresh checks the argument of fresh(): a name, and of something that arrives.
func (v *validator) fresh(n ast.Node) {
	id, ok := n.(*ast.IdentifierNode)
	switch {
	case !ok, slices.Contains(v.vars, id.Value):
		v.fail(n, CodeNotAllowed, "", "fresh() asks whether something has arrived for this epoch: write the bare name "+
			"of an accumulator or node")
	case v.scope.Arrives == nil || !v.scope.Arrives(v.names[id.Value]):
		v.fail(n, CodeNotAllowed, "", "fresh(%.64s): nothing arrives there; ask it of an accumulator or, but in the "+
			"guard, which comes before the nodes, of a node", id.Value)
	}
}

// function checks that a function is there, allowed, and has as many arguments as it takes.
func (v *validator) function(n ast.Node, name string, args int) {
	f := library.Table()[name]
	switch {
	case f == nil && name == "timezone":
		v.fail(n, CodeNotAllowed, "",
			`timezone is not needed: name the zone where it matters, as in t.Hour("Europe/Paris")`)
	case f == nil && elsewhere.Instead(name) != "":
		v.fail(n, CodeUnknownFunction, "", "unknown function %.64s; %s", name, elsewhere.Instead(name))
	case f == nil:
		v.fail(n, CodeUnknownFunction, cmp.Or(elsewhere.Function(name), nearest(name, Functions())),
			"unknown function %.64s", name)
	case f.Clock && !v.scope.Clock, f.Rand && !v.scope.Rand:
		v.fail(n, CodeNotAllowed, "", "%s() is not allowed here: the result must depend on the values alone", name)
	case f.OfEpoch && !v.scope.Epoch:
		v.fail(n, CodeNotAllowed, "", "%s() is not allowed here: only nodes, the guard and the conditions of outputs "+
			"belong to an epoch", name)
	case f.OfLoop && !v.scope.Iteration:
		v.fail(n, CodeNotAllowed, "", "%s() is not allowed here: only nodes of a loop, and what ends it, belong to an "+
			"iteration", name)
	case f.Remember != nil && !v.scope.Memory:
		v.fail(n, CodeNotAllowed, "", "%s() remembers what it was given before, which only the expressions of nodes "+
			"may do; make it a node and read that", name)
	case f.Remember != nil && v.loops > 0:
		v.fail(n, CodeNotAllowed, "",
			"%s() has one memory for each place it is written at, so it cannot be called for every element of a list",
			name)
	default:
		v.clock = v.clock || f.Clock
		v.iterates = v.iterates || f.OfLoop
		if least, most := f.Arguments(); args < least || args > most {
			v.fail(n, CodeWrongArguments, "", "%s takes %s, got %d; write %s", f.Title(),
				arguments(least-receiver(f), most-receiver(f)), args-receiver(f), library.Usage(f))
		}
	}
}

// receiver is 1 when the first argument is a method's receiver.
func receiver(f *eval.Function) int {
	if strings.HasPrefix(f.Name, ".") {
		return 1
	}
	return 0
}

// arguments is how many a function takes, in words.
func arguments(least, most int) string {
	switch {
	case most == 0:
		return "no argument"
	case most > 100 && least == 1:
		return "at least one argument"
	case most > 100:
		return fmt.Sprintf("at least %d arguments", least)
	case least == most && least == 1:
		return "one argument"
	case least == most:
		return fmt.Sprintf("%d arguments", least)
	case least+1 == most:
		return fmt.Sprintf("%d or %d arguments", least, most)
	}
	return fmt.Sprintf("%d to %d arguments", least, most)
}
