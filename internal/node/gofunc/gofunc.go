// Package gofunc is the node that calls a Go function, which the embedding program has
// registered, on the values of its inputs.
package gofunc

import (
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/kind"
	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/spec/decode"
	"github.com/graphd/graphd/internal/spec/meaning"
)

// CodeNotRegistered is a node that calls what the program has not registered.
const CodeNotRegistered = "not_registered"

// Function is a node's computation in Go: the values of its inputs, whose names are beside
// them, to its own. It is pure: the same for the same values, without
// clock, state or I/O, and it changes none of them. An error or a panic is the node's (M21).
type Function func(names []string, args []boundary.Value) (boundary.Value, error)

// Kind describes the node; functions are what has been registered, by name.
func Kind(functions map[string]Function) kind.Node {
	about := decode.NewSchema("A Go function that the embedding program has registered.",
		decode.Define(definitions, decode.MappingOf("node_go", fields, nil)))
	declared := decode.NewKind("go", about, defaults, func(d *decode.Decoder, v decode.Value, c *Declared) {
		decode.Object(d, v, "node go", fields, c)
	})
	check := func(c Declared, at kind.Place) spec.Diagnostics {
		if functions[c.Name] != nil || c.Name == "" { // of no name, the decoder has said so
			return nil
		}
		return at.Mistake(CodeNotRegistered, missing(c.Name, functions))
	}
	compile := func(c Declared, parts kind.Parts) kind.Evaluator {
		e := &call{function: functions[c.Name]}
		for _, in := range parts.Inputs {
			e.names, e.inputs = append(e.names, in.Name), append(e.inputs, in.At)
		}
		return e
	}
	return kind.NewNode(declared, check, kind.Unchecked, result, compile)
}

// Declared is the node as a declaration describes it.
type Declared struct{ Name string }

func defaults() Declared { return Declared{} }

var (
	fields = []decode.Field[Declared]{
		{Name: "name", Need: true, Read: func(d *decode.Decoder, v decode.Value, c *Declared) {
			c.Name, _ = d.Text(v, "the name of a registered function")
		}},
	}

	//go:embed schema.json
	definitions string
)

// Canonical implements [spec.NodeConfig].
func (c Declared) Canonical(t *meaning.Tree, name string) { t.Branch(name).Text("name", c.Name) }

// Identity implements [spec.NodeConfig].
func (c Declared) Identity() string { return c.Name }

// Reads implements [spec.NodeConfig].
func (c Declared) Reads() spec.Reads { return spec.ByInputs() }

// Routes implements [spec.NodeConfig].
func (c Declared) Routes() []string { return nil }

func missing(name string, functions map[string]Function) string {
	text := fmt.Sprintf("this program has registered no function %q; ", name)
	if names := slices.Sorted(maps.Keys(functions)); len(names) > 0 {
		return text + "it has " + strings.Join(names[:min(len(names), 20)], ", ")
	}
	return text + "functions are registered by Go programs that embed the daemon"
}

// result is any: what a function returns is not known.
func result(Declared, []*expression.Program) expression.Type { return expression.Any() }

// call evaluates a node.
type call struct {
	function Function
	names    []string
	inputs   []int // by the environment's indexes
}

// Foreign implements [kind.Foreign].
func (*call) Foreign() {}

// Eval implements [kind.Evaluator]. An input that is absent makes the node skipped, as a plain
// read in an expression does.
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
