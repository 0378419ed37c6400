package compile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/graphd/graphd/internal/accumulator/stage"
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/graph"
	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/spec/decode"
)

// staged compiles a declaration as often as it takes to know the types of the nodes that feed
// accumulators: an event of a stage is what its node makes, and nodes behind it rest on that.
func staged(g *spec.Graph, o Options) (*Unit, spec.Diagnostics) {
	if !slices.ContainsFunc(g.Accumulators, func(a spec.Accumulator) bool { return a.From != "" }) {
		return pass(g, o, nil)
	}
	nodes := map[string]expression.Type{}
	for i := range g.Accumulators {
		nodes[g.Accumulators[i].From] = expression.Any()
	}
	delete(nodes, "")
	wrong := checkFrom(g)
	for passes := 0; ; passes++ {
		u, diags := pass(g, o, nodes)
		if len(diags) == 0 && len(wrong) == 0 {
			wrong = append(u.findCycles(), u.findUnfed()...)
		}
		diags = append(diags, wrong...)
		asks := o.For != nil && o.For.Asks != nil && u.Plan != nil && passes < len(g.Accumulators)
		if len(diags) > 0 && !asks {
			return nil, diags
		}
		known := true // there are no cycles, so that each pass knows one stage more
		for _, n := range u.Plan.Nodes() {
			if was, feeds := nodes[n.Name]; feeds && was.String() != n.Type.String() {
				nodes[n.Name], known = n.Type, false
			}
		}
		if known && len(diags) > 0 {
			return nil, diags
		}
		if known {
			return u, nil
		}
	}
}

// checkFrom checks that accumulators are fed by nodes that there are, and that nothing is asked of
// them that only a source can do.
func checkFrom(g *spec.Graph) (ds spec.Diagnostics) {
	report := func(a *spec.Accumulator, code, format string, args ...any) {
		ds = append(ds, atFrom(g, a, code, format, args...))
	}
	names := make([]string, len(g.Nodes))
	for i := range g.Nodes {
		names[i] = g.Nodes[i].Name
	}
	for i := range g.Accumulators {
		a := &g.Accumulators[i]
		switch {
		case a.From == "":
		case slices.ContainsFunc(g.Accumulators, func(b spec.Accumulator) bool { return b.Name == a.From }):
			report(a, "not_a_node", "%s is an accumulator, and nodes feed %s: let a node hand it on, such as "+
				"{ expr: %s }, and name that", a.From, a.Name, a.From)
		case !slices.Contains(names, a.From):
			node, field, _ := strings.Cut(a.From, ".")
			if field != "" && slices.Contains(names, node) {
				report(a, spec.CodeUnknownName, "from names a node, and its whole value is the event; write from: %s, "+
					"and take the field with emit: event.%s", node, field)
			} else {
				report(a, spec.CodeUnknownName, "there is no node %s to feed %s; declare it or correct the name",
					a.From, a.Name)
			}
			if ds[len(ds)-1].Suggest = node; !slices.Contains(names, node) {
				ds[len(ds)-1].Suggest = decode.Nearest(node, names)
			}
		case a.SyncGroup != "":
			report(a, codeConflict, "%s is fed by a node and belongs to no feed that could be kept in step; take it "+
				"out of the sync_group", a.Name)
		case g.Reactor.When == "all" && slices.Contains(g.Reactor.Names, a.Name):
			report(a, codeConflict, "%s is fed by an epoch that would wait for it: when: all cannot name it; left "+
				"out it is read and fires nothing, and with when: all alone it fires by itself", a.Name)
		}
	}
	return ds
}

// The codes of what contradicts itself, and of what nothing ever comes of.
const (
	codeConflict  = "conflict"
	codeNoTrigger = "no_trigger"
)

// findCycles looks for accumulators that feed themselves.
func (u *Unit) findCycles() (ds spec.Diagnostics) {
	for i := range u.Spec.Accumulators {
		a := &u.Spec.Accumulators[i]
		if a.From == "" {
			continue
		}
		if path := u.pathTo(a.From, a.Name, nil); path != nil {
			ds = append(ds, atFrom(u.Spec, a, graph.CodeCycle, "stages feed each other: %s; a node behind an "+
				"accumulator cannot feed it, nor one before it", strings.Join(path, " → ")))
			return ds // the others of the cycle would tell the same
		}
	}
	return ds
}

// findUnfed looks for accumulators that are fed by a node which no epoch is about.
func (u *Unit) findUnfed() (ds spec.Diagnostics) {
	for i := range u.Spec.Accumulators {
		a := &u.Spec.Accumulators[i]
		if a.From != "" && len(u.node(a.From).Rests) == 0 && u.Spec.Reactor.Every == 0 && len(u.Plan.Rates()) == 0 {
			ds = append(ds, atFrom(u.Spec, a, codeNoTrigger, "the node %s reads no input, so no epoch ever feeds %s; "+
				"let it read one, or give the reactor a cadence (every)", a.From, a.Name))
		}
	}
	return ds
}

// atFrom is a mistake in what feeds an accumulator.
func atFrom(g *spec.Graph, a *spec.Accumulator, code, format string, args ...any) spec.Diagnostic {
	return spec.Diagnostic{File: g.File, Line: a.FromPos.Line, Column: a.FromPos.Column, Path: a.FromPos.Path,
		Code: code, Text: fmt.Sprintf(format, args...)}
}

// pathTo is a way from an accumulator to a node that rests on it, over the stages in between; nil
// when there is none.
func (u *Unit) pathTo(node, input string, seen []string) []string {
	for _, i := range u.node(node).Rests {
		on := &u.Spec.Accumulators[i]
		own := on
		if on.Owner != "" {
			own = u.accumulator(on.Owner) // it comes of what its owner takes in
		}
		switch {
		case own.Name == input:
			return []string{input, node, input}
		case own.From == "" || slices.Contains(seen, own.Name):
			continue
		}
		if path := u.pathTo(own.From, input, append(seen, own.Name)); path != nil {
			return append(path[:len(path)-1], own.Name, node, input)
		}
	}
	return nil
}

// Behind reports whether an accumulator that a node feeds takes in what comes of one of inputs.
func (u *Unit) Behind(accumulator string, inputs map[string]bool) bool {
	from := u.accumulator(accumulator).From
	for input := range inputs {
		if from != "" && u.pathTo(from, input, nil) != nil {
			return true
		}
	}
	return false
}

func (u *Unit) node(name string) *graph.Node {
	nodes := u.Plan.Nodes()
	return &nodes[slices.IndexFunc(nodes, func(n graph.Node) bool { return n.Name == name })]
}

func (u *Unit) accumulator(name string) *spec.Accumulator {
	all := u.Spec.Accumulators
	return &all[slices.IndexFunc(all, func(a spec.Accumulator) bool { return a.Name == name })]
}

// declareStages lists the accumulators that nodes feed, each behind those that feed it.
func (u *Unit) declareStages() (list []stage.Declared) {
	begun := make([]bool, len(u.Spec.Accumulators)) // joins that are made of themselves are wrong, and end all the same
	var add func(i int)
	add = func(i int) {
		if i < 0 {
			return // a side that there is not, which has been told
		}
		a := &u.Spec.Accumulators[i]
		if a.Owner != "" {
			a = u.accumulator(a.Owner)
			i = u.inputIndex(a.Name)
		}
		if !a.Fed() || begun[i] {
			return
		}
		begun[i] = true
		if a.Joins() {
			for _, side := range u.sides(a) {
				add(side)
			}
			list = append(list, stage.Declared{
				Input: i, Node: -1, Joins: true, Program: u.Programs[i], Rests: u.sides(a), Follows: true,
			})
			return
		}
		n := u.node(a.From)
		for _, before := range n.Rests {
			add(before)
		}
		list = append(list, stage.Declared{
			Input: i, Program: u.Programs[i], Rests: n.Rests, Follows: u.Spec.EventClock(),
			Node: slices.IndexFunc(u.Plan.Nodes(), func(o graph.Node) bool { return o.Name == a.From }),
		})
	}
	for i := range u.Spec.Accumulators {
		add(i)
	}
	return list
}

func (u *Unit) inputIndex(name string) int {
	return slices.IndexFunc(u.Spec.Accumulators, func(a spec.Accumulator) bool { return a.Name == name })
}
