package eval

import (
	"iter"
	"slices"

	"github.com/expr-lang/expr/ast"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression/rules"
)

// The functions that take a predicate: map, filter, sum and their like.

// Loops are the functions whose second argument is evaluated for each element.
var Loops = []string{
	"all", "any", "count", "filter", "find", "findIndex", "findLast", "findLastIndex",
	"groupBy", "map", "none", "one", "reduce", "sortBy", "sum",
}

// IsLoop tells the functions with a predicate from the plain ones.
func IsLoop(n *ast.BuiltinNode) bool { return slices.Contains(Loops, n.Name) }

// loop is one such function, compiled.
type loop struct {
	name string
	at   Site
	over value
	body code
	// nested loops pay for looking at their list, which they do again and again.
	nested bool
	frame
	cost int // of one round, in units of work
}

// loop compiles a function with a predicate. Without one, the predicate is the element itself.
func (c *compiler) loop(n *ast.BuiltinNode) code {
	l := &loop{name: n.Name, at: c.site(n), over: c.compile(n.Arguments[0]).val, nested: len(c.loops) > 0}
	first := c.takeSlots(3)
	l.frame = frame{item: first, index: first + 1, acc: first + 2}
	c.loops = append(c.loops, l.frame)
	bodyAt := l.at
	if len(n.Arguments) > 1 {
		l.body = c.compile(n.Arguments[1])
		l.cost = 1 + countNodes(n.Arguments[1])
		bodyAt = c.site(n.Arguments[1])
	} else {
		l.body, l.cost = c.slotCode(l.item), 1
	}
	c.loops = c.loops[:len(c.loops)-1]
	test := l.body.truth(bodyAt, "the predicate of "+n.Name)
	switch n.Name {
	case "all":
		return truthCode(l.search(test, no, no, yes))
	case "any":
		return truthCode(l.search(test, yes, yes, no))
	case "none":
		return truthCode(l.search(test, yes, no, yes))
	case "one":
		return truthCode(l.one(test))
	case "count":
		return valueCode(l.count(test))
	case "filter":
		return valueCode(l.filter(test))
	case "find", "findLast", "findIndex", "findLastIndex":
		return valueCode(l.find(test))
	case "map":
		return valueCode(l.mapped)
	case "sum":
		return numberCode(l.sum(l.body.number()))
	case "groupBy":
		return valueCode(l.groupBy)
	case "sortBy":
		var order value
		if len(n.Arguments) == 3 {
			order = c.compile(n.Arguments[2]).val
		}
		return valueCode(func(e *Env) boundary.Value { return l.sortBy(e, order) })
	}
	var start value
	if len(n.Arguments) == 3 {
		start = c.compile(n.Arguments[2]).val
	}
	return valueCode(func(e *Env) boundary.Value { return l.reduce(e, start) })
}

// pointer compiles #, #index and #acc.
func (c *compiler) pointer(n *ast.PointerNode) code {
	f := c.loops[len(c.loops)-1]
	switch n.Name {
	case "index":
		return c.slotCode(f.index)
	case "acc":
		return c.slotCode(f.acc)
	}
	return c.slotCode(f.item)
}

// list evaluates what is looped over.
func (l *loop) list(e *Env) (boundary.Value, bool) {
	v := l.over(e)
	if v.Kind() == boundary.KindList {
		return v, !l.nested || e.Charge(l.at, Weight(v))
	}
	if !v.IsAbsent() {
		e.Fail(l.at, rules.CodeTypeError, "%s needs a list, got %s", l.name, v.Kind())
	}
	return v, false
}

// enter starts a round.
func (l *loop) enter(e *Env, item boundary.Value, i int) bool {
	e.vars[l.item], e.vars[l.index] = rules.Present(item), boundary.Int(int64(i))
	return e.Charge(l.at, l.cost)
}

// search looks for an element with the verdict wanted; found and otherwise are the answers.
func (l *loop) search(test truth, wanted, found, otherwise verdict) truth {
	return func(e *Env) verdict {
		list, ok := l.list(e)
		if !ok {
			return stopped
		}
		i := 0
		for item := range list.Items() {
			if !l.enter(e, item, i) {
				return stopped
			}
			switch test(e) {
			case wanted:
				return found
			case stopped:
				return stopped
			}
			i++
		}
		return otherwise
	}
}

// tally counts the elements that pass; -1 when the evaluation stopped.
func (l *loop) tally(e *Env, test truth) int {
	list, ok := l.list(e)
	if !ok {
		return -1
	}
	i, n := 0, 0
	for item := range list.Items() {
		if !l.enter(e, item, i) {
			return -1
		}
		switch test(e) {
		case yes:
			n++
		case stopped:
			return -1
		}
		i++
	}
	return n
}

func (l *loop) one(test truth) truth {
	return func(e *Env) verdict {
		n := l.tally(e, test)
		if n < 0 {
			return stopped
		}
		return verdictOf(n == 1)
	}
}

func (l *loop) count(test truth) value {
	return func(e *Env) boundary.Value {
		n := l.tally(e, test)
		if n < 0 {
			return boundary.Value{}
		}
		return boundary.Int(int64(n))
	}
}

func (l *loop) filter(test truth) value {
	return func(e *Env) boundary.Value {
		list, ok := l.list(e)
		if !ok {
			return boundary.Value{}
		}
		var out []boundary.Value
		i := 0
		for item := range list.Items() {
			if !l.enter(e, item, i) {
				return boundary.Value{}
			}
			switch test(e) {
			case yes:
				out = append(out, e.vars[l.item])
			case stopped:
				return boundary.Value{}
			}
			i++
		}
		return e.List(l.at, out)
	}
}

// find is the element, or its index, that passes first or last; null when none does.
func (l *loop) find(test truth) value {
	last := l.name == "findLast" || l.name == "findLastIndex"
	index := l.name == "findIndex" || l.name == "findLastIndex"
	return func(e *Env) boundary.Value {
		list, ok := l.list(e)
		if !ok {
			return boundary.Value{}
		}
		for i, item := range inOrder(list, last) {
			if !l.enter(e, item, i) {
				return boundary.Value{}
			}
			switch test(e) {
			case stopped:
				return boundary.Value{}
			case yes:
				if index {
					return boundary.Int(int64(i))
				}
				return rules.Present(item)
			}
		}
		return boundary.Null()
	}
}

// inOrder walks a list with the indexes of its elements, from the end when backward.
func inOrder(list boundary.Value, backward bool) iter.Seq2[int, boundary.Value] {
	if backward {
		return slices.Backward(slices.Collect(list.Items()))
	}
	return func(yield func(int, boundary.Value) bool) {
		i := 0
		for item := range list.Items() {
			if !yield(i, item) {
				return
			}
			i++
		}
	}
}

// each evaluates the predicate for every element of list and hands the results to f.
func (l *loop) each(e *Env, list boundary.Value, f func(item, result boundary.Value) bool) bool {
	i := 0
	for item := range list.Items() {
		if !l.enter(e, item, i) {
			return false
		}
		v := l.body.val(e)
		if v.IsAbsent() || !f(e.vars[l.item], v) {
			return false
		}
		i++
	}
	return true
}

func (l *loop) mapped(e *Env) boundary.Value {
	list, ok := l.list(e)
	if !ok {
		return boundary.Value{}
	}
	out := make([]boundary.Value, 0, list.Len())
	if !l.each(e, list, func(_, v boundary.Value) bool {
		out = append(out, v)
		return true
	}) {
		return boundary.Value{}
	}
	return e.List(l.at, out)
}

// sum adds numbers, or durations; the sum of nothing is 0.
func (l *loop) sum(body number) number {
	return func(e *Env) (uint64, numKind) {
		list, ok := l.list(e)
		if !ok {
			return 0, numFailed
		}
		total, kind := uint64(0), numInt
		var spans boundary.Value // the total of durations
		i := 0
		for item := range list.Items() {
			if !l.enter(e, item, i) {
				return 0, numFailed
			}
			n, nk := body(e)
			switch {
			case nk == numFailed:
				return 0, numFailed
			case nk == numOther && e.spill.Kind() != boundary.KindDuration:
				e.Fail(l.at, rules.CodeTypeError, "sum needs numbers or durations, got %s", e.spill.Kind())
				return 0, numFailed
			case i == 0:
				total, kind = n, nk
			case kind == numOther:
				total, kind = e.split(e.Arith(l.at, rules.Add, spans, e.join(n, nk)))
			default:
				total, kind = e.arithRest(l.at, rules.Add, total, kind, n, nk)
			}
			if kind == numFailed {
				return 0, numFailed
			}
			spans = e.spill // meaningful while kind is numOther
			i++
		}
		e.spill = spans
		return total, kind
	}
}

// countNodes is the size of a syntax tree, as often as its parts are evaluated.
func countNodes(n ast.Node) int {
	var c nodeCounter
	ast.Walk(&n, &c)
	return int(c)
}

type nodeCounter int

func (c *nodeCounter) Visit(*ast.Node) { *c++ }
