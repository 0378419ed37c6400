package graph

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/spec"
)

// CodeNotRegistered is a node that calls what the program has not registered.
const CodeNotRegistered = "not_registered"

// Function is a node's computation in Go: the values of its inputs, whose names are beside
// them, to its own. It is pure: the same for the same values, without
// clock, state or I/O, and it changes none of them. An error or a panic is the node's (M21).
type Function func(names []string, args []boundary.Value) (boundary.Value, error)

// call is what a node of kind go evaluates.
type call struct {
	function Function
	names    []string
	inputs   []int // by the plan's indexes
}

// Eval implements evaluator. An input that is absent makes the node skipped, as a plain read
// in an expression does.
func (c *call) Eval(env *expression.Env) (boundary.Value, error) {
	args := make([]boundary.Value, len(c.inputs))
	for k, i := range c.inputs {
		if args[k] = env.Values[i]; args[k].IsAbsent() {
			return boundary.Value{}, expression.ErrAbsent
		}
	}
	v, err := c.function(c.names, args)
	if errors.Is(err, boundary.ErrNotFinite) {
		return v, &expression.EvalError{Code: expression.CodeNotFinite, Text: err.Error()}
	}
	if err == nil && v.IsAbsent() {
		return boundary.Null(), nil
	}
	return v, err
}

// findCall fills in what a node of kind go rests on, and its function.
func (c *compiler) findCall(u *unit) {
	if u.decl.Kind != "go" {
		return
	}
	for _, in := range u.decl.Go.Inputs {
		at, known := c.index[in.Name]
		switch {
		case !known || at >= c.varsIndex():
			c.report(in.Pos, spec.CodeUnknownName, fmt.Sprintf("there is no accumulator or node %s", in.Name), "")
		default:
			u.deps = append(u.deps, dependency{from: at, kind: plainEdge})
			u.args = append(u.args, at)
		}
	}
	if u.function = c.functions[u.decl.Go.Name]; u.function != nil || u.decl.Go.Name == "" {
		return
	}
	text := fmt.Sprintf("this program has registered no function %q; ", u.decl.Go.Name)
	if names := slices.Sorted(maps.Keys(c.functions)); len(names) > 0 {
		text += "it has " + strings.Join(names[:min(len(names), 20)], ", ")
	} else {
		text += "functions are registered by Go programs that embed the daemon"
	}
	c.report(u.decl.Pos, CodeNotRegistered, text, "")
}

// call is the executable form of a node of kind go.
func (u *unit) call(p *Plan, position []int) *call {
	f := &call{function: u.function}
	for k, at := range u.args {
		f.names = append(f.names, u.decl.Go.Inputs[k].Name)
		if n := at - len(p.inputs); n >= 0 {
			at = len(p.inputs) + position[n]
		} else {
			p.reads[at].whole = true
		}
		f.inputs = append(f.inputs, at)
	}
	return f
}
