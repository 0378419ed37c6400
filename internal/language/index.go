package language

import (
	"slices"
	"strings"

	"github.com/graphd/graphd/internal/language/text"
	"go.yaml.in/yaml/v3"
)

// The sections of a declaration that declare names.
const (
	Vars         = "vars"
	Accumulators = "accumulators"
	Lanes        = "lanes"
	Loops        = "loops"
	Nodes        = "nodes"
	Outputs      = "outputs"
	Cases        = "cases" // of a test document
)

var sections = []string{Vars, Accumulators, Lanes, Loops, Nodes, Outputs}

// Name is a name that a document declares.
type Name struct {
	Section, Name string
	// From and To are where the name stands, and End is where what it names ends.
	From, To, End int
	// Says is what it names in a word or two, such as its kind.
	Says   string
	Routes []string // of a node
	// Again are the nodes that a node reads as of the last epoch, or those of a loop.
	Again []string
}

// Index is what a document declares. It keeps the text that it is of.
type Index struct {
	Text    *text.Text
	Names   []Name
	Anchors map[string]int // the bytes at which they stand
	Include []string       // the files that it includes, as they are written
	Graph   Name           // the field graph; its name is the graph's
	// Sections are the bytes at which the sections begin.
	Sections map[string]Name
}

// NewIndex reads a document, nil where YAML cannot read it.
func NewIndex(t *text.Text) *Index {
	root := read(t.String())
	if root == nil || root.Kind != yaml.MappingNode {
		return nil
	}
	x := &Index{Text: t, Anchors: map[string]int{}, Sections: map[string]Name{}}
	x.anchors(root, 0)
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		field := x.name("", key)
		field.End = len(t.String())
		if i+2 < len(root.Content) {
			next := root.Content[i+2]
			field.End = t.At(next.Line, 1)
		}
		switch {
		case key.Value == "graph" && value.Kind == yaml.ScalarNode:
			x.Graph = field
			x.Graph.Name = value.Value
		case key.Value == "include":
			for _, item := range append([]*yaml.Node{value}, value.Content...) {
				if item.Kind == yaml.ScalarNode {
					x.Include = append(x.Include, item.Value)
				}
			}
		case key.Value == Cases:
			x.cases(field, value)
		case slices.Contains(sections, key.Value):
			x.section(field, value)
		}
	}
	return x
}

func (x *Index) name(section string, key *yaml.Node) Name {
	from := x.Text.At(key.Line, key.Column)
	all := x.Text.String()
	if from < len(all) && (all[from] == '"' || all[from] == '\'') {
		from++
	}
	return Name{Section: section, Name: key.Value, From: from, To: min(from+len(key.Value), len(all))}
}

func (x *Index) section(field Name, value *yaml.Node) {
	x.Sections[field.Name] = field
	if value.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i+1 < len(value.Content); i += 2 {
		n := x.name(field.Name, value.Content[i])
		n.End = field.End
		if i+2 < len(value.Content) {
			next := value.Content[i+2]
			n.End = x.Text.At(next.Line, next.Column)
		}
		n.Says, n.Routes = says(value.Content[i+1])
		n.Again = again(value.Content[i+1])
		x.Names = append(x.Names, n)
	}
}

// cases are the tests of a test document.
func (x *Index) cases(field Name, list *yaml.Node) {
	x.Sections[Cases] = field
	for i, c := range list.Content {
		if c.Kind != yaml.MappingNode {
			continue
		}
		at := x.Text.At(c.Line, c.Column)
		n := Name{Section: Cases, From: at, To: at, End: field.End}
		if i+1 < len(list.Content) {
			n.End = x.Text.At(list.Content[i+1].Line, 1)
		}
		for k := 0; k+1 < len(c.Content); k += 2 {
			if c.Content[k].Value == "name" {
				n.Name = c.Content[k+1].Value
			}
		}
		x.Names = append(x.Names, n)
	}
}

// says tells what something is by its fields.
func says(n *yaml.Node) (kind string, routes []string) {
	if n.Kind != yaml.MappingNode {
		return "", nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i].Value, n.Content[i+1]
		switch key {
		case "source", "sink":
			if value.Kind == yaml.MappingNode && len(value.Content) > 0 {
				kind = strings.TrimSpace(kind + " " + value.Content[0].Value)
			}
		case "expr", "route", "wasm", "http", "go", "window", "batch", "state", "table", "fold", "join", "pool",
			"fixed_rate":
			kind = strings.TrimSpace(kind + " " + key)
		}
		if key == "route" {
			routes = routesOf(value)
		}
	}
	return kind, routes
}

// again are the names in delay of a node, or nodes of a loop.
func again(n *yaml.Node) (names []string) {
	for i := 0; i+1 < len(n.Content) && n.Kind == yaml.MappingNode; i += 2 {
		if key := n.Content[i].Value; key == "delay" || key == Nodes {
			for _, item := range append([]*yaml.Node{n.Content[i+1]}, n.Content[i+1].Content...) {
				names = append(names, item.Value)
			}
		}
	}
	return names
}

func routesOf(n *yaml.Node) (names []string) {
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			names = append(names, n.Content[i].Value)
		}
	case yaml.SequenceNode:
		for _, item := range n.Content {
			if item.Kind == yaml.MappingNode {
				names = append(names, routesOf(item)...)
			}
		}
	}
	return names
}

// anchors notes where the anchors stand. It follows no alias.
func (x *Index) anchors(n *yaml.Node, depth int) {
	if depth > 1000 {
		return
	}
	if n.Anchor != "" && n.Kind != yaml.AliasNode {
		at := x.Text.At(n.Line, n.Column)
		if k := strings.LastIndex(x.Text.String()[:at], "&"+n.Anchor); k >= 0 && at-k < 200 {
			at = k
		}
		x.Anchors[n.Anchor] = at
	}
	for _, c := range n.Content {
		x.anchors(c, depth+1)
	}
}

// Find is the name of a section; of several, the first that has it.
func (x *Index) Find(name string, in ...string) (n Name, ok bool) {
	for _, section := range in {
		for _, n := range x.Names {
			if n.Section == section && n.Name == name {
				return n, true
			}
		}
	}
	return n, false
}
