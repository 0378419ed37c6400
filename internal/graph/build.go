package graph

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/graph/internal/bitset"
	"github.com/graphd/graphd/internal/kind"
)

// build makes the plan of a compilation without mistakes.
func (c *compiler) build(order []int, g *guardSource, outputs []Output) *Plan {
	p := &Plan{
		inputs:    slices.Clone(c.inputs),
		triggers:  triggersOf(c.g, c.inputs),
		outputs:   outputs,
		consumers: make([]bitset.Set, len(c.inputs)),
		reads:     make([]inputReads, len(c.inputs)),
		constants: []boundary.Value{c.vars},
		keyName:   c.varsIndex() + 1,
	}
	if n := c.g.Reactor.Shards; n > 1 {
		p.shards = n
	}
	for i := range p.consumers {
		p.consumers[i] = bitset.New(len(order))
	}
	position := positions(order)
	for _, i := range c.delayed {
		p.delayed = append(p.delayed, int32(position[i]))
	}
	links := make([][]int32, len(order)) // by node: those that rest on it
	for at, i := range order {
		u := &c.units[i]
		p.nodes = append(p.nodes, u.describe())
		p.prints = append(p.prints, c.fingerprint(u))
		p.steps = append(p.steps, u.step(p, position, c.g.File))
		p.addMemories(at, u)
		p.addBudget(at, len(order), u)
		p.calls, p.foreign = p.calls || p.steps[at].calls, p.foreign || p.steps[at].foreign
		if u.asksEpoch() {
			p.runAlways(c.standsAt(u, at, position), len(order))
		}
		for k := range u.sources {
			p.addReads(u.sources[k].program, itself)
		}
		c.connect(p, u, at, position, links)
	}
	c.addLoops(p, position, links)
	c.addLanes(p, order)
	p.addEpochBudget(c.g.Reactor)
	p.link(links)
	p.numberLaps()
	if g != nil {
		p.addGuard(g)
	}
	p.conflates = make([][]string, len(p.inputs))
	for at, i := range order {
		for in := range c.units[i].reach.All() {
			if !p.inputs[in].Event && p.triggers[in] && c.units[i].counts() != "" {
				p.conflates[in] = append(p.conflates[in], p.nodes[at].Name)
			}
		}
	}
	for i := range p.outputs {
		if where := p.outputs[i].where; where != nil {
			p.addReads(where, itself)
			p.asks = p.asks || where.AsksEpoch()
		}
	}
	c.addCuts(p)
	p.addCells()
	return p
}

// runAlways makes a node, of so many, due in every epoch.
func (p *Plan) runAlways(at, nodes int) {
	if p.always == nil {
		p.always, p.asks = bitset.New(nodes), true
	}
	p.always.Set(at)
}

// itself is how nodes see the plan's names: under their own indexes.
func itself(name int) int { return name }

func (u *unit) describe() Node {
	n := Node{
		Name: u.decl.Name, Kind: u.decl.Kind, Rank: u.rank, Priority: u.decl.Priority,
		Event: u.eventOf(), OnError: u.decl.OnError, Type: u.typ, After: u.after(), Routes: u.decl.Routes(),
		Rests: slices.Collect(u.inputs.All()),
	}
	if n.Priority == "" {
		n.Priority = "normal"
	}
	if n.OnError == "" {
		n.OnError = "fail_epoch"
	}
	return n
}

// after is what the unit comes after, as a declaration says it.
func (u *unit) after() string {
	gates := make([]string, len(u.decl.After))
	for i, g := range u.decl.After {
		gates[i] = g.String()
	}
	slices.Sort(gates) // their order means nothing
	text := strings.Join(gates, ", ")
	switch {
	case u.decl.AfterAll:
		return "{ all: [" + text + "] }"
	case len(gates) > 1:
		return "[" + text + "]"
	}
	return text
}

// fingerprint is equal for nodes that compute the same of the same values: it goes
// by the texts of the expressions and, where one of them reads constants, by these; by what
// the kind says there is beside them; and by the names of its inputs.
func (c *compiler) fingerprint(u *unit) uint64 {
	text := fmt.Appendf(nil, "%q %q", u.decl.Kind, u.after())
	for _, s := range u.sources {
		if s.Name != "" {
			text = fmt.Appendf(text, " %q", s.Name)
		}
		text = fmt.Appendf(text, " %q", s.Expr.Text)
		if slices.ContainsFunc(s.program.Reads(), func(r expression.Read) bool { return r.Name == c.varsIndex() }) {
			text = c.vars.AppendJSON(text)
		}
	}
	if beside := u.decl.Config.Identity(); beside != "" {
		text = fmt.Appendf(text, " %q", beside)
	}
	if u.ring != nil {
		text = c.print(text, u.ring)
	}
	if len(u.delays) > 0 {
		text = fmt.Appendf(text, " delay %q", u.decl.Delay.Sorted())
	}
	if u.decl.Reads().Listed() {
		for _, in := range u.decl.Inputs {
			text = fmt.Appendf(text, " %q", in.Name)
		}
	}
	h := fnv.New64a()
	_, _ = h.Write(text) // never fails
	return h.Sum64()
}

// step is the executable form of a unit, but for its links.
func (u *unit) step(p *Plan, position []int, file string) step {
	s := step{allGates: u.decl.AfterAll, event: u.eventOf(), onError: policyOf(u.decl.OnError)}
	s.gates.first = int32(len(p.gates))
	for _, d := range u.deps {
		if d.kind == afterEdge {
			p.gates = append(p.gates, gate{position[d.from-len(p.inputs)], d.route})
			s.gates.n++
		}
	}
	s.program = u.kind.Compile(u.decl.Config, kind.Parts{
		Programs: u.programs(), Inputs: u.reads(p, position), File: file, Retry: u.decl.Retry,
		GoesOn: s.onError == skip || s.onError == lastGood,
	})
	_, s.foreign = s.program.(kind.Foreign)
	_, s.calls = s.program.(kind.Caller)
	s.apart = s.foreign || s.calls
	return s
}

// asksEpoch says that the unit asks something of the epoch that no input tells, so that it is
// due in every one: what the last one was, too, where it reads nothing else.
func (u *unit) asksEpoch() bool {
	return len(u.delays) > 0 && len(u.deps) == 0 ||
		slices.ContainsFunc(u.sources, func(s source) bool { return s.program.AsksEpoch() })
}

// reads are the values that the field inputs lists, by the plan's indexes.
func (u *unit) reads(p *Plan, position []int) (list []kind.Read) {
	for k, at := range u.args {
		if n := at - len(p.inputs); n >= 0 {
			at = len(p.inputs) + position[n]
		} else {
			p.reads[at].whole = true
		}
		list = append(list, kind.Read{Name: u.decl.Inputs[k].Name, At: at})
	}
	return list
}

// connect notes the edges of a unit, in the plan's list and on what it rests on.
func (c *compiler) connect(p *Plan, u *unit, at int, position []int, links [][]int32) {
	at = c.standsAt(u, at, position)
	for _, d := range u.deps {
		e := edge{To: u.decl.Name, Kind: d.kind, Route: d.route}
		if n := d.from - len(c.inputs); n >= 0 {
			e.From = c.units[n].decl.Name
			from := position[n]
			own := u.ring != nil && c.units[n].ring == u.ring
			e.Feedback = own && c.units[n].turn >= u.turn
			if k := len(links[from]); !own && (k == 0 || links[from][k-1] != int32(at)) {
				links[from] = append(links[from], int32(at))
			}
		} else {
			e.From = p.inputs[d.from].Name
			if !c.inputs[d.from].isTable() || !u.passesOver(c.inputs) {
				p.consumers[d.from].Set(at)
			}
		}
		p.edges = append(p.edges, e)
	}
	for _, i := range u.delays {
		p.edges = append(p.edges, edge{From: c.units[i].decl.Name, To: u.decl.Name, Kind: delayEdge})
	}
}

// link gives every step its consumers.
func (p *Plan) link(links [][]int32) {
	for i, to := range links {
		p.steps[i].firstLink = int32(len(p.links))
		p.links = append(p.links, to...)
		p.steps[i].lastLink = int32(len(p.links))
	}
}

// addGuard takes the guard over; names are plan indexes by now.
func (p *Plan) addGuard(g *guardSource) {
	p.guard = &guard{names: g.names, program: g.program}
	names := g.names
	p.addReads(g.program, func(name int) int { return names[name] })
	for _, r := range g.program.Reads() {
		if i := names[r.Name]; i < len(p.inputs) && r.Plain {
			p.guard.needs = append(p.guard.needs, i)
		}
	}
	slices.Sort(p.guard.needs)
	p.guard.needs = slices.Compact(p.guard.needs)
}

// addCells lays out a state: the nodes, then the last values of outputs that
// emit on change, then what nodes remember, then the stamp.
func (p *Plan) addCells() {
	for _, n := range p.nodes {
		p.cells = append(p.cells, Cell{Kind: NodeCell, Name: n.Name})
	}
	for i := range p.outputs {
		o := &p.outputs[i]
		if o.Input >= 0 {
			p.reads[o.Input].whole = true
		}
		if o.OnChange {
			o.cell = len(p.cells)
			p.cells = append(p.cells, Cell{Kind: OutputCell, Name: o.Name})
			p.lasts++
		}
	}
	for _, i := range p.remembers {
		p.cells = append(p.cells, Cell{Kind: MemoryCell, Name: p.nodes[i].Name})
	}
	p.cells = append(p.cells, Cell{Kind: StampCell})
}
