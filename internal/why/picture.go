package why

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/spec/cycles"
)

// Picture is what a graph is made of, as far as reasons go. It is immutable.
type Picture struct {
	name    string
	spec    *spec.Graph
	guard   []string // what the guard reads
	nodes   map[string]*node
	outputs map[string]*output
}

type node struct {
	Name   string   `json:"name"`
	Kind   string   `json:"kind"`
	After  string   `json:"after"`
	Routes []string `json:"routes"`
	rests  []edge   // on what it rests
	until  []edge   // what the condition of its loop reads beside the loop's nodes
}

type output struct {
	Name     string `json:"name"`
	From     string `json:"from"`
	Emit     string `json:"emit"`
	Where    bool   `json:"where"`
	EmitNull bool   `json:"emit_null"`
}

// The kinds of edges that make a difference here, as a plan has them.
const (
	plainEdge = "plain"
	untilEdge = "until"
	afterEdge = "after"
	delayEdge = "delay"
)

type edge struct {
	From     string `json:"from"`
	To       string `json:"to"`
	Kind     string `json:"kind"`
	Route    string `json:"route"`
	Feedback bool   `json:"feedback"`
}

// Of is the picture of a graph: of its name, its declaration, and the compiled plan as [graph.Plan.JSON] has it.
func Of(name string, g *spec.Graph, plan []byte) (*Picture, error) {
	var doc struct {
		Guard   []string  `json:"guard"`
		Nodes   []*node   `json:"nodes"`
		Edges   []edge    `json:"edges"`
		Outputs []*output `json:"outputs"`
	}
	if err := json.Unmarshal(plan, &doc); err != nil {
		return nil, fmt.Errorf("read the plan of graph %s: %w", name, err)
	}
	p := &Picture{name: name, spec: g, guard: doc.Guard, nodes: map[string]*node{}, outputs: map[string]*output{}}
	for _, n := range doc.Nodes {
		p.nodes[n.Name] = n
	}
	for _, o := range doc.Outputs {
		p.outputs[o.Name] = o
	}
	for _, e := range doc.Edges {
		if n := p.nodes[e.To]; n != nil && !e.Feedback && e.Kind != delayEdge {
			n.rests = append(n.rests, e)
		}
		if e.Kind == untilEdge {
			for _, name := range loopOf(g, e.To) {
				p.nodes[name.Name].until = append(p.nodes[name.Name].until, e)
			}
		}
	}
	return p, nil
}

// loopOf are the nodes of the loop that a node is one of.
func loopOf(g *spec.Graph, node string) []cycles.Name {
	for i := range g.Loops {
		if l := &g.Loops[i]; slices.ContainsFunc(l.Nodes, func(n cycles.Name) bool { return n.Name == node }) {
			return l.Nodes
		}
	}
	return nil
}

// Output refuses the name of an output that there is not.
func (p *Picture) Output(name string) error {
	if name == "" || p.outputs[name] != nil {
		return nil
	}
	var declared []string
	for i := range p.spec.Outputs {
		declared = append(declared, p.spec.Outputs[i].Name)
	}
	return &api.Error{Status: 404, Code: "output_not_found",
		Detail: fmt.Sprintf("graph %s has no output %q", p.name, name), Extra: map[string]any{"declared": declared}}
}

// triggers are the inputs that may fire the graph.
func (p *Picture) triggers() (names []string) {
	for i := range p.spec.Accumulators {
		if a := &p.spec.Accumulators[i]; a.Triggers(p.spec.Reactor) {
			names = append(names, a.Name)
		}
	}
	return names
}

func (p *Picture) accumulatorWhere(input string) string {
	if a := p.accumulator(input); a != nil {
		return a.Where.Text
	}
	return ""
}

func (p *Picture) outputWhere(output string) string {
	for i := range p.spec.Outputs {
		if p.spec.Outputs[i].Name == output {
			return p.spec.Outputs[i].Where.Text
		}
	}
	return ""
}

func (p *Picture) hasDefault(input string) bool {
	a := p.accumulator(input)
	return a != nil && a.HasDefault
}

// Shares says that there are inputs with one value for all keys.
func (p *Picture) Shares() bool {
	return slices.ContainsFunc(p.spec.Accumulators, func(a spec.Accumulator) bool { return isShared(&a) })
}

func isShared(a *spec.Accumulator) bool { return a.Global || a.JoinedBy != "" }

// accumulator is the declaration of an input; nil when there is none of the name.
func (p *Picture) accumulator(name string) *spec.Accumulator {
	i := slices.IndexFunc(p.spec.Accumulators, func(a spec.Accumulator) bool { return a.Name == name })
	if i < 0 {
		return nil
	}
	return &p.spec.Accumulators[i]
}
