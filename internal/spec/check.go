package spec

import (
	"slices"
	"strings"

	"github.com/graphd/graphd/internal/spec/decode"
	"github.com/graphd/graphd/internal/spec/trait"
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
	strategy     value                     // of the reactor, if given
	clock, idle  value                     // if given
}

type input struct {
	value
	strategy value // if given, and one of the strategies
	key      value // if given
	group    value // if given
	// partitioned is given where it says how the keys were dealt
	partitioned value
	kind        value // its mapping, if one was given
}

type link struct {
	value
	after     []value // along Node.After
	onOverrun value   // if given
	lane      value   // if given
}

type output struct {
	value
	from, delivery value // if given
}

// check looks at what crosses the parts of a declaration, and fills in what one
// part takes from another.
func (d *draft) check() {
	names := d.checkNames()
	d.checkJoins()
	d.checkTriggers()
	d.checkKeys()
	d.checkTimes()
	d.checkGroups()
	d.checkMaxWait()
	d.checkClock()
	d.checkAsOf()
	d.checkAfter()
	d.checkOutputs(names)
	d.checkInputNames(names)
	d.checkLanes()
	d.checkFeeds()
}

// checkNames checks the name space that accumulators and nodes share, and returns
// its names in the order of the document's parts.
func (d *draft) checkNames() []string {
	g := d.Graph
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
		if decode.CompareNames(v, other) < 0 {
			first, second = v, other
		}
		d.Report(second.Name(), decode.CodeDuplicateName, "",
			"%s is the name of an accumulator and of a node, first on line %d; rename one",
			decode.Quote(n.Name), first.Line())
	}
	return names
}

// reservedNames mean something else where accumulators and nodes are referred to:
// what stands in scope beside them, and the words of the expression language.
var reservedNames = []string{
	"event", "meta", "value", "key", "epoch", "output", "now", "vars",
	"true", "false", "nil", "not", "and", "or", "in", "matches", "contains", "let", "if", "else",
}

func (d *draft) checkReserved(v value, what string) {
	if slices.Contains(reservedNames, v.Key()) {
		d.Report(v.Name(), decode.CodeReservedName, "",
			"%s cannot be the name of %s, expressions use it for something else; rename it",
			decode.Quote(v.Key()), decode.Article(what))
	}
}

// checkTriggers checks that the reactor's subset names inputs that can trigger, and
// that there is anything to fire on at all. It gives every input its strategy:
// what does not trigger is never queued.
func (d *draft) checkTriggers() {
	g := d.Graph
	for i := range g.Accumulators {
		if a := &g.Accumulators[i]; a.Folding().Hands == trait.Rows {
			a.Passive, a.Global = true, g.Keyed()
		}
	}
	subset, triggers := d.checkSubset(), false
	for i := range g.Accumulators {
		a, asked := &g.Accumulators[i], d.links.accumulators[i].strategy
		why := ""
		switch {
		case a.JoinedBy != "":
			a.Strategy, a.StrategyFrom = "sequential", "kind" // each of its events counts, to the join
			continue
		case a.Passive || a.Global:
			why = "it is " + idle(a)
		case g.Reactor.Names != nil && !subset[a.Name]:
			why = "reactor.when does not name it"
		default:
			triggers = true
		}
		if why != "" && a.Strategy != "" && a.Strategy != "latest" {
			d.Report(asked.Here(), decode.CodePassiveSequential, "latest",
				"%s never triggers, since %s, so it cannot be %s; use latest or let it trigger",
				decode.Quote(a.Name), why, a.Strategy)
		}
		path := "accumulators." + a.Name
		if a.StrategyFrom = "accumulator"; a.Strategy == "" {
			d.giveStrategy(a)
			d.Follow(path+".strategy", "reactor.strategy", a.Strategy)
		}
		d.Follow(path+".strategy", path+".passive", a.Strategy)
		d.Follow(path+".strategy", path+".global", a.Strategy)
		switch {
		case why != "":
			a.Strategy = "latest"
		case a.Owner != "":
			a.Strategy = "sequential" // every event that comes there counts
			if g.Reactor.When == "all" && g.Reactor.Names == nil {
				v := d.links.accumulators[i].value
				d.Report(v.Here(), decode.CodeNoTrigger, "",
					"when: all would wait for %s before it fires; "+
						"name the inputs that it waits for, or let it be any", d.ownerOf(a).Folding().Own.One)
			}
		}
	}
	// A subset has its own diagnostics, name by name.
	if !triggers && g.Reactor.Names == nil && len(g.Accumulators) > 0 {
		v := d.links.inputs
		d.Report(v.Whole(), decode.CodeNoTrigger, "",
			"every accumulator is passive or global, so nothing ever fires the graph; let at least one trigger")
	}
}

// giveStrategy gives an input that declares none its strategy: the reactor's, where that
// declares one, else that of its kind (M9).
func (d *draft) giveStrategy(a *Accumulator) {
	a.Strategy, a.StrategyFrom = d.Reactor.Strategy, ""
	switch {
	case d.links.strategy.Given():
		a.StrategyFrom = "reactor"
	case a.Folding().Sequential, a.Source.Origin().Follows():
		a.Strategy, a.StrategyFrom = "sequential", "kind"
	case a.From != "":
		a.Strategy, a.StrategyFrom = "sequential", "from"
	}
}

// ownerOf is the accumulator whose kind has declared an input.
func (d *draft) ownerOf(a *Accumulator) *Accumulator {
	return &d.Accumulators[slices.IndexFunc(d.Accumulators, func(o Accumulator) bool { return o.Name == a.Owner })]
}

// checkTimes checks that what goes by the events' own time is told what it is.
func (d *draft) checkTimes() {
	for i := range d.Accumulators {
		if a := &d.Accumulators[i]; a.Time.IsZero() && a.Folding().Time == trait.Timed {
			d.Missing(d.links.accumulators[i].value, "time", decode.Article(a.Kind))
		}
	}
}

// checkGroups checks that every sync_group has something to keep in step with: a sequential
// input and another one.
func (d *draft) checkGroups() {
	g := d.Graph
	members, sequential := map[string]int{}, map[string]bool{}
	for i := range g.Accumulators {
		a := &g.Accumulators[i]
		members[a.SyncGroup]++
		sequential[a.SyncGroup] = sequential[a.SyncGroup] || a.Strategy == "sequential"
	}
	for i := range g.Accumulators {
		a, v := &g.Accumulators[i], d.links.accumulators[i].group
		switch {
		case a.SyncGroup == "" || !v.Given():
		case a.Global:
			d.Report(v.Here(), decode.CodeConflict, "",
				"%s is global: one value for all keys has no place in a sync_group; remove one of the two",
				decode.Quote(a.Name))
		case members[a.SyncGroup] == 1:
			d.Report(v.Here(), decode.CodeNoEffect, "",
				"%s is alone in the sync_group %s; put the inputs to be seen in step with it into the same one",
				decode.Quote(a.Name), decode.Quote(a.SyncGroup))
		case !sequential[a.SyncGroup]:
			d.Report(v.Here(), decode.CodeNoEffect, "",
				"no input of the sync_group %s is sequential, so there is nothing to be in step with; "+
					"give the input whose every boundary counts strategy: sequential", decode.Quote(a.SyncGroup))
		}
	}
}

// checkMaxWait checks that there is a wait to bound.
func (d *draft) checkMaxWait() {
	r := d.Reactor
	if r.MaxWait > 0 && r.When != "all" && r.Debounce == 0 {
		v := d.links.maxWait
		d.Report(v.Here(), decode.CodeNoEffect, "",
			"max_wait bounds the wait of when: all, or of debounce; with when: any nothing waits, so remove it")
	}
}

// checkSubset checks the names in reactor.when and returns them.
func (d *draft) checkSubset() map[string]bool {
	g := d.Graph
	names := accumulatorNames(g)
	byName := make(map[string]*Accumulator, len(names))
	for i := range g.Accumulators {
		byName[names[i]] = &g.Accumulators[i]
	}
	subset := make(map[string]bool, len(g.Reactor.Names))
	for i, name := range g.Reactor.Names {
		subset[name] = true
		v := d.links.subset[i]
		shown := v.Shown()
		switch a := byName[name]; {
		case a == nil:
			d.Report(v.Here(), decode.CodeUnknownName, d.Nearest(v.Text(), names),
				"there is no accumulator %s; declare it or take it out of the list", shown)
		case a.Passive || a.Global:
			d.Report(v.Here(), decode.CodePassiveTrigger, "",
				"%s is %s, so it never triggers; take it out of the list", shown, idle(a))
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
	if a.Folding().Hands == trait.Rows {
		return decode.Article(a.Kind)
	}
	if a.Global {
		return "global"
	}
	return "passive"
}

// checkAfter checks what nodes wait for.
func (d *draft) checkAfter() {
	g := d.Graph
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
		n := &g.Nodes[i]
		for k, gate := range n.After {
			v := d.links.nodes[i].after[k]
			shown, _, _ := strings.Cut(v.Text(), ".")
			hasRoute := gate.Route != "" || strings.HasSuffix(v.Text(), ".")
			switch target := byName[gate.Node]; {
			case target == nil && inputs[gate.Node]:
				d.Report(v.Here(), decode.CodeUnknownName, "",
					"%s is an accumulator; after takes a node, or a route, which can ask fresh()", decode.Quote(shown))
			case target == nil:
				d.Report(v.Here(), decode.CodeUnknownName, d.Nearest(shown, names),
					"there is no node %s; declare it or correct the name", decode.Quote(shown))
			case target == n:
				d.Report(v.Here(), decode.CodeSelfReference, "",
					"the node %s cannot run after itself; name another node", decode.Quote(shown))
			case hasRoute && target.Routes() != nil:
				d.checkRoute(v, target, gate.Route)
			case hasRoute && target.Kind != "":
				d.Report(v.Here(), decode.CodeNotARoute, "",
					"the node %s has no routes; write after: %s, or make it a route",
					decode.Quote(shown), decode.Shorten(shown, 64))
			}
		}
	}
}

// checkRoute checks that a node has the route that another one waits for.
func (d *draft) checkRoute(v value, n *Node, route string) {
	all := n.Routes()
	routes := d.links.routes[n]
	if routes == nil {
		routes = make(map[string]bool, len(all))
		for _, name := range all {
			routes[name] = true
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
	for _, name := range all[:min(len(all), 20)] { // as many as can be shown
		names = append(names, decode.Shorten(name, 64))
	}
	node, wanted, _ := strings.Cut(v.Text(), ".")
	d.Report(v.Here(), decode.CodeUnknownRoute, d.Nearest(wanted, names),
		"the node %s has no route %s; use one of %s",
		decode.Quote(node), decode.Quote(wanted), strings.Join(names, ", "))
}

// checkOutputs checks where outputs come from, and that no two of them write the same value to the same file, which
// would hold every line twice. With a condition each they do not, as far as can be seen.
func (d *draft) checkOutputs(names []string) {
	g := d.Graph
	known := make(map[string]bool, len(names))
	for _, n := range names {
		known[n] = true
	}
	type line struct{ from, path string }
	written := make(map[line][]*Output)
	for i := range g.Outputs {
		o, v := &g.Outputs[i], d.links.outputs[i]
		if o.From == FromReactor && !known[o.From] {
			d.checkCuts(o, v)
		} else if o.From != "" && !known[o.From] {
			d.Report(v.from.Here(), decode.CodeUnknownName, d.Nearest(v.from.Text(), names),
				"there is no node or accumulator %s; declare it or correct the name", v.from.Shown())
			continue
		}
		d.checkOutbox(g, o, v)
		d.checkFollowers(g, o)
		path := o.Sink.Target().File()
		if o.From == "" || path == "" {
			continue
		}
		this := line{o.From, path}
		for _, other := range written[this] {
			if where := other.Where.Text; where == "" || o.Where.Text == "" || where == o.Where.Text {
				d.Report(v.Name(), decode.CodeDuplicateOutput, "", "the output %s writes the same value to the same "+
					"file; remove one, or give each a where of its own", decode.Quote(other.Name))
				break
			}
		}
		written[this] = append(written[this], o)
	}
}
