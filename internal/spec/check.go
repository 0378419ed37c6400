package spec

import (
	"slices"
	"strings"

	"github.com/graphd/graphd/internal/spec/internal/document"
)

// links is what the checks across parts need to know about where things stand in
// the document. The lists run along those of the graph.
type links struct {
	inputs       value   // the field accumulators
	subset       []value // the names in reactor.when, along Reactor.Names
	accumulators []input
	nodes        []link
	outputs      []output
	nodeInputs   []nodeInput
	routes       map[*Node]map[string]bool // the route names of the nodes that were asked for one
	ofKeys       []value                   // what only a keyed reactor has
	maxWait      value                     // if given
}

type input struct {
	value
	strategy value // if given, and one of the strategies
	key      value // if given
	group    value // if given
	late     value // of a window, if it names an input for late events
}

type link struct {
	value
	after value // if given
}

type output struct {
	value
	from, delivery value // if given
}

// check looks at what crosses the parts of a declaration, and fills in what one
// part takes from another.
func (d *decoder) check(g *Graph) {
	names := d.checkNames(g)
	d.checkTriggers(g)
	d.checkKeys(g)
	d.checkGroups(g)
	d.checkMaxWait(g)
	d.checkAfter(g)
	d.checkOutputs(g, names)
	d.checkInputNames(names)
	d.checkFeeds(g)
}

// checkNames checks the name space that accumulators and nodes share, and returns
// its names in the order of the document's parts.
func (d *decoder) checkNames(g *Graph) []string {
	names := make([]string, 0, len(g.Accumulators)+len(g.Nodes))
	inputs := make(map[string]value, len(g.Accumulators))
	for i, a := range g.Accumulators {
		v := d.links.accumulators[i].value
		inputs[a.Name] = v
		names = append(names, a.Name)
		d.checkReserved(v, "accumulator")
	}
	for i, n := range g.Nodes {
		v := d.links.nodes[i].value
		names = append(names, n.Name)
		d.checkReserved(v, "node")
		other, clash := inputs[n.Name]
		if !clash {
			continue
		}
		first, second := other, v
		if compareNodes(v.key, other.key) < 0 {
			first, second = v, other
		}
		d.report(second.key, second.at, CodeDuplicateName, "", "%s is the name of an accumulator and of a node, first on line %d; rename one", document.Quote(n.Name), first.key.Line)
	}
	return names
}

func (d *decoder) checkReserved(v value, what string) {
	if slices.Contains(reservedNames, v.key.Value) {
		d.report(v.key, v.at, CodeReservedName, "", "%s cannot be the name of %s, expressions use it for something else; rename it", document.Quote(v.key.Value), article(what))
	}
}

// checkTriggers checks that the reactor's subset names inputs that can trigger, and
// that there is anything to fire on at all. It gives every input its strategy:
// what does not trigger is never queued.
func (d *decoder) checkTriggers(g *Graph) {
	subset := d.checkSubset(g)
	triggers := false
	for i := range g.Accumulators {
		a, asked := &g.Accumulators[i], d.links.accumulators[i].strategy
		why := ""
		switch {
		case a.Passive || a.Global:
			why = "it is " + idle(a)
		case g.Reactor.Names != nil && !subset[a.Name]:
			why = "reactor.when does not name it"
		default:
			triggers = true
		}
		if why != "" && a.Strategy != "" && a.Strategy != "latest" {
			d.report(asked.node, asked.at, CodePassiveSequential, "latest", "%s never triggers, since %s, so it cannot be %s; use latest or let it trigger", document.Quote(a.Name), why, a.Strategy)
		}
		path := "accumulators." + a.Name
		if a.Strategy == "" {
			a.Strategy = g.Reactor.Strategy
			d.follow(path+".strategy", "reactor.strategy", a.Strategy)
		}
		d.follow(path+".strategy", path+".passive", a.Strategy)
		d.follow(path+".strategy", path+".global", a.Strategy)
		switch {
		case why != "":
			a.Strategy = "latest"
		case a.LateOf != "":
			a.Strategy = "sequential" // every late event counts
			if g.Reactor.When == "all" && g.Reactor.Names == nil {
				v := d.links.accumulators[i].value
				d.report(v.node, v.at, CodeNoTrigger, "", "when: all would wait for a late event before it fires; name the inputs that it waits for, or let it be any")
			}
		}
	}
	// A subset has its own diagnostics, name by name.
	if !triggers && g.Reactor.Names == nil && len(g.Accumulators) > 0 {
		v := d.links.inputs
		d.report(v.anchor(), v.at, CodeNoTrigger, "", "every accumulator is passive or global, so nothing ever fires the graph; let at least one trigger")
	}
}

// checkGroups checks that every sync_group has something to keep in step with: a sequential
// input and another one.
func (d *decoder) checkGroups(g *Graph) {
	members, sequential := map[string]int{}, map[string]bool{}
	for i := range g.Accumulators {
		a := &g.Accumulators[i]
		members[a.SyncGroup]++
		sequential[a.SyncGroup] = sequential[a.SyncGroup] || a.Strategy == "sequential"
	}
	for i := range g.Accumulators {
		a, v := &g.Accumulators[i], d.links.accumulators[i].group
		switch {
		case a.SyncGroup == "" || v.node == nil:
		case a.Global:
			d.report(v.node, v.at, CodeConflict, "", "%s is global: one value for all keys has no place in a sync_group; remove one of the two", document.Quote(a.Name))
		case members[a.SyncGroup] == 1:
			d.report(v.node, v.at, CodeNoEffect, "", "%s is alone in the sync_group %s; put the inputs to be seen in step with it into the same one", document.Quote(a.Name), document.Quote(a.SyncGroup))
		case !sequential[a.SyncGroup]:
			d.report(v.node, v.at, CodeNoEffect, "", "no input of the sync_group %s is sequential, so there is nothing to be in step with; give the input whose every boundary counts strategy: sequential", document.Quote(a.SyncGroup))
		}
	}
}

// checkMaxWait checks that there is a wait to bound.
func (d *decoder) checkMaxWait(g *Graph) {
	r := &g.Reactor
	if r.MaxWait > 0 && r.When != "all" && r.Debounce == 0 {
		v := d.links.maxWait
		d.report(v.node, v.at, CodeNoEffect, "", "max_wait bounds the wait of when: all, or of debounce; with when: any nothing waits, so remove it")
	}
}

// checkSubset checks the names in reactor.when and returns them.
func (d *decoder) checkSubset(g *Graph) map[string]bool {
	names := accumulatorNames(g)
	byName := make(map[string]*Accumulator, len(names))
	for i := range g.Accumulators {
		byName[names[i]] = &g.Accumulators[i]
	}
	subset := make(map[string]bool, len(g.Reactor.Names))
	for i, name := range g.Reactor.Names {
		subset[name] = true
		v := d.links.subset[i]
		shown := document.Quote(v.node.Value)
		switch a := byName[name]; {
		case a == nil:
			d.report(v.node, v.at, CodeUnknownName, d.finder.Nearest(v.node.Value, names), "there is no accumulator %s; declare it or take it out of the list", shown)
		case a.Passive || a.Global:
			d.report(v.node, v.at, CodePassiveTrigger, "", "%s is %s, so it never triggers; take it out of the list or remove %s from it", shown, idle(a), idle(a))
		}
	}
	return subset
}

func accumulatorNames(g *Graph) []string {
	names := make([]string, len(g.Accumulators))
	for i := range g.Accumulators {
		names[i] = g.Accumulators[i].Name
	}
	return names
}

// idle is the field that keeps an input from triggering.
func idle(a *Accumulator) string {
	if a.Global {
		return "global"
	}
	return "passive"
}

// checkAfter checks what nodes wait for.
func (d *decoder) checkAfter(g *Graph) {
	names := make([]string, len(g.Nodes))
	byName := make(map[string]*Node, len(g.Nodes))
	for i := range g.Nodes {
		names[i] = g.Nodes[i].Name
		byName[names[i]] = &g.Nodes[i]
	}
	inputs := make(map[string]bool, len(g.Accumulators))
	for i := range g.Accumulators {
		inputs[g.Accumulators[i].Name] = true
	}
	for i := range g.Nodes {
		n, v := &g.Nodes[i], d.links.nodes[i].after
		if n.After == "" {
			continue
		}
		name, route, hasRoute := strings.Cut(n.After, ".")
		shown, _, _ := strings.Cut(v.node.Value, ".")
		switch target := byName[name]; {
		case target == nil && inputs[name]:
			d.report(v.node, v.at, CodeUnknownName, "", "%s is an accumulator; after takes a node, or a route as node.route", document.Quote(shown))
		case target == nil:
			d.report(v.node, v.at, CodeUnknownName, d.finder.Nearest(shown, names), "there is no node %s; declare it or correct the name", document.Quote(shown))
		case target == n:
			d.report(v.node, v.at, CodeSelfReference, "", "the node %s cannot run after itself; name another node", document.Quote(shown))
		case hasRoute && target.Kind == "route":
			d.checkRoute(v, target, route)
		case hasRoute && target.Kind != "":
			d.report(v.node, v.at, CodeNotARoute, "", "the node %s has no routes; write after: %s, or make it a route", document.Quote(shown), document.Shorten(shown, 64))
		}
	}
}

// checkRoute checks that a node has the route that another one waits for.
func (d *decoder) checkRoute(v value, n *Node, route string) {
	routes := d.links.routes[n]
	if routes == nil {
		routes = make(map[string]bool, len(n.Routes))
		for _, f := range n.Routes {
			routes[f.Name] = true
		}
		if d.links.routes == nil {
			d.links.routes = make(map[*Node]map[string]bool)
		}
		d.links.routes[n] = routes
	}
	if routes[route] || len(routes) == 0 {
		return
	}
	var names []string
	for _, f := range n.Routes[:min(len(n.Routes), 20)] { // as many as can be shown
		names = append(names, document.Shorten(f.Name, 64))
	}
	node, wanted, _ := strings.Cut(v.node.Value, ".")
	d.report(v.node, v.at, CodeUnknownRoute, d.finder.Nearest(wanted, names), "the node %s has no route %s; use one of %s", document.Quote(node), document.Quote(wanted), strings.Join(names, ", "))
}

// checkOutputs checks where outputs come from, and that no two of them write the
// same value to the same file, which would hold every line twice.
func (d *decoder) checkOutputs(g *Graph, names []string) {
	known := make(map[string]bool, len(names))
	for _, n := range names {
		known[n] = true
	}
	type line struct{ from, path string }
	written := make(map[line]string)
	for i := range g.Outputs {
		o, v := &g.Outputs[i], d.links.outputs[i]
		if o.From != "" && !known[o.From] {
			d.report(v.from.node, v.from.at, CodeUnknownName, d.finder.Nearest(v.from.node.Value, names), "there is no node or accumulator %s; declare it or correct the name", document.Quote(v.from.node.Value))
			continue
		}
		d.checkOutbox(g, o, v)
		if o.From == "" || o.Sink.File.Path == "" {
			continue
		}
		this := line{from: o.From, path: o.Sink.File.Path}
		if first, ok := written[this]; ok {
			d.report(v.key, v.at, CodeDuplicateOutput, "", "the output %s writes the same value to the same file; remove one", document.Quote(first))
			continue
		}
		written[this] = o.Name
	}
}

// checkOutbox refuses an outbox where there is nothing to deliver, or nothing to deliver it from.
func (d *decoder) checkOutbox(g *Graph, o *Output, v output) {
	if o.Delivery != "outbox" {
		return
	}
	switch {
	case o.Sink.Kind == "stdout" || o.Sink.Kind == "websocket" || o.Sink.Kind == "drop":
		d.report(v.delivery.node, v.delivery.at, CodeNoOutbox, "", "the sink %s takes what it is given and answers nothing, so there is nothing to deliver again; leave delivery out", o.Sink.Kind)
	case g.Durability.Mode == "none":
		d.report(v.delivery.node, v.delivery.at, CodeNoOutbox, "", "an outbox is part of the graph's durable state, and durability is none; choose checkpoint or journal, or leave delivery out")
	}
}
