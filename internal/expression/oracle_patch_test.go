package expression

import (
	"maps"
	"math"
	"slices"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression/library"
)

func fault(code string) error { return &EvalError{Code: code, Text: "oracle"} }

// functions are the meanings of everything that is patched in.
func (o *oracle) functions() map[string]func(args ...any) (any, error) {
	all := map[string]func(args ...any) (any, error){
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
		"$fresh": func(args ...any) (any, error) { return o.env.Fresh[args[0].(int)], nil },
		"$call":  o.call,
	}
	maps.Copy(all, oracleRules)
	return all
}

// oracleRules are the ones that look at nothing but their arguments.
var oracleRules = map[string]func(args ...any) (any, error){
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
	env := &Env{Now: o.env.Now, Epoch: o.env.Epoch, Cause: o.env.Cause, Rand: o.env.Rand,
		Iteration: o.env.Iteration}
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
