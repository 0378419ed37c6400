package library

import (
	"math"
	"slices"
	"strconv"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression/eval"
	"github.com/graphd/graphd/internal/expression/rules"
)

const ordered = number | text | moment | span

var mathFunctions = []eval.Function{
	{Name: "abs", Same: true, Params: []eval.Kinds{number | span}, OnFloat: math.Abs, OnInt: absInt, Call: absolute},
	{Name: "floor", Result: boundary.KindFloat, Params: []eval.Kinds{number}, OnFloat: math.Floor, Call: tooLarge},
	{Name: "ceil", Result: boundary.KindFloat, Params: []eval.Kinds{number}, OnFloat: math.Ceil, Call: tooLarge},
	{Name: "round", Result: boundary.KindFloat, Params: []eval.Kinds{number}, OnFloat: math.Round, Call: tooLarge},
	{Name: "float", Result: boundary.KindFloat, Params: []eval.Kinds{number | text}, OnFloat: func(f float64) float64 {
		return f
	}, Call: parseFloat},
	fixed("int", boundary.KindInt, toInt, number|text),
	{Name: "min", Same: true, Min: 1, Max: eval.Many, Params: []eval.Kinds{ordered | list},
		Call: extreme("min", -1)},
	{Name: "max", Same: true, Min: 1, Max: eval.Many, Params: []eval.Kinds{ordered | list}, Call: extreme("max", 1)},
	ranged("mean", 1, eval.Many, varies, mean, number|list),
	ranged("median", 1, eval.Many, varies, median, number|list),
}

// tooLarge is the call of functions whose short way handles every number.
func tooLarge(e *env, at site, args []value) value {
	return e.Fail(at, rules.CodeNotFinite, "the result for %s is too large", args[0])
}

func absInt(i int64) (int64, bool) { return max(i, -i), i != math.MinInt64 }

// absolute handles what absInt does not: the least int, and durations.
func absolute(e *env, at site, args []value) value {
	d, ok := args[0].AsDuration()
	if !ok || d == math.MinInt64 {
		return tooLarge(e, at, args)
	}
	return boundary.Duration(max(d, -d))
}

func toInt(e *env, at site, args []value) value {
	if s, ok := args[0].AsString(); ok {
		i, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return e.Fail(at, rules.CodeInvalidArgument, "int: %.40q is no integer", s)
		}
		return boundary.Int(i)
	}
	if _, ok := args[0].AsInt(); ok {
		return args[0]
	}
	f, _ := args[0].AsFloat()
	i, ok := rules.Truncate(f)
	if !ok {
		return tooLarge(e, at, args)
	}
	return boundary.Int(i)
}

func parseFloat(e *env, at site, args []value) value {
	f, err := strconv.ParseFloat(str(args[0]), 64)
	if err != nil || !rules.Finite(f) {
		return e.Fail(at, rules.CodeInvalidArgument, "float: %.40q is no number", str(args[0]))
	}
	return boundary.Float(f)
}

// spread hands over the arguments, and the elements of those that are lists.
func spread(args []value, yield func(value) bool) bool {
	for _, a := range args {
		if a.Kind() != boundary.KindList {
			if !yield(a) {
				return false
			}
			continue
		}
		for item := range a.Items() {
			if !yield(rules.Present(item)) {
				return false
			}
		}
	}
	return true
}

// extreme is the least (sign -1) or greatest (sign 1), of equals the first;
// null when there is nothing.
func extreme(name string, sign int) call {
	return func(e *env, at site, args []value) value {
		best := boundary.Null()
		found := false
		if !spread(args, func(v value) bool {
			if !eval.Kinds.Has(ordered, v.Kind()) {
				e.Fail(at, rules.CodeTypeError, "%s needs %s, got %s", name, ordered, v.Kind())
				return false
			}
			if !found {
				best, found = v, true
				return true
			}
			c, ok := e.Order(at, name, v, best)
			if c*sign > 0 {
				best = v
			}
			return ok
		}) {
			return absent()
		}
		return best
	}
}

// numbersOf collects numbers; false when something else is among them.
func numbersOf(e *env, at site, name string, args []value) ([]float64, bool) {
	var all []float64
	ok := spread(args, func(v value) bool {
		f, ok := v.AsFloat()
		if !ok {
			e.Fail(at, rules.CodeTypeError, "%s needs number, got %s", name, v.Kind())
		}
		all = append(all, f)
		return ok
	})
	return all, ok
}

// mean is null for no numbers.
func mean(e *env, at site, args []value) value {
	all, ok := numbersOf(e, at, "mean", args)
	if !ok {
		return absent()
	}
	if len(all) == 0 {
		return boundary.Null()
	}
	sum := 0.0
	for _, f := range all {
		sum += f
	}
	return finite(e, at, "mean", sum/float64(len(all)))
}

// median is null for no numbers.
func median(e *env, at site, args []value) value {
	all, ok := numbersOf(e, at, "median", args)
	if !ok {
		return absent()
	}
	n := len(all)
	if n == 0 {
		return boundary.Null()
	}
	slices.Sort(all)
	if n%2 == 1 {
		return boundary.Float(all[n/2])
	}
	return finite(e, at, "median", (all[n/2-1]+all[n/2])/2)
}

func finite(e *env, at site, name string, f float64) value {
	if !rules.Finite(f) {
		return e.Fail(at, rules.CodeNotFinite, "the result of %s is too large", name)
	}
	return boundary.Float(f)
}

var bitFunctions = []eval.Function{
	fixed("bitand", boundary.KindInt, bitwise(func(a, b int64) int64 { return a & b }), eval.Int, eval.Int),
	fixed("bitor", boundary.KindInt, bitwise(func(a, b int64) int64 { return a | b }), eval.Int, eval.Int),
	fixed("bitxor", boundary.KindInt, bitwise(func(a, b int64) int64 { return a ^ b }), eval.Int, eval.Int),
	fixed("bitnand", boundary.KindInt, bitwise(func(a, b int64) int64 { return a &^ b }), eval.Int, eval.Int),
	fixed("bitnot", boundary.KindInt, func(_ *env, _ site, args []value) value {
		return boundary.Int(^integer(args[0]))
	}, eval.Int),
	fixed("bitshl", boundary.KindInt, shift(func(a int64, by uint64) int64 { return a << by }), eval.Int, eval.Int),
	fixed("bitshr", boundary.KindInt, shift(func(a int64, by uint64) int64 { return a >> by }), eval.Int, eval.Int),
	fixed("bitushr", boundary.KindInt, shift(func(a int64, by uint64) int64 {
		return int64(uint64(a) >> by)
	}), eval.Int, eval.Int),
}

func bitwise(f func(a, b int64) int64) call {
	return func(_ *env, _ site, args []value) value { return boundary.Int(f(integer(args[0]), integer(args[1]))) }
}

// shift is a bit shift; by 64 and more, all bits are gone.
func shift(f func(a int64, by uint64) int64) call {
	return func(e *env, at site, args []value) value {
		by := integer(args[1])
		if by < 0 {
			return e.Fail(at, rules.CodeInvalidArgument, "cannot shift by %d bits", by)
		}
		return boundary.Int(f(integer(args[0]), uint64(by)))
	}
}
