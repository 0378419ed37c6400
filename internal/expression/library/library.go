// Package library is the table of functions that expressions can call, beside
// those with a predicate (map, filter, sum …), which package eval compiles.
//
// A function is one line in the table of its family: its name, the kind of its
// result, what computes it, and the kinds of its arguments. The families have a
// file each. Names and meanings are those of github.com/expr-lang/expr; where
// they differ (numbers that overflow, empty lists, order, time zones) the
// user's page docs/expressions.md says so.
//
// Functions look at nothing but their arguments and the [eval.Env], count the
// work that is not in proportion to their arguments, and never panic.
//
// # Concurrency
//
// The package starts no goroutine; its functions may be called concurrently,
// each call with the Env of its goroutine.
package library

import (
	"maps"
	"slices"
	"strings"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression/eval"
	"github.com/graphd/graphd/internal/expression/rules"
)

// Short words for the tables.
type (
	value = boundary.Value
	env   = eval.Env
	site  = eval.Site
	call  = func(e *env, at site, args []value) value
)

const (
	varies = boundary.KindAbsent
	number = eval.Number
	text   = eval.Text
	moment = eval.Time
	span   = eval.Duration
	list   = eval.List
	object = eval.Object
)

// table is every function by name.
var table = join(clockFunctions, mathFunctions, bitFunctions, textFunctions, listFunctions, objectFunctions,
	timeFunctions, timeMethods, memoryFunctions, tableFunctions)

// Table is every function by name. It is read only.
func Table() map[string]*eval.Function { return table }

// Names are the names of all functions that can be written, sorted; those of methods begin with a dot.
func Names() []string {
	names := slices.Sorted(maps.Keys(table))
	return slices.DeleteFunc(names, func(name string) bool { return strings.Contains(name, " ") })
}

func join(families ...[]eval.Function) map[string]*eval.Function {
	all := make(map[string]*eval.Function)
	for _, family := range families {
		for i := range family {
			all[family[i].Name] = &family[i]
		}
	}
	return all
}

// fixed is a function with one argument for each of params.
func fixed(name string, result boundary.Kind, f call, params ...eval.Kinds) eval.Function {
	return eval.Function{Name: name, Result: result, Call: f, Params: params}
}

// ranged is a function with least to most arguments.
func ranged(name string, least, most int, result boundary.Kind, f call, params ...eval.Kinds) eval.Function {
	return eval.Function{Name: name, Min: least, Max: most, Result: result, Call: f, Params: params}
}

// Cause is the name of the function that says why an epoch runs.
const Cause = "cause"

// Causes are what it can answer.
func Causes() []string { return []string{"criteria", "tick", "max_wait", "force", "with"} }

var clockFunctions = []eval.Function{
	{Name: "now", Result: boundary.KindTime, Clock: true, Call: func(e *env, _ site, _ []value) value {
		return boundary.Time(e.Now)
	}},
	{Name: "epoch", Result: boundary.KindInt, Clock: true, Call: func(e *env, _ site, _ []value) value {
		return boundary.Int(e.Epoch)
	}},
	{Name: Cause, Result: boundary.KindString, OfEpoch: true, Call: func(e *env, _ site, _ []value) value {
		return boundary.String(e.Cause)
	}},
	{Name: "iteration", Result: boundary.KindInt, OfLoop: true, Call: func(e *env, _ site, _ []value) value {
		return boundary.Int(e.Iteration)
	}},
	// It is compiled apart: it looks at the name, and not at the value.
	{Name: eval.Fresh, Result: boundary.KindBool, OfEpoch: true, Params: []eval.Kinds{eval.Anything}},
	{Name: "rand", Result: boundary.KindFloat, Rand: true, Call: func(e *env, at site, _ []value) value {
		if e.Rand == nil {
			return e.Fail(at, rules.CodeInvalidArgument, "rand() has no source here")
		}
		return boundary.Float(e.Rand())
	}},
}

// What arguments hold. Their kinds have been checked, so that the zero value
// stands for an argument that is not of this kind.

func str(v value) string {
	s, _ := v.AsString()
	return s
}

func integer(v value) int64 {
	i, _ := v.AsInt()
	return i
}

// absent is what a function returns after something else has failed.
func absent() value { return value{} }
