package graph

import (
	"fmt"
	"github.com/graphd/graphd/internal/node/expr"
	"github.com/graphd/graphd/internal/node/nodetest"
	"github.com/graphd/graphd/internal/node/route"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/spec/cycles"
	"github.com/graphd/graphd/internal/spec/lanes"
)

// world is one random graph with its life so far.
type world struct {
	*rand.Rand
	decl  *spec.Graph
	g     *oracleGraph
	order []*oracleNode
	guard *term
	kinds map[string]int
	plan  *Plan
	st    *State
	r     *Result
	// asking is that of all of the guard's evaluations.
	asking Asking
	// pooled are plans with nodes in lanes: that have room for all, and that have not.
	pooled []*Plan
	// shuffled is the same epoch, driven by two workers.
	shuffled *Result
	oracle   *oracle
	cells    map[int][]byte // the checkpoint

	cache  cache
	stamp  uint64
	number int64
	cause  string
	// emitAll lets the outputs of the epoch to come show their current values.
	emitAll bool
	// ticks are the lanes that tick in the epoch to come; pacer draws them, and is nil where there are none.
	ticks uint64
	pacer *rand.Rand
	// verbose notes what happens in log.
	verbose bool
	log     []string
}

// cache is the reactor's side: what a discarded epoch puts back.
type cache struct {
	inputs   []boundary.Value
	versions []uint64
	vals     map[string]val
	set      map[string]bool
}

func (c cache) clone() cache {
	return cache{slices.Clone(c.inputs), slices.Clone(c.versions), maps.Clone(c.vals), maps.Clone(c.set)}
}

func newWorld(t *testing.T, seed uint64) *world {
	t.Helper()
	w := &world{
		Rand: rand.New(rand.NewPCG(seed, 1)), decl: &spec.Graph{Name: "random", Reactor: &spec.Reactor{}},
		g: &oracleGraph{event: map[string]bool{}, nodes: map[string]*oracleNode{}},
		r: &Result{}, shuffled: &Result{}, cells: map[int][]byte{},
	}
	source := &termSource{Rand: w.Rand, kinds: map[string]int{}}
	inputs := w.makeInputs(source)
	w.makeNodes(source)
	w.makeOutputs(source)
	w.makeRates(seed)
	source.early = true
	if w.IntN(2) == 0 {
		w.guard = source.condition(1)
		w.decl.Reactor.Guard = spec.Expr{Text: w.guard.String()}
	}
	w.kinds = source.kinds
	plan, diagnostics := Compile(w.decl, inputs, nodetest.Nodes())
	if err := diagnostics.Err(); err != nil {
		t.Fatalf("SIM_SEED=%d: %v\n%s", seed, err, w)
	}
	w.plan, w.st = plan, plan.NewState()
	for i := range inputs {
		if w.IntN(2) == 0 {
			plan.Bind(i, valueShape)
		}
	}
	w.pooled = []*Plan{w.pool(t, inputs, seed, 1000, lanes.Block),
		w.pool(t, inputs, seed, 1, []string{lanes.DropOldest, lanes.DropNewest, lanes.Reject, lanes.FailFast}[seed%4])}
	w.order = w.g.order()
	w.oracle = &oracle{g: w.g, memo: map[string]map[int]outcome{}}
	w.cache = cache{make([]boundary.Value, len(inputs)), make([]uint64, len(inputs)), map[string]val{},
		map[string]bool{}}
	return w
}

func (w *world) makeInputs(source *termSource) []Input {
	var inputs []Input
	for i := range 1 + w.IntN(3) {
		name := "i" + strconv.Itoa(i)
		inputs = append(inputs, Input{Name: name, Type: expression.Any(), Event: w.IntN(3) == 0})
		w.g.inputs = append(w.g.inputs, name)
		w.g.event[name] = inputs[i].Event
		source.names = append(source.names, name)
		source.kinds[name] = w.IntN(2)
	}
	return inputs
}

func (w *world) makeNodes(source *termSource) {
	count := 2 + w.IntN(7)
	places := w.Perm(count) // a node may be declared before what it rests on
	routes := make([]bool, count)
	loop := w.makeLoop(count)
	for i := range routes {
		routes[i] = w.IntN(4) == 0 && !loop.has(nodeName(i))
	}
	w.decl.Nodes = make([]spec.Node, count)
	var earlier []*oracleNode
	for i := range count {
		n := &oracleNode{name: nodeName(i), pos: places[i], priority: 1}
		d := spec.Node{Name: n.name, Kind: "expr"}
		if routes[i] {
			for range 1 + w.IntN(3) {
				n.routes = append(n.routes, source.condition(1))
			}
		} else {
			n.term = source.number(1 + w.IntN(3))
		}
		if loop.has(n.name) {
			n.loop = loop
			w.loopTerm(n, source)
		} else {
			w.makeDelay(n, &d, source, routes)
		}
		if routes[i] {
			d.Kind = "route"
			var choices []spec.Field
			for k := range n.routes {
				choices = append(choices, spec.Field{Name: routeName(k), Expr: spec.Expr{Text: n.routes[k].String()}})
			}
			d.Config = route.Declared{Choices: choices}
		} else {
			d.Config = expr.Declared{Expr: spec.Expr{Text: n.term.String()}}
		}
		if len(earlier) > 0 && w.IntN(3) == 0 {
			w.makeGates(n, &d, earlier)
		}
		if k := w.IntN(6); k < 2 {
			event := k == 0
			n.event, d.Event = &event, &event
		}
		n.onError = []string{"fail_epoch", "skip", "last_good", "dead_letter"}[min(3, w.IntN(10)/2)]
		if n.loop != nil {
			n.onError = []string{"fail_epoch", "skip"}[w.IntN(2)]
		}
		d.OnError = n.onError
		if w.IntN(3) == 0 {
			n.priority = w.IntN(4)
			d.Priority = []string{"high", "normal", "low", "background"}[n.priority]
		}
		w.decl.Nodes[places[i]] = d
		w.g.nodes[n.name] = n
		known := []*oracleNode{n}
		if n.loop != nil {
			if known = nil; n.name == loop.last() { // what stands in the loop is read behind it
				known = loop.resolve(w.g)
				w.declareLoop(loop, source)
			}
		}
		for _, n := range known {
			earlier = append(earlier, n)
			source.names = append(source.names, n.name)
			source.kinds[n.name] = numberNode
			if n.routes != nil {
				source.kinds[n.name] = routeNode
			}
		}
	}
}

func nodeName(i int) string { return "n" + strconv.Itoa(i) }

// makeDelay lets a node read another one, or itself, as of the epoch before: one that comes later, too.
func (w *world) makeDelay(n *oracleNode, d *spec.Node, source *termSource, routes []bool) {
	if w.IntN(3) > 0 {
		return
	}
	at := w.IntN(len(routes))
	name := nodeName(at)
	if n.term.freshOf(name) || slices.ContainsFunc(n.routes, func(t *term) bool { return t.freshOf(name) }) {
		return
	}
	n.delay, d.Delay = []string{name}, cycles.Delay{{Name: name}}
	read := &term{op: "read", name: name}
	if w.IntN(3) > 0 {
		read = &term{op: "??", args: []*term{read, source.constant()}}
	}
	holds := &term{op: "<", args: []*term{read, source.constant()}}
	if routes[at] {
		holds = &term{op: "is", s: routeName(w.IntN(3)), args: []*term{read}}
	}
	switch {
	case n.routes != nil:
		n.routes[0] = &term{op: []string{"&&", "||"}[w.IntN(2)], args: []*term{holds, n.routes[0]}}
	case routes[at] || w.IntN(4) == 0:
		n.term = &term{op: "?", args: []*term{holds, source.constant(), n.term}}
	case w.IntN(4) == 0:
		n.term = read
	default:
		n.term = &term{op: "+", args: []*term{read, n.term}}
	}
}

// makeGates lets a node come after one or several others.
func (w *world) makeGates(n *oracleNode, d *spec.Node, earlier []*oracleNode) {
	for range 1 + w.IntN(2)*w.IntN(3) {
		from := earlier[w.IntN(len(earlier))]
		g := oracleGate{node: from.name}
		if from.routes != nil && w.IntN(4) > 0 {
			g.route = routeName(w.IntN(len(from.routes)))
		}
		if !slices.Contains(n.after, g) {
			n.after = append(n.after, g)
			d.After = append(d.After, spec.Gate{Node: g.node, Route: g.route})
		}
	}
	n.afterAll = len(n.after) > 1 && w.IntN(2) == 0
	d.AfterAll = n.afterAll
}

func (w *world) makeOutputs(source *termSource) {
	for i := range 1 + w.IntN(4) {
		from := source.names[w.IntN(len(source.names))]
		o := oracleOutput{from: from, onChange: w.IntN(2) == 0, emitNull: w.IntN(3) == 0}
		d := spec.Output{Name: "o" + strconv.Itoa(i), From: o.from, EmitNull: o.emitNull}
		if w.IntN(3) == 0 {
			o.where = source.where(from)
			d.Where = spec.Expr{Text: o.where.String()}
		}
		if o.onChange {
			d.Emit = "on_change"
		}
		w.g.outputs = append(w.g.outputs, o)
		w.decl.Outputs = append(w.decl.Outputs, d)
	}
}

// String is the declaration and what happened, to reproduce a failure by hand.
func (w *world) String() string {
	var b strings.Builder
	for _, n := range w.decl.Nodes {
		fmt.Fprintf(&b, "%s: { after: %q, all: %v, on_error: %s, priority: %q, lane: %q", n.Name, n.After, n.AfterAll,
			n.OnError, n.Priority, n.Lane.Name)
		if n.Delay != nil {
			fmt.Fprintf(&b, ", delay: %v", n.Delay.Sorted())
		}
		if n.Event != nil {
			fmt.Fprintf(&b, ", event: %v", *n.Event)
		}
		for _, r := range n.Config.Reads().Terms() {
			fmt.Fprintf(&b, ", %s %s: %s", n.Kind, r.Name, r.Expr.Text)
		}
		b.WriteString(" }\n")
	}
	for _, l := range w.decl.Loops {
		fmt.Fprintf(&b, "loop: %+v\n", l)
	}
	for i, o := range w.decl.Outputs {
		fmt.Fprintf(&b, "output %d: %+v, where: %s\n", i, w.g.outputs[i], o.Where.Text)
	}
	fmt.Fprintf(&b, "inputs: %v, event: %v\nguard: %s\n", w.g.inputs, w.g.event, w.decl.Reactor.Guard.Text)
	return b.String() + strings.Join(w.log, "\n")
}

func (w *world) logf(format string, args ...any) {
	if w.verbose {
		w.log = append(w.log, fmt.Sprintf(format, args...))
	}
}

// arrive puts new values in the cache of some inputs.
func (w *world) arrive() {
	for i, name := range w.g.inputs {
		if w.IntN(2) == 0 {
			continue
		}
		v := num(float64(w.IntN(4)))
		if w.kinds[name] == objectInput && w.IntN(5) == 0 {
			v = val{kind: 'z'}
		}
		w.stamp++
		w.cache.inputs[i], w.cache.versions[i] = w.input(name, v), w.stamp
		w.cache.vals[name], w.cache.set[name] = v, true
	}
}

var valueShape = boundary.NewShape("v")

// input is an input's value for the engine: a number, or an object with the field v.
func (w *world) input(name string, v val) boundary.Value {
	value := boundary.Int(int64(v.n))
	if w.kinds[name] != objectInput {
		return value
	}
	if v.kind == 'z' {
		value = boundary.Value{}
	}
	return boundary.Object(valueShape, []boundary.Value{value})
}

// restart rebuilds the state from the checkpoint.
func (w *world) restart() error {
	w.logf("restart")
	st, err := w.restored()
	w.st = st
	return err
}

// restored is the state that the checkpoint has.
func (w *world) restored() (*State, error) {
	st := w.plan.NewState()
	for _, i := range slices.Collect(maps.Keys(w.cells)) { // in whatever order
		if err := w.plan.DecodeCell(st, i, w.cells[i]); err != nil {
			return nil, err
		}
	}
	return st, nil
}

// runRestored runs the epoch that w.r has just been through on what the checkpoint has of the one before, as after a
// kill: it comes to the same.
func (w *world) runRestored(e *Epoch) error {
	st, err := w.restored()
	if err != nil {
		return err
	}
	r := &Result{}
	w.plan.Run(st, e, r)
	return sameResults(w.plan, r, w.r)
}
