package graph

import "slices"

// The oracle: what an epoch must come to, from the plain definitions of the model
// and the whole history of committed cuts. Nothing is incremental in it, and it
// shares no code with the engine: its graphs are made of the small terms of
// terms_test.go, which evaluate themselves.

// oracleCut is one epoch: the number, the cached values, and which of them were
// put in the cache since the committed epoch before.
type oracleCut struct {
	number int64
	cause  string
	// emitAll lets every output show its current value.
	emitAll bool
	values  map[string]val
	set     map[string]bool
	ticks   uint64 // the lanes that tick, by bit
}

// outcome is what a node came to in one epoch.
type outcome struct {
	status Status
	value  val
	ticked bool
	fatal  bool
}

type oracle struct {
	g       *oracleGraph
	history []oracleCut // the committed ones, and at the end the current one
	memo    map[string]map[int]outcome
}

// value is what a name has at the end of epoch k; in epoch -1 nothing has one.
func (o *oracle) value(name string, k int) val {
	if n := o.g.nodes[name]; n != nil {
		return o.run(n, k).value
	} else if k < 0 {
		return val{}
	}
	return o.history[k].values[name]
}

func (o *oracle) changed(name string, k int) bool {
	if n := o.g.nodes[name]; n != nil {
		return o.run(n, k).ticked
	}
	return o.history[k].set[name]
}

// due: something the node rests on has changed since it last ran, or it never ran; or it asks
// something of the epoch (M16).
func (o *oracle) due(n *oracleNode, k int) bool {
	if n.rate > 0 { // in every tick of its lane, and in no other epoch (M23)
		return o.history[k].ticks>>(n.rate-1)&1 != 0
	}
	if n.term.asks() || slices.ContainsFunc(n.routes, (*term).asks) || len(n.delay) > 0 && len(n.restsOn()) == 0 {
		return true
	}
	for j := k; j >= 0; j-- {
		if j < k && o.run(n, j).status != Idle {
			return false
		}
		for _, name := range n.restsOn() {
			if o.changed(name, j) {
				return true
			}
		}
	}
	return true
}

// run is what a node comes to in epoch k (M15, M16, M19, M21).
func (o *oracle) run(n *oracleNode, k int) outcome {
	if k < 0 {
		return outcome{}
	}
	if out, known := o.memo[n.name][k]; known {
		return out
	}
	if n.loop != nil {
		o.runLoop(n.loop, k)
		return o.memo[n.name][k]
	}
	last := o.run(n, k-1).value
	out := outcome{value: last}
	if o.due(n, k) {
		v, fail := o.compute(n, k)
		event := o.isEvent(n)
		switch {
		case fail == errAbsent:
			out = outcome{status: Skipped, ticked: last.kind != 0}
		case fail == errNode && n.onError == "last_good":
			out = outcome{status: Failed, value: last}
		case fail == errNode:
			out = outcome{status: Failed, ticked: last.kind != 0, fatal: n.onError == "fail_epoch"}
		case v == last && !event:
			out = outcome{status: CutOff, value: last}
		default:
			out = outcome{status: Ran, value: v, ticked: true}
		}
	}
	if out.status != Idle && n.rate > 0 && !o.ranBefore(n, k) {
		out.ticked = true // as each first run does, which here may be in a later epoch than the first
	}
	o.note(n, k, out)
	return out
}

// ranBefore says that a node has run in an epoch before k.
func (o *oracle) ranBefore(n *oracleNode, k int) bool {
	for j := range k {
		if o.run(n, j).status != Idle {
			return true
		}
	}
	return false
}

func (o *oracle) note(n *oracleNode, k int, out outcome) {
	if o.memo[n.name] == nil {
		o.memo[n.name] = make(map[int]outcome)
	}
	o.memo[n.name][k] = out
}

func (o *oracle) compute(n *oracleNode, k int) (val, string) { return n.computeIn(o.momentOf(n, k)) }

// computeIn is what a node comes to in a moment.
func (n *oracleNode) computeIn(m moment) (val, string) {
	open := func(g oracleGate) bool {
		v := m.now(g.node)
		return v.kind != 0 && v.kind != 'z' && (g.route == "" || v.s == g.route)
	}
	shut := func(g oracleGate) bool { return !open(g) }
	if n.afterAll && slices.ContainsFunc(n.after, shut) ||
		!n.afterAll && len(n.after) > 0 && !slices.ContainsFunc(n.after, open) {
		return val{}, errAbsent
	}
	if n.term != nil {
		return n.term.eval(m)
	}
	for i, condition := range n.routes {
		v, fail := condition.eval(m)
		if fail != "" {
			return v, fail
		}
		if v == num(1) {
			return val{kind: 's', s: routeName(i)}, ""
		}
	}
	return val{kind: 'z'}, ""
}

// moment is epoch k as its terms see it: fresh is what has changed to a value in it.
func (o *oracle) moment(k int) moment {
	return moment{
		epoch: o.history[k].number, cause: o.history[k].cause,
		look:  func(name string) val { return o.value(name, k) },
		now:   func(name string) val { return o.value(name, k) },
		fresh: func(name string) bool { return o.changed(name, k) && o.value(name, k).kind != 0 },
	}
}

// momentOf is epoch k as a node sees it, which may read others as of the epoch before (M17).
func (o *oracle) momentOf(n *oracleNode, k int) moment {
	m := o.moment(k)
	m.look = func(name string) val {
		if slices.Contains(n.delay, name) {
			return o.value(name, k-1)
		}
		return o.value(name, k)
	}
	return m
}

func (o *oracle) isEvent(n *oracleNode) bool {
	if n.event != nil {
		return *n.event
	}
	return o.restsOnEvent(n.name)
}

func (o *oracle) restsOnEvent(name string) bool {
	n := o.g.nodes[name]
	if n != nil && n.loop != nil {
		return slices.ContainsFunc(n.loop.restsOn(), o.restsOnEvent)
	}
	return n == nil && o.g.event[name] || n != nil && slices.ContainsFunc(n.restsOn(), o.restsOnEvent)
}

// emission is what an output does in an epoch.
type emission struct {
	value                 val // absent for nothing
	keptBack, conditioned bool
	failed                bool
}

// emits is what output i does in epoch k.
func (o *oracle) emits(i, k int) emission {
	out, all := o.g.outputs[i], o.history[k].emitAll
	if !all && !o.changed(out.from, k) {
		return emission{}
	}
	v := o.value(out.from, k)
	if v.kind == 0 {
		return emission{}
	}
	for j := k - 1; out.onChange && !all && j >= 0; j-- {
		if before := o.emits(i, j).value; before.kind != 0 {
			if before == v {
				return emission{}
			}
			break
		}
	}
	if o.isNull(out.from, v) && !out.emitNull {
		return emission{keptBack: true}
	}
	if out.where == nil {
		return emission{value: v}
	}
	m := o.moment(k)
	look := m.look
	m.look = func(name string) val {
		switch name {
		case "value":
			return v
		case "epoch":
			return num(float64(m.epoch))
		}
		return look(name)
	}
	holds, fail := out.where.eval(m)
	switch {
	case fail == errNode:
		return emission{failed: true}
	case fail == errAbsent || holds != num(1):
		return emission{keptBack: true, conditioned: true}
	}
	return emission{value: v}
}

// isNull says that a value is null, and not only that the one field of an input is.
func (o *oracle) isNull(from string, v val) bool {
	return v.kind == 'z' && o.g.nodes[from] != nil
}

// restsOn lists the names a node rests on.
func (n *oracleNode) restsOn() []string {
	names := n.term.names(nil)
	for _, r := range n.routes {
		names = r.names(names)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return slices.Contains(n.delay, name) })
	for _, g := range n.after {
		names = append(names, g.node)
	}
	return names
}

// order is the total order of the nodes (M14). A loop stands where its first node would, as one.
func (g *oracleGraph) order() []*oracleNode {
	var rank func(name string) int
	rank = func(name string) int {
		r := -1
		if n := g.nodes[name]; n != nil {
			under := n.restsOn()
			if n.loop != nil {
				under = n.loop.restsOn()
			}
			for _, name := range under {
				r = max(r, rank(name))
			}
			r++
		}
		return r
	}
	place := func(n *oracleNode) []int {
		if n.loop == nil {
			return []int{rank(n.name), n.priority, n.pos, 0}
		}
		priority, pos := n.priority, n.pos
		for _, other := range n.loop.nodes {
			priority, pos = min(priority, other.priority), min(pos, other.pos)
		}
		return []int{rank(n.name), priority, pos, slices.Index(n.loop.nodes, n)}
	}
	var nodes []*oracleNode
	for _, n := range g.nodes {
		nodes = append(nodes, n)
	}
	slices.SortFunc(nodes, func(a, b *oracleNode) int {
		return slices.Compare(place(a), place(b))
	})
	return nodes
}
