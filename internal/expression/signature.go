package expression

import (
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/expr-lang/expr/builtin"
	"github.com/expr-lang/expr/conf"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression/eval"
	"github.com/graphd/graphd/internal/expression/library"
)

// signatures is the table of functions as the checker wants it.
var signatures = func() conf.FunctionsTable {
	table := make(conf.FunctionsTable, len(library.Table()))
	for name, f := range library.Table() {
		table[name] = &builtin.Function{Name: name, Validate: func(args []reflect.Type) (reflect.Type, error) {
			return resultOf(f, args)
		}}
	}
	return table
}()

// resultOf checks the types of the arguments, whose number is right, and tells the result's.
func resultOf(f *eval.Function, args []reflect.Type) (reflect.Type, error) {
	kinds := make([]boundary.Kind, len(args))
	for i, t := range args {
		k := kindOf(t)
		if kinds[i] = k; k != boundary.KindAbsent && !f.Param(i).Has(k) {
			advice := ""
			if k == boundary.KindString && f.Param(i).Has(boundary.KindDuration) {
				advice = `; a duration is written duration("60s")`
			}
			return typeAny, fmt.Errorf("%s needs %s, got %s%s", f.Title(), f.Param(i), k, advice)
		}
	}
	if f.Mistake != nil {
		if why := f.Mistake(kinds); why != "" {
			return typeAny, errors.New(why)
		}
	}
	if !f.Same {
		return goType(f.Result), nil
	}
	if _, most := f.Arguments(); most == eval.Many {
		for _, t := range args {
			if t != args[0] {
				return typeAny, nil
			}
		}
	}
	// Of a list, the result is one of its elements.
	if kindOf(args[0]) == boundary.KindList {
		return typeAny, nil
	}
	return args[0], nil
}

var (
	typeAny      = reflect.TypeFor[any]()
	typeTime     = reflect.TypeFor[time.Time]()
	typeDuration = reflect.TypeFor[time.Duration]()
)

// kindOf is the kind of the checker's type; KindAbsent when it is not known.
func kindOf(t reflect.Type) boundary.Kind {
	switch {
	case t == nil:
		return boundary.KindNull
	case t == typeTime:
		return boundary.KindTime
	case t == typeDuration:
		return boundary.KindDuration
	}
	switch t.Kind() {
	case reflect.Bool:
		return boundary.KindBool
	case reflect.Int:
		return boundary.KindInt
	case reflect.Float64:
		return boundary.KindFloat
	case reflect.String:
		return boundary.KindString
	case reflect.Slice:
		return boundary.KindList
	case reflect.Map:
		return boundary.KindObject
	}
	return boundary.KindAbsent
}

func goType(k boundary.Kind) reflect.Type {
	switch k {
	case boundary.KindBool:
		return reflect.TypeFor[bool]()
	case boundary.KindInt:
		return reflect.TypeFor[int]()
	case boundary.KindFloat:
		return reflect.TypeFor[float64]()
	case boundary.KindString:
		return reflect.TypeFor[string]()
	case boundary.KindTime:
		return typeTime
	case boundary.KindDuration:
		return typeDuration
	case boundary.KindList:
		return reflect.TypeFor[[]any]()
	case boundary.KindObject:
		return reflect.TypeFor[map[string]any]()
	}
	return typeAny
}
