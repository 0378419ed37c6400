package eval

import (
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression/pattern"
	"github.com/graphd/graphd/internal/expression/rules"
)

// compiler turns a checked syntax tree into closures. Every node goes through
// compile, which also folds what is constant.
type compiler struct {
	text     string
	original func(int) int
	names    map[string]int    // scope names to their index
	optional map[ast.Node]bool // method calls after ?.
	shares   bool              // a value can be used more than once: let or a loop is there

	functions map[string]*Function

	reads  []*read
	locals []local // variables in scope, innermost last
	loops  []frame // predicates around, innermost last
	slots  int     // of Env.vars taken so far

	// What the node being compiled rests on, for folding: anything outside of the
	// expression, and the lowest slot it reads.
	outside bool
	lowest  int
	noFold  bool // folding met a limit and was given up
	scratch Env  // what folding evaluates in
	clock   bool // now() or epoch() is called
	asks    bool // fresh() or cause() is called

	memories []*Function // called so far, of those with memory
}

// local is a variable bound by let.
type local struct {
	name string
	slot int
	code code // what it stands for when it is a constant
}

// frame is where a predicate finds its element, index and accumulator.
type frame struct{ item, index, acc int }

func (c *compiler) site(n ast.Node) Site {
	offset := rules.ByteOffset(c.text, n.Location().From)
	if c.original != nil {
		offset = c.original(offset)
	}
	return Site(offset)
}

func (c *compiler) takeSlots(n int) int {
	first := c.slots
	c.slots += n
	return first
}

func (c *compiler) local(name string) (*local, bool) {
	for i := len(c.locals) - 1; i >= 0; i-- {
		if c.locals[i].name == name {
			return &c.locals[i], true
		}
	}
	return nil, false
}

// slotCode reads a slot.
func (c *compiler) slotCode(slot int) code {
	c.lowest = min(c.lowest, slot)
	return valueCode(func(e *Env) boundary.Value { return e.vars[slot] })
}

// compile compiles a node and replaces it by its value when that is known.
func (c *compiler) compile(n ast.Node) code {
	outside, lowest, first := c.outside, c.lowest, c.slots
	c.outside, c.lowest = false, math.MaxInt
	code := c.node(n)
	constant := !c.outside && c.lowest >= first
	c.outside, c.lowest = c.outside || outside, min(c.lowest, lowest)
	if constant && code.literal.IsAbsent() && !c.noFold {
		if v, err := c.fold(code); err == nil {
			return literalCode(v)
		}
	}
	return code
}

// fold evaluates constant code, within a small part of the work an evaluation may do.
func (c *compiler) fold(code code) (boundary.Value, *Error) {
	e := &c.scratch
	if len(e.vars) < c.slots {
		e.vars = make([]boundary.Value, 2*c.slots)
	}
	e.work = maxWork - maxFoldWork
	v := code.val(e)
	err, _ := errors.AsType[*Error](e.Stop())
	if err != nil && err.Code == rules.CodeLimitExceeded {
		c.noFold = true
	}
	return v, err
}

func (c *compiler) node(n ast.Node) code {
	switch n := n.(type) {
	case *ast.NilNode:
		return literalCode(boundary.Null())
	case *ast.BoolNode:
		return literalCode(boundary.Bool(n.Value))
	case *ast.IntegerNode:
		return literalCode(boundary.Int(int64(n.Value)))
	case *ast.FloatNode:
		return literalCode(boundary.Float(n.Value))
	case *ast.StringNode:
		return literalCode(boundary.String(n.Value))
	case *ast.IdentifierNode:
		if l, ok := c.local(n.Value); ok {
			if !l.code.literal.IsAbsent() {
				return l.code
			}
			return c.slotCode(l.slot)
		}
		return c.access(n, false)
	case *ast.MemberNode, *ast.ChainNode:
		return c.access(n, false)
	case *ast.PointerNode:
		return c.pointer(n)
	case *ast.UnaryNode:
		return c.unary(n)
	case *ast.BinaryNode:
		return c.binary(n)
	case *ast.ConditionalNode:
		return c.conditional(n)
	case *ast.CallNode:
		if IsMethodCall(n) {
			return c.access(n, false)
		}
		return c.call(n, n.Callee.(*ast.IdentifierNode).Value, n.Arguments)
	case *ast.BuiltinNode:
		if IsLoop(n) {
			return c.loop(n)
		}
		return c.call(n, n.Name, n.Arguments)
	}
	return c.composite(n)
}

// composite compiles the nodes that make or take apart larger things.
func (c *compiler) composite(n ast.Node) code {
	switch n := n.(type) {
	case *ast.SliceNode:
		return c.slice(n)
	case *ast.ArrayNode:
		return c.list(n)
	case *ast.MapNode:
		return c.object(n)
	case *ast.VariableDeclaratorNode:
		return c.let(n)
	case *ast.SequenceNode:
		return c.sequence(n)
	case *ast.PredicateNode:
		return c.compile(n.Node)
	}
	// The validator lets nothing else through.
	panic("expression: a node of an unknown type")
}

func (c *compiler) unary(n *ast.UnaryNode) code {
	at, arg := c.site(n), c.compile(n.Node)
	switch n.Operator {
	case "-":
		return numberCode(negateNumber(at, arg.number()))
	case "+":
		return numberCode(keepNumber(at, arg.number()))
	}
	return truthCode(not(arg.truth(at, "the operand of not")))
}

func (c *compiler) binary(n *ast.BinaryNode) code {
	at := c.site(n)
	switch n.Operator {
	case "??":
		return c.coalesce(n)
	case "and", "&&":
		return truthCode(and(c.operand(n.Left, "and"), c.operand(n.Right, "and")))
	case "or", "||":
		return truthCode(or(c.operand(n.Left, "or"), c.operand(n.Right, "or")))
	}
	l, r := c.sides(n)
	if rel := slices.Index(relations, n.Operator); rel >= 0 {
		return truthCode(compareNumbers(at, relation(rel), l.operand(), r.operand()))
	}
	switch n.Operator {
	case "+":
		return numberCode(addNumbers(at, l.operand(), r.operand()))
	case "-":
		return numberCode(subNumbers(at, l.operand(), r.operand()))
	case "*":
		return numberCode(mulNumbers(at, l.operand(), r.operand()))
	case "/":
		return numberCode(divNumbers(at, l.operand(), r.operand()))
	case "%":
		return numberCode(restNumbers(at, rules.Mod, l.operand(), r.operand()))
	case "**", "^":
		return numberCode(restNumbers(at, rules.Pow, l.operand(), r.operand()))
	case "==":
		return truthCode(equalCode(yes, l, r))
	case "!=":
		return truthCode(equalCode(no, l, r))
	case "..":
		return valueCode(rangeList(at, l.val, r.val))
	}
	return truthCode(c.test(n, at, l, r))
}

// operand is a side of and or or.
func (c *compiler) operand(n ast.Node, operator string) truth {
	return c.compile(n).truth(c.site(n), "a side of "+operator)
}

// equalCode takes the short way when one side is a constant string.
func equalCode(want verdict, l, r code) truth {
	if s, ok := r.literal.AsString(); ok {
		return equalString(want, l.val, s)
	}
	if s, ok := l.literal.AsString(); ok {
		return equalString(want, r.val, s)
	}
	return equal(want, l.val, r.val)
}

// test compiles the operators that look for something in something.
func (c *compiler) test(n *ast.BinaryNode, at Site, l, r code) truth {
	switch n.Operator {
	case "contains":
		return testText(at, "contains", strings.Contains, l.val, r.val)
	case "startsWith":
		return testText(at, "startsWith", strings.HasPrefix, l.val, r.val)
	case "endsWith":
		return testText(at, "endsWith", strings.HasSuffix, l.val, r.val)
	case "matches":
		return matches(at, l.val, r)
	}
	return func(e *Env) verdict {
		a := l.val(e)
		if a.IsAbsent() {
			return stopped
		}
		b := r.val(e)
		if b.IsAbsent() {
			return stopped
		}
		if b.Kind() == boundary.KindTable {
			return e.hasRow(at, b, a)
		}
		in, f := rules.In(a, b)
		if f != nil {
			e.fault(at, f)
			return stopped
		}
		return verdictOf(in)
	}
}

// matches compiles a constant pattern once.
func matches(at Site, l value, r code) truth {
	find := func(e *Env, re *pattern.Pattern, text, written boundary.Value) verdict {
		if s, ok := text.AsString(); ok && !e.Charge(at, re.Work(len(s))) {
			return stopped
		}
		return e.testStrings(at, "matches", func(s, _ string) bool { return re.MatchString(s) }, text, written)
	}
	var constant *pattern.Pattern
	if written, ok := r.literal.AsString(); ok {
		constant, _ = pattern.Compile(written) // a mistake in it has been told
	}
	return func(e *Env) verdict {
		a := l(e)
		if a.IsAbsent() {
			return stopped
		}
		b := r.val(e)
		if b.IsAbsent() {
			return stopped
		}
		if constant != nil {
			return find(e, constant, a, b)
		}
		written, ok := b.AsString()
		if !ok {
			return e.testStrings(at, "matches", nil, a, b)
		}
		re, err := pattern.Compile(written)
		if err != nil {
			e.Fail(at, rules.CodeInvalidArgument, "%s", err)
			return stopped
		}
		if !e.Charge(at, re.Made()) {
			return stopped
		}
		return find(e, re, a, b)
	}
}

// conditional is a ? b : c, and if a { b } else { c }.
func (c *compiler) conditional(n *ast.ConditionalNode) code {
	test := c.compile(n.Cond).truth(c.site(n.Cond), "a condition")
	a, b := c.compile(n.Exp1), c.compile(n.Exp2)
	av, bv := a.val, b.val
	out := valueCode(func(e *Env) boundary.Value {
		switch test(e) {
		case yes:
			return av(e)
		case no:
			return bv(e)
		}
		return boundary.Value{}
	})
	if a.num != nil && b.num != nil {
		an, bn := a.num, b.num
		out.num = func(e *Env) (uint64, numKind) {
			switch test(e) {
			case yes:
				return an(e)
			case no:
				return bn(e)
			}
			return 0, numFailed
		}
	}
	if a.test != nil && b.test != nil {
		at, bt := a.test, b.test
		out.test = func(e *Env) verdict {
			switch test(e) {
			case yes:
				return at(e)
			case no:
				return bt(e)
			}
			return stopped
		}
	}
	return out
}

// let binds a variable. A constant needs no slot.
func (c *compiler) let(n *ast.VariableDeclaratorNode) code {
	val := c.compile(n.Value)
	slot := c.takeSlots(1)
	c.locals = append(c.locals, local{name: n.Name, slot: slot, code: val})
	body := c.compile(n.Expr)
	c.locals = c.locals[:len(c.locals)-1]
	if !val.literal.IsAbsent() {
		return body
	}
	set, run := val.val, body.val
	return valueCode(func(e *Env) boundary.Value {
		v := set(e)
		if v.IsAbsent() {
			return v
		}
		e.vars[slot] = v
		return run(e)
	})
}

// sequence evaluates all and yields the last.
func (c *compiler) sequence(n *ast.SequenceNode) code {
	all := make([]value, len(n.Nodes))
	for i, m := range n.Nodes {
		all[i] = c.compile(m).val
	}
	return valueCode(func(e *Env) boundary.Value {
		var v boundary.Value
		for _, f := range all {
			if v = f(e); v.IsAbsent() {
				break
			}
		}
		return v
	})
}
