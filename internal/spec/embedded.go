package spec

import (
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/graphd/graphd/internal/spec/internal/document"
)

// What a Go program that embeds the daemon has registered by name: nodes, sources and sinks.

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

// Registered is a source or sink that the program has registered.
type Registered struct{ Name string }

var goNodeFields = []field[GoNode]{
	{name: "name", need: true, read: func(d *decoder, v value, g *GoNode) { g.Name, _ = d.text(v, "the name of a registered function") }},
}

func readGoNode(d *decoder, v value, n *Node) { readObject(d, v, "node go", goNodeFields, &n.Go) }

var registeredFields = []field[Registered]{
	{name: "name", need: true, read: func(d *decoder, v value, r *Registered) { r.Name, _ = d.text(v, "a registered name") }},
}

func readGoSource(d *decoder, v value, s *Source) {
	readObject(d, v, "source go", registeredFields, &s.Go)
}

func readGoSink(d *decoder, v value, s *Sink) {
	readObject(d, v, "sink go", registeredFields, &s.Go)
}

func readNodeInputs(d *decoder, v value, n *Node) {
	if !d.kind(v, yaml.SequenceNode, "a list of accumulators and nodes") {
		return
	}
	for i := range v.node.Content {
		item := v.item(i)
		if name := d.nameText(item, "accumulator or node"); name != "" {
			n.Go.Inputs = append(n.Go.Inputs, NodeInput{Name: name, Pos: d.pos(item.node, item.at)})
			d.links.nodeInputs = append(d.links.nodeInputs, nodeInput{item, n.Name, name})
		}
	}
}

// nodeInput is an entry of a node's inputs and the node.
type nodeInput struct {
	value
	node, name string
}

// checkNodeInputs checks that a node without an expression says what it reads, and no other does.
func (d *decoder) checkNodeInputs(n *Node, at value, got given) {
	v, listed := got["inputs"]
	switch {
	case n.Kind == "go" && !listed:
		d.missing(at, "inputs", "a node of kind go")
	case n.Kind == "go" && v.node.Kind == yaml.SequenceNode && len(v.node.Content) == 0:
		d.report(v.anchor(), v.at, CodeEmptyValue, "", "the node %s has no inputs, so it would never run; name at least one", document.Quote(n.Name))
	case listed && n.Kind != "" && n.Kind != "go":
		d.report(v.key, v.at, CodeConflict, "", "what a node of kind %s reads is in its expressions; remove inputs", n.Kind)
	}
	seen := make(map[string]bool)
	for _, in := range n.Go.Inputs {
		if seen[in.Name] {
			d.reportAt(in.Pos, CodeDuplicateEntry, "", "%s is listed twice; remove one", document.Quote(in.Name))
		}
		seen[in.Name] = true
	}
}

// checkInputNames checks that what nodes list as inputs is there.
func (d *decoder) checkInputNames(names []string) {
	for _, in := range d.links.nodeInputs {
		at, shown := in.value, document.Quote(in.value.node.Value)
		switch {
		case in.name == in.node:
			d.report(at.node, at.at, CodeSelfReference, "", "the node %s cannot read itself; name another", shown)
		case !slices.Contains(names, in.name):
			d.report(at.node, at.at, CodeUnknownName, d.finder.Nearest(at.node.Value, names), "there is no accumulator or node %s; declare it or correct the name", shown)
		}
	}
}
