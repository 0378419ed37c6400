// Package route is the node that chooses: its value is the name of the first of its routes
// whose condition holds, null when none does. Nodes can come after a route.
package route

import (
	"fmt"
	"strings"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/kind"
	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/spec/decode"
	"github.com/graphd/graphd/internal/spec/meaning"
)

const (
	// CodeUnreachableRoute is a route that is never taken.
	CodeUnreachableRoute = "unreachable_route"
	// CodeRouteOrder are routes in a JSON object, whose order tools are free to change.
	CodeRouteOrder = "route_order"
)

const members = `"type": ["object", "array"],
"minProperties": 1,
"propertyNames": { "$ref": "#/$defs/name" },
"additionalProperties": { "$ref": "#/$defs/expression" },
"minItems": 1,
"items": {
	"type": "object",
	"minProperties": 1,
	"maxProperties": 1,
	"propertyNames": { "$ref": "#/$defs/name" },
	"additionalProperties": { "$ref": "#/$defs/expression" }
}`

// Kind describes the node.
func Kind() kind.Node {
	about := decode.Inline("Routes with their conditions, as a mapping or as a list with an item for each; "+
		"the first that holds is taken.", members)
	declared := decode.NewKind("route", about, defaults, readDeclared)
	return kind.NewNode(declared, kind.Unchecked, remarks, result, compile)
}

// Declared is the node as a declaration describes it.
type Declared struct {
	// Choices are the routes with their conditions, in the order they are tried.
	Choices []spec.Field
	// Object is the place of the JSON object that they stand in; zero where it is none.
	Object spec.Pos
}

func defaults() Declared { return Declared{} }

func readDeclared(d *decode.Decoder, v decode.Value, c *Declared) {
	if !v.IsList() && !d.Mapping(v, "a mapping from routes to conditions, or a list of them") {
		return
	}
	c.Choices = d.ExpressionsInOrder(v, "route")
	if v.IsJSON() {
		c.Object = v.Here().Pos()
	}
	if v.IsEmpty() {
		d.Report(v.Whole(), decode.CodeEmptyRoutes, "", "the node has no routes; name at least one with its condition")
	}
}

// Canonical implements [spec.NodeConfig].
func (c Declared) Canonical(t *meaning.Tree, name string) {
	list := t.List(name)
	for _, f := range c.Choices {
		list.Leaf(f.Name, f.Expr.Text)
	}
}

// Identity implements [spec.NodeConfig]: the routes with their conditions are all there is.
func (c Declared) Identity() string { return "" }

// Reads implements [spec.NodeConfig].
func (c Declared) Reads() spec.Reads {
	terms := make([]spec.Term, len(c.Choices))
	for i, f := range c.Choices {
		terms[i] = spec.Term{Name: f.Name, Expr: f.Expr, Condition: true}
	}
	return spec.ByTerms(terms...)
}

// Routes implements [spec.NodeConfig].
func (c Declared) Routes() []string {
	names := make([]string, len(c.Choices))
	for i, f := range c.Choices {
		names[i] = f.Name
	}
	return names
}

// remarks finds routes that are never taken, and an order that may get lost.
func remarks(c Declared, at kind.Place) (found spec.Diagnostics) {
	add := func(p spec.Pos, format string, args ...any) {
		here := kind.Place{File: at.File, Pos: p}
		found = append(found, here.Mistake(CodeUnreachableRoute, fmt.Sprintf(format, args...))...)
	}
	if c.Object != (spec.Pos{}) && len(c.Choices) > 1 {
		here := kind.Place{File: at.File, Pos: c.Object}
		found = here.Mistake(CodeRouteOrder, "the first route that holds is taken, so the order of this JSON object "+
			"counts, and tools that sort keys change what it means; write a list: [{…}, {…}]")
	}
	always := ""
	for _, r := range c.Choices {
		switch text := strings.TrimSpace(r.Expr.Text); {
		case always != "":
			add(r.Expr.Pos, "the route %s is never taken, for %s before it always is; move it up, or remove it",
				r.Name, always)
		case text == "true":
			always = r.Name
		case text == "false":
			add(r.Expr.Pos, "the route %s is never taken: its condition is false; remove it", r.Name)
		}
	}
	return found
}

func result(Declared, []*expression.Program) expression.Type {
	return expression.Of(boundary.KindString)
}

func compile(c Declared, parts kind.Parts) kind.Evaluator {
	e := &choice{names: c.Routes(), conditions: parts.Programs}
	ends, remembers := make([]int, len(parts.Programs)), 0
	for i, condition := range parts.Programs {
		remembers += condition.Memories()
		ends[i] = remembers
		e.values = append(e.values, boundary.String(e.names[i]))
	}
	if remembers > 0 {
		e.ends = ends
	}
	return e
}

// choice evaluates a node.
type choice struct {
	names      []string
	values     []boundary.Value // the names
	conditions []*expression.Program
	ends       []int // by condition, where its part of the node's memories ends; nil when none remembers anything
}

// Eval implements [kind.Evaluator].
func (c *choice) Eval(env *expression.Env) (boundary.Value, error) {
	all, first := env.Memories, 0
	for i, condition := range c.conditions {
		if c.ends != nil {
			end := c.ends[i]
			env.Memories, first = all[first:end:end], end
		}
		holds, err := condition.EvalBool(env)
		if err != nil {
			return boundary.Value{}, fmt.Errorf("route %s: %w", c.names[i], err)
		}
		if holds {
			return c.values[i], nil
		}
	}
	return boundary.Null(), nil
}
