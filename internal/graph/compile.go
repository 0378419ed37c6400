package graph

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/graph/internal/bitset"
	"github.com/graphd/graphd/internal/kind"
	"github.com/graphd/graphd/internal/spec"
)

// Codes of the diagnostics that only a compilation gives; see [spec] and
// [expression] for the others.
const (
	// CodeCycle is nodes that rest on each other.
	CodeCycle = "cycle"
	// CodeStrategyNeeded is an input that is latest by default under a node to which every event matters.
	CodeStrategyNeeded = "strategy_needed"
	// codeNotANode is a reference to something of the wrong sort. spec.Parse lets
	// none of these through; a declaration made by hand may have them.
	codeNotANode = "not_a_node"
)

// Compile turns the nodes, guard and outputs of a declaration into a plan. The
// inputs are the accumulators in declaration order, with the types their
// boundaries have; kinds are those that nodes can be of. With mistakes there is no plan, and all of them are reported.
//
// A declaration that [spec.Parse] found mistakes in can be compiled to find the
// rest of them. A wrong reference is then reported again, with the same code at
// the same place; an expression that could not be read is passed over.
//
// Equal declarations give plans that are equal to the byte in their JSON.
func Compile(g *spec.Graph, inputs []Input, kinds []kind.Node) (*Plan, spec.Diagnostics) {
	return CompileFor(nil, g, inputs, kinds)
}

// CompileFor is Compile for a caller, who may go, or ask.
func CompileFor(caller *expression.Caller, g *spec.Graph, inputs []Input, kinds []kind.Node) (
	*Plan, spec.Diagnostics) {
	c := &compiler{g: g, inputs: inputs, kinds: kinds, caller: caller}
	if c.declare(); len(c.diagnostics) > 0 {
		return nil, c.diagnostics // with ambiguous names nothing further can be said
	}
	c.findLoops()
	loose := c.looseNames()
	for i := range c.units {
		c.findReferences(&c.units[i], loose)
	}
	c.findUntils(loose)
	guard := c.findGuardNames(loose)
	order := c.rank()
	c.checkTypes(order)
	c.checkLoops()
	c.checkLanes()
	c.checkStrategies(order)
	c.checkGuard(guard, order)
	outputs := c.outputs(order)
	c.reportMissing()
	if len(c.diagnostics) > 0 {
		slices.SortStableFunc(c.diagnostics, func(a, b spec.Diagnostic) int {
			return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Code, b.Code))
		})
		return nil, c.diagnostics
	}
	return c.build(order, guard, outputs), nil
}

// compiler is one compilation on its way. A name's index is its place among the
// inputs, then the nodes, then `vars` and `key`: by declaration until the nodes
// are ranked, in plan order from then on.
type compiler struct {
	g           *spec.Graph
	inputs      []Input
	kinds       []kind.Node
	caller      *expression.Caller
	units       []unit         // by declaration
	rings       []*ring        // by declaration
	index       map[string]int // name to index by declaration
	vars        boundary.Value
	varsType    expression.Type
	delayed     []int // nodes that some node reads as of the last kept epoch, by declaration
	diagnostics spec.Diagnostics
}

// unit is one node on its way into the plan.
type unit struct {
	decl *spec.Node
	// kind answers for what the node does; nil when nothing does.
	kind *kind.Node
	// sources are the node's terms.
	sources []source
	deps    []dependency
	// args are the indexes, by declaration, of what the field inputs lists.
	args    []int
	delays  []int // nodes that it reads as of the last kept epoch, by declaration, ascending
	lenient []int // names that some of its reads are content not to find
	ring    *ring // the loop that it runs in; nil for none
	turn    int   // and its place in that
	pooled  bool  // it runs in a pool
	rank    int
	onEvent bool       // rests on an event input
	inputs  bitset.Set // what it rests on, directly or not
	reach   bitset.Set // what it comes of in any epoch; see findReach
	typ     expression.Type
}

// source is one term of a node; program is nil until it has been checked.
type source struct {
	spec.Term
	broken  bool // it did not even parse, and that has been said
	program *expression.Program
}

// dependency says that a unit rests on the name with the index from.
type dependency struct {
	from  int
	kind  string
	route string
}

// declare gives every name its index and every var its value.
func (c *compiler) declare() {
	c.index = make(map[string]int, len(c.inputs)+len(c.g.Nodes)+2)
	for i, in := range c.inputs {
		c.index[in.Name] = i
	}
	c.index["vars"], c.index["key"] = c.varsIndex(), c.varsIndex()+1
	c.units = make([]unit, len(c.g.Nodes))
	for i := range c.g.Nodes {
		n := &c.g.Nodes[i]
		if _, taken := c.index[n.Name]; taken {
			c.report(n.Pos, spec.CodeDuplicateName,
				fmt.Sprintf("the name %s is already taken; accumulators and nodes share one name space", n.Name), "")
		}
		c.index[n.Name] = len(c.inputs) + i
		u := &c.units[i]
		u.decl, u.typ = n, expression.Any()
		if n.Config != nil {
			u.kind = c.kindOf(n.Kind)
		}
		for _, t := range n.Reads().Terms() {
			u.sources = append(u.sources, source{Term: t})
		}
	}
	c.declareVars()
}

func (c *compiler) kindOf(name string) *kind.Node {
	for i := range c.kinds {
		if c.kinds[i].Name() == name {
			return &c.kinds[i]
		}
	}
	return nil
}

func (c *compiler) declareVars() {
	names := make([]string, 0, len(c.g.Vars))
	slots := make([]boundary.Value, 0, len(c.g.Vars))
	types := make(map[string]expression.Type, len(c.g.Vars))
	for _, v := range c.g.Vars {
		value, err := boundary.FromAny(v.Value)
		if err != nil {
			c.report(v.Pos, spec.CodeBadValue, fmt.Sprintf("the constant %s cannot be used: %v", v.Name, err), "")
			continue
		}
		names, slots = append(names, v.Name), append(slots, value)
		types[v.Name] = expression.OfValue(value)
	}
	c.vars = boundary.Object(boundary.NewShape(names...), slots)
	c.varsType = expression.ObjectOf(types, c.g.VarsUnread)
}

func (c *compiler) varsIndex() int { return len(c.inputs) + len(c.g.Nodes) }

// findReferences fills in what a node rests on: the names its expressions read,
// and the node it comes after.
func (c *compiler) findReferences(u *unit, loose *names) {
	c.findDelayed(u)
	loose.ofNode(u)
	var late []int
	for i := range u.sources {
		s := &u.sources[i]
		if s.Expr.IsZero() {
			s.broken = true // spec.Parse has said why
			continue
		}
		program, err := loose.compile(s.Expr.Text, expression.Compile)
		if err != nil {
			s.broken = true
			c.reportExpression(s.Expr, err)
			continue
		}
		for _, r := range program.Reads() {
			if r.Name < len(c.inputs) {
				c.refuseSide(s.Expr.Pos, r.Name)
			}
			switch n := r.Name - len(c.inputs); {
			case r.Name >= c.varsIndex():
			case slices.Contains(u.delays, n):
				late = append(late, n)
				s.broken = s.broken || c.refuseFresh(u, s, r)
			case r.Fresh && u.ring != nil && c.ringOf(r.Name) == u.ring:
				s.broken = true
				c.refuseFreshOfLoop(s.Expr, u.ring, r.Name)
			default:
				if !r.Plain && !r.Fresh {
					u.lenient = append(u.lenient, r.Name)
				}
				u.deps = append(u.deps, dependency{from: r.Name, kind: edgeOf(r)})
			}
		}
	}
	c.refuseUnread(u, late)
	c.findInputs(u)
	c.findAfter(u)
	slices.SortFunc(u.deps, func(a, b dependency) int {
		return cmp.Or(cmp.Compare(a.from, b.from), -cmp.Compare(a.kind, b.kind), cmp.Compare(a.route, b.route))
	})
	// One value edge for each name: a plain read somewhere makes it plain. After
	// sorting, plain comes before optional, and that before fresh.
	u.deps = slices.CompactFunc(u.deps, func(a, b dependency) bool {
		return a.from == b.from && a.kind != afterEdge && b.kind != afterEdge
	})
}

// edgeOf is the kind of the edge that a read makes.
func edgeOf(r expression.Read) string {
	switch {
	case r.Fresh:
		return freshEdge
	case r.Plain:
		return plainEdge
	}
	return optionalEdge
}

// findInputs fills in what a node rests on by its field inputs, and asks its kind what is wrong
// with the rest of it.
func (c *compiler) findInputs(u *unit) {
	if u.kind == nil {
		return
	}
	for _, in := range u.decl.Inputs {
		at, known := c.index[in.Name]
		switch {
		case !u.decl.Reads().Listed(): // it has none to list, which spec.Parse has said
		case !known || at >= c.varsIndex():
			c.report(in.Pos, spec.CodeUnknownName, fmt.Sprintf("there is no accumulator or node %s", in.Name), "")
		default:
			u.deps = append(u.deps, dependency{from: at, kind: plainEdge})
			u.args = append(u.args, at)
			if at < len(c.inputs) {
				c.refuseTable(in.Pos, at, "list a node that looks it up")
				c.refuseSide(in.Pos, at)
			}
		}
	}
	place := kind.Place{File: c.g.File, Name: u.decl.Name, Pos: u.decl.Pos, Vars: c.vars}
	c.diagnostics = append(c.diagnostics, u.kind.Check(u.decl.Config, place)...)
}

func (c *compiler) findAfter(u *unit) {
	for _, g := range u.decl.After {
		c.findGate(u, g)
	}
}

func (c *compiler) findGate(u *unit, g spec.Gate) {
	at, known := c.index[g.Node]
	if !known {
		c.report(g.Pos, spec.CodeUnknownName, fmt.Sprintf("there is no node %s to come after", g.Node), "")
		return
	}
	i := at - len(c.inputs)
	if i < 0 || i >= len(c.units) {
		c.report(g.Pos, spec.CodeUnknownName,
			fmt.Sprintf("%s is not a node; after takes NODE or NODE.ROUTE", g.Node), "")
		return
	}
	if c.units[i].decl == u.decl {
		c.report(g.Pos, spec.CodeSelfReference,
			fmt.Sprintf("the node %s cannot come after itself; name another node", g.Node), "")
		return
	}
	if target := c.units[i].decl; g.Route != "" {
		routes := target.Routes()
		switch {
		case routes == nil:
			c.report(g.Pos, spec.CodeNotARoute, fmt.Sprintf("the node %s has no routes; write after: %s",
				g.Node, g.Node), g.Node)
			return
		case !slices.Contains(routes, g.Route):
			c.report(g.Pos, spec.CodeUnknownRoute, fmt.Sprintf("the node %s has no route %s, only %s", g.Node,
				g.Route, strings.Join(routes, ", ")), "")
			return
		}
	}
	u.deps = append(u.deps, dependency{from: at, kind: afterEdge, route: g.Route})
}

// priorityOf is smaller for what goes first among independent nodes (M24).
func priorityOf(name string) int {
	switch name {
	case "high":
		return 0
	case "low":
		return 2
	case "background":
		return 3
	default:
		return 1
	}
}

// reportMissing reports a node without an expression where nothing else is wrong:
// one that spec.Parse did not make.
func (c *compiler) reportMissing() {
	for i := range c.units {
		u := &c.units[i]
		empty := u.kind == nil || len(u.sources) == 0 && !u.decl.Reads().Listed() ||
			slices.ContainsFunc(u.sources, func(s source) bool { return s.Expr.IsZero() })
		if empty && len(c.diagnostics) == 0 {
			c.report(u.decl.Pos, spec.CodeMissingField,
				fmt.Sprintf("the node %s has nothing to compute; give it an expr, or a route with conditions",
					u.decl.Name), "")
		}
	}
}

func (c *compiler) report(at spec.Pos, code, text, suggest string) {
	c.diagnostics = append(c.diagnostics, spec.Diagnostic{
		File: c.g.File, Line: at.Line, Column: at.Column, Path: at.Path,
		Code: code, Text: text, Suggest: suggest,
	})
}

func (c *compiler) tell(at spec.Pos, code, format string, args ...any) {
	c.report(at, code, fmt.Sprintf(format, args...), "")
}

// reportExpression places an expression's mistake in the document.
func (c *compiler) reportExpression(e spec.Expr, err error) {
	mistake, ok := errors.AsType[*expression.Error](err)
	if !ok {
		c.report(e.Pos, expression.CodeSyntax, err.Error(), "")
		return
	}
	at := e.Pos
	if line, column := e.At(mistake.Offset); line > 0 {
		at.Line, at.Column = line, column
	}
	c.report(at, mistake.Code, mistake.Text, mistake.Suggest)
}
