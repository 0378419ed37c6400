package spec

import (
	"slices"
	"strings"

	"github.com/graphd/graphd/internal/spec/decode"
)

var (
	onErrors   = decode.Words("fail_epoch", "skip", "last_good", "dead_letter")
	priorities = decode.Words("normal", "high", "low", "background")
)

var nodeFields = []decode.Field[nodeDraft]{
	{Name: "expr", Read: func(d *decoder, v value, n *nodeDraft) { n.Expr = d.Expr(v) }},
	{Name: "route", Read: readRoutes},
	{Name: "wasm"},
	{Name: "http"},
	{Name: "go", Read: readGoNode},
	{Name: "inputs", Read: readNodeInputs},
	{Name: "after", Read: readAfter},
	{Name: "event", Read: func(d *decoder, v value, n *nodeDraft) {
		n.Event = new(bool)
		d.Bool(v, n.Event)
	}},
	{Name: "on_error", Read: func(d *decoder, v value, n *nodeDraft) { d.Pick(v, onErrors, &n.OnError) }},
	{Name: "priority", Read: func(d *decoder, v value, n *nodeDraft) { d.Pick(v, priorities, &n.Priority) }},
	{Name: "retry"},
	{Name: "lane"},
	{Name: "budget"},
	{Name: "delay"},
}

// nodeKinds are the fields that say what a node does; it has exactly one.
var nodeKinds = []string{"expr", "route", "wasm", "http", "go"}

// nodeDraft is a node that is being read.
type nodeDraft struct {
	*Node
	at  *link
	all *draft
}

func readNodes(d *decoder, v value, g *draft) {
	pairs := d.Names(v, "node")
	g.Nodes = make([]Node, 0, len(pairs))
	for _, p := range pairs {
		n := Node{
			Name: p.Key(), Pos: p.Name().Pos(),
			OnError: onErrors.Default(), Priority: priorities.Default(),
		}
		at := link{value: p.Value}
		got, ok := decode.Object(d, p.Value, "a node", nodeFields, &nodeDraft{&n, &at, g})
		if kind, there := d.Exclusive(got, "the node", nodeKinds); there {
			n.Kind = kind.Key()
		} else if ok {
			d.Report(p.Name(), decode.CodeMissingKind, "", "the node %s does nothing; give it one of %s",
				decode.Quote(n.Name), strings.Join(nodeKinds[:2], ", "))
		}
		checkNodeInputs(d, &n, p.Value, got)
		g.Nodes = append(g.Nodes, n)
		g.links.nodes = append(g.links.nodes, at)
	}
}

func readRoutes(d *decoder, v value, n *nodeDraft) {
	if !d.Mapping(v, "a mapping from routes to conditions") {
		return
	}
	n.Routes = d.Expressions(v, "route")
	if v.IsEmpty() {
		d.Report(v.Whole(), decode.CodeEmptyRoutes, "", "the node has no routes; name at least one with its condition")
	}
}

func readAfter(d *decoder, v value, n *nodeDraft) {
	n.After, _ = d.Text(v, "a node, or a route as node.route")
	n.AfterPos = v.Here().Pos()
	n.at.after = v
}

// GoNode calls a registered function on its inputs.
type GoNode struct {
	Name string
	// Inputs are the accumulators and nodes it reads, in the document's order.
	Inputs []NodeInput
}

// NodeInput is a name that a node without an expression reads.
type NodeInput struct {
	Name string
	Pos  Pos
}

var goNodeFields = []decode.Field[GoNode]{
	{Name: "name", Need: true, Read: func(d *decoder, v value, g *GoNode) {
		g.Name, _ = d.Text(v, "the name of a registered function")
	}},
}

func readGoNode(d *decoder, v value, n *nodeDraft) {
	decode.Object(d, v, "node go", goNodeFields, &n.Go)
}

func readNodeInputs(d *decoder, v value, n *nodeDraft) {
	if !d.List(v, "a list of accumulators and nodes") {
		return
	}
	for _, item := range v.Items() {
		if name := d.NameOf(item, "accumulator or node"); name != "" {
			n.Go.Inputs = append(n.Go.Inputs, NodeInput{Name: name, Pos: item.Here().Pos()})
			n.all.links.nodeInputs = append(n.all.links.nodeInputs, nodeInput{item, n.Name, name})
		}
	}
}

// nodeInput is an entry of a node's inputs and the node.
type nodeInput struct {
	value
	node, name string
}

// checkNodeInputs checks that a node without an expression says what it reads, and no other does.
func checkNodeInputs(d *decoder, n *Node, at value, got decode.Given) {
	v, listed := got["inputs"]
	switch {
	case n.Kind == "go" && !listed:
		d.Missing(at, "inputs", "a node of kind go")
	case n.Kind == "go" && v.IsList() && v.IsEmpty():
		d.Report(v.Whole(), decode.CodeEmptyValue, "",
			"the node %s has no inputs, so it would never run; name at least one", decode.Quote(n.Name))
	case listed && n.Kind != "" && n.Kind != "go":
		d.Report(v.Name(), decode.CodeConflict, "",
			"what a node of kind %s reads is in its expressions; remove inputs", n.Kind)
	}
	seen := make(map[string]bool)
	for _, in := range n.Go.Inputs {
		if seen[in.Name] {
			d.ReportAt(in.Pos, decode.CodeDuplicateEntry, "", "%s is listed twice; remove one", decode.Quote(in.Name))
		}
		seen[in.Name] = true
	}
}

// checkInputNames checks that what nodes list as inputs is there.
func (d *draft) checkInputNames(names []string) {
	for _, in := range d.links.nodeInputs {
		at, shown := in.value, in.Shown()
		switch {
		case in.name == in.node:
			d.Report(at.Here(), decode.CodeSelfReference, "", "the node %s cannot read itself; name another", shown)
		case !slices.Contains(names, in.name):
			d.Report(at.Here(), decode.CodeUnknownName, d.Nearest(at.Text(), names),
				"there is no accumulator or node %s; declare it or correct the name", shown)
		}
	}
}
