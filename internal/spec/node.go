package spec

import (
	"strings"

	"github.com/graphd/graphd/internal/spec/internal/document"
)

var (
	onErrors   = choice{built: []string{"fail_epoch", "skip", "last_good", "dead_letter"}}
	priorities = choice{built: []string{"normal", "high", "low", "background"}}
)

var nodeFields = []field[Node]{
	{name: "expr", read: func(d *decoder, v value, n *Node) { n.Expr = d.expr(v) }},
	{name: "route", read: readRoutes},
	{name: "wasm"},
	{name: "http"},
	{name: "go", read: readGoNode},
	{name: "inputs", read: readNodeInputs},
	{name: "after", read: readAfter},
	{name: "event", read: func(d *decoder, v value, n *Node) {
		n.Event = new(bool)
		d.boolean(v, n.Event)
	}},
	{name: "on_error", read: func(d *decoder, v value, n *Node) { d.pick(v, onErrors, &n.OnError) }},
	{name: "priority", read: func(d *decoder, v value, n *Node) { d.pick(v, priorities, &n.Priority) }},
	{name: "retry"},
	{name: "lane"},
	{name: "budget"},
	{name: "delay"},
}

// nodeKinds are the fields that say what a node does; it has exactly one.
var nodeKinds = []string{"expr", "route", "wasm", "http", "go"}

func readNodes(d *decoder, v value, g *Graph) {
	pairs := d.names(v, "node")
	g.Nodes = make([]Node, 0, len(pairs))
	for _, p := range pairs {
		n := Node{
			Name: p.key.Value, Pos: d.pos(p.key, p.at),
			OnError: onErrors.built[0], Priority: priorities.built[0],
		}
		d.links.nodes = append(d.links.nodes, link{value: p.value})
		got, ok := readObject(d, p.value, "a node", nodeFields, &n)
		if kind, there := d.exclusive(got, "the node", nodeKinds); there {
			n.Kind = kind.key.Value
		} else if ok {
			d.report(p.key, p.at, CodeMissingKind, "", "the node %s does nothing; give it one of %s", document.Quote(n.Name), strings.Join(nodeKinds[:2], ", "))
		}
		d.checkNodeInputs(&n, p.value, got)
		g.Nodes = append(g.Nodes, n)
	}
}

func readRoutes(d *decoder, v value, n *Node) {
	if !d.mapping(v, "a mapping from routes to conditions") {
		return
	}
	n.Routes = d.expressions(v, "route")
	if len(v.node.Content) == 0 {
		d.report(v.anchor(), v.at, CodeEmptyRoutes, "", "the node has no routes; name at least one with its condition")
	}
}

func readAfter(d *decoder, v value, n *Node) {
	n.After, _ = d.text(v, "a node, or a route as node.route")
	n.AfterPos = d.pos(v.node, v.at)
	d.links.nodes[len(d.links.nodes)-1].after = v
}
