package aggregate

import (
	"fmt"
	"maps"
	"slices"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
)

// function is one of the functions.
type function uint8

const (
	fnCount function = iota
	fnSum
	fnMean
	fnMin
	fnMax
	fnMinBy
	fnMaxBy
	fnFirst
	fnLast
	fnStddev
	fnQuantile
	fnDistinct
	fnCollect
	fnTop
	fnCountDistinct
)

// names are the functions by name; their order is that of the constants.
var names = [...]string{"count", "sum", "mean", "min", "max", "min_by", "max_by", "first", "last", "stddev", "quantile",
	"distinct", "collect", "top", "count_distinct"}

// MaxCollected bounds the limit of collect, and MaxTop how many top keeps.
const (
	MaxCollected = 10_000
	MaxTop       = 1000
)

// call is one use of a function.
type call struct {
	fn    function
	x, by int     // its arguments, as indexes into Calls.args; -1: none
	q     float64 // of quantile
	limit int     // of collect and top; of distinct and count_distinct, up to how many are counted exactly
}

// Calls are the calls of a declaration's aggregates, each distinct one once.
type Calls struct {
	calls []call
	args  []*expression.Program
	texts []string // of args, which are over one scope
	names []string // of the calls, for messages
}

// Len is the number of calls: how many cells a group has.
func (c *Calls) Len() int { return len(c.calls) }

// Lists is how many values of so many the calls keep that keep several as they are, and which of them keeps the most,
// and how many; 0 for none.
func (c *Calls) Lists(of int) (all int, name string, most int) {
	for k := range c.calls {
		switch f := &c.calls[k]; f.fn {
		case fnCollect, fnTop, fnCountDistinct:
			n := min(f.limit, of)
			if all += n; n > most {
				name, most = c.names[k], n
			}
		}
	}
	return all, name, most
}

// Args are the distinct arguments, each to be evaluated once per event.
func (c *Calls) Args() []*expression.Program { return c.args }

// Result is one field of the aggregate.
type Result struct {
	// Program is over the values of the calls that uses names, and then the outer scope.
	Program *expression.Program
	uses    []int // indexes into Calls
}

// Type is the static type of the result.
func (r *Result) Type() expression.Type { return r.Program.Type() }

// Compile adds the aggregate of text to c. Arguments are over inner, and so are the
// constants of quantile and collect, which are evaluated in env and may read vars alone;
// the rest is over outer. The error is an [*expression.Error].
func (c *Calls) Compile(text string, inner, outer expression.Scope, env *expression.Env, vars int) (*Result, error) {
	agg, err := expression.CompileAggregate(text, inner, outer, folds)
	if err != nil {
		return nil, err
	}
	r := &Result{Program: agg.Result}
	for i := range agg.Calls {
		k, err := c.add(&agg.Calls[i], env, vars)
		if err != nil {
			return nil, err
		}
		r.uses = append(r.uses, k)
	}
	return r, nil
}

// limitOf is the constant from 1 to most that a call has as one of its arguments, which are counted from 0. what says
// what it is for.
func limitOf(fc *expression.FoldCall, arg, most int, what string, env *expression.Env, vars int) (int, error) {
	n, ok := constant(fc.Args[arg], env, vars).AsInt()
	if !ok || n < 1 || n > int64(most) {
		return 0, &expression.Error{Offset: fc.Offset, Code: expression.CodeInvalidArgument,
			Text: fmt.Sprintf("%s needs a constant between 1 and %d as its %s argument, %s; write %s", fc.Name, most,
				[]string{"first", "second", "third"}[arg], what, folds[fc.Name].Usage)}
	}
	return int(n), nil
}

// add adds one call, unless it is there, and returns its index.
func (c *Calls) add(fc *expression.FoldCall, env *expression.Env, vars int) (int, error) {
	next := call{fn: function(slices.Index(names[:], fc.Name)), x: -1, by: -1}
	if len(fc.Args) > 0 {
		next.x = c.arg(fc.Args[0])
	}
	var err error
	switch next.fn {
	case fnMinBy, fnMaxBy:
		next.by = c.arg(fc.Args[1])
	case fnQuantile:
		q, ok := constant(fc.Args[1], env, vars).AsFloat()
		if !ok || q < 0 || q > 1 {
			return 0, &expression.Error{Offset: fc.Offset, Code: expression.CodeInvalidArgument,
				Text: "quantile needs a constant between 0 and 1 as its second argument, such as 0.99; write " +
					folds[fc.Name].Usage}
		}
		next.q = q
	case fnCollect:
		next.limit, err = limitOf(fc, 1, MaxCollected, "how many it keeps", env, vars)
	case fnTop:
		next.by = c.arg(fc.Args[1])
		next.limit, err = limitOf(fc, 2, MaxTop, "how many it keeps", env, vars)
	case fnCountDistinct:
		if next.limit = DefaultCounted; len(fc.Args) > 1 {
			next.limit, err = limitOf(fc, 1, MaxCounted, "up to how many it counts", env, vars)
		}
	case fnDistinct:
		if next.limit = fewExact; len(fc.Args) > 1 {
			next.limit, err = limitOf(fc, 1, MaxExact, "up to how many it counts exactly", env, vars)
		}
	}
	if err != nil {
		return 0, err
	}
	if i := slices.Index(c.calls, next); i >= 0 {
		return i, nil
	}
	c.calls, c.names = append(c.calls, next), append(c.names, fc.Name)
	return len(c.calls) - 1, nil
}

// arg adds an argument, unless it is there, and returns its index.
func (c *Calls) arg(p *expression.Program) int {
	if i := slices.Index(c.texts, p.Text()); i >= 0 {
		return i
	}
	c.args, c.texts = append(c.args, p), append(c.texts, p.Text())
	return len(c.args) - 1
}

// constant is the value of an argument that rests on nothing but vars; absent otherwise.
func constant(p *expression.Program, env *expression.Env, vars int) boundary.Value {
	for _, r := range p.Reads() {
		if r.Name != vars {
			return boundary.Value{}
		}
	}
	v, err := p.Eval(env)
	if err != nil {
		return boundary.Value{}
	}
	return v
}

// Kinds of arguments.
var (
	numeric = []boundary.Kind{boundary.KindInt, boundary.KindFloat}
	ordered = []boundary.Kind{boundary.KindInt, boundary.KindFloat, boundary.KindString, boundary.KindTime,
		boundary.KindDuration}
)

func fits(t expression.Type, kinds []boundary.Kind) bool {
	return t.IsAny() || t.Kind() == boundary.KindNull || slices.Contains(kinds, t.Kind())
}

// folds are the functions as the compiler of expressions sees them.
var folds = map[string]expression.Fold{
	"count": {Usage: "count()", Result: func([]expression.Type) (expression.Type, error) {
		return expression.Of(boundary.KindInt), nil
	}},
	"sum":      {Min: 1, Max: 1, Usage: "sum(x)", Result: over("sum", numeric, sameType)},
	"mean":     {Min: 1, Max: 1, Usage: "mean(x)", Result: over("mean", numeric, floatType)},
	"min":      {Min: 1, Max: 1, Usage: "min(x)", Result: over("min", ordered, sameType)},
	"max":      {Min: 1, Max: 1, Usage: "max(x)", Result: over("max", ordered, sameType)},
	"min_by":   {Min: 2, Max: 2, Usage: "min_by(x, by)", Result: by("min_by")},
	"max_by":   {Min: 2, Max: 2, Usage: "max_by(x, by)", Result: by("max_by")},
	"first":    {Min: 1, Max: 1, Usage: "first(x)", Result: over("first", nil, sameType)},
	"last":     {Min: 1, Max: 1, Usage: "last(x)", Result: over("last", nil, sameType)},
	"stddev":   {Min: 1, Max: 1, Usage: "stddev(x)", Result: over("stddev", numeric, floatType)},
	"quantile": {Min: 2, Max: 2, Usage: "quantile(x, q)", Result: over("quantile", numeric, floatType)},
	"distinct": {Min: 1, Max: 2, Usage: "distinct(x[, exact])", Result: over("distinct", nil, intType)},
	"collect":  {Min: 2, Max: 2, Usage: "collect(x, limit)", Result: over("collect", nil, expression.ListOf)},
	"count_distinct": {Min: 1, Max: 2, Usage: "count_distinct(x[, limit])",
		Result: over("count_distinct", nil, intType)},
	"top": {Min: 3, Max: 3, Usage: "top(x, by, k)", Result: func(args []expression.Type) (expression.Type, error) {
		of, err := by("top")(args)
		return expression.ListOf(of), err
	}},
}

func sameType(t expression.Type) expression.Type { return t }

func intType(expression.Type) expression.Type { return expression.Of(boundary.KindInt) }

func floatType(expression.Type) expression.Type { return expression.Of(boundary.KindFloat) }

// over checks the first argument: nil kinds are all.
func over(name string, kinds []boundary.Kind, result func(expression.Type) expression.Type) func([]expression.Type) (
	expression.Type, error) {
	return func(args []expression.Type) (expression.Type, error) {
		if kinds != nil && !fits(args[0], kinds) {
			return expression.Any(), fmt.Errorf("%s needs %s, got %s", name, needs(kinds), args[0])
		}
		return result(args[0]), nil
	}
}

func by(name string) func([]expression.Type) (expression.Type, error) {
	return func(args []expression.Type) (expression.Type, error) {
		if !fits(args[1], ordered) {
			return expression.Any(), fmt.Errorf("%s needs %s to go by, got %s", name, needs(ordered), args[1])
		}
		return args[0], nil
	}
}

func needs(kinds []boundary.Kind) string {
	if len(kinds) == len(numeric) {
		return "numbers"
	}
	return "numbers, strings, times or durations"
}

// Usages are how calls of the aggregates are written, in the order of their names.
func Usages() (list []string) {
	for _, name := range slices.Sorted(maps.Keys(folds)) {
		if !folds[name].Later {
			list = append(list, folds[name].Usage)
		}
	}
	return list
}
