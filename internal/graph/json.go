package graph

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/graphd/graphd/internal/spec/lanes"
)

// planFormat is raised when a plan of the same declaration would read differently.
const planFormat = 1

// The plan as people and tools read it. Field order is the order in the JSON.
type planJSON struct {
	Format      int          `json:"format"`
	Graph       string       `json:"graph"`
	Declaration string       `json:"declaration,omitempty"`
	Shards      int          `json:"shards,omitempty"` // where there are several
	Inputs      []inputJSON  `json:"inputs"`
	Guard       []string     `json:"guard,omitempty"` // the names it reads
	Nodes       []nodeJSON   `json:"nodes"`
	Lanes       []laneJSON   `json:"lanes,omitempty"`
	Rates       []rateJSON   `json:"rates,omitempty"` // the lanes that have a cadence
	Loops       []loopJSON   `json:"loops,omitempty"`
	Edges       []edge       `json:"edges"`
	Outputs     []outputJSON `json:"outputs"`
}

type inputJSON struct {
	Name     string   `json:"name"`
	From     string   `json:"from,omitempty"`  // the node that feeds it
	Joins    []string `json:"joins,omitempty"` // the inputs that it takes, of a join
	Type     string   `json:"type"`
	Event    bool     `json:"event"`
	Triggers bool     `json:"triggers"`
	Reads    []string `json:"reads"`
	Whole    bool     `json:"whole"`
	// Conflated says that values which triggered may be overwritten before an epoch takes them,
	// and CountedBy to which nodes each of them matters all the same.
	Conflated bool     `json:"conflated,omitempty"`
	CountedBy []string `json:"counted_by,omitempty"`
	AsOf      bool     `json:"as_of_event,omitempty"` // rows are looked up as of the time of what fires
}

type nodeJSON struct {
	Name     string   `json:"name"`
	Kind     string   `json:"kind"`
	Rank     int      `json:"rank"`
	Priority string   `json:"priority"`
	Event    bool     `json:"event"`
	OnError  string   `json:"on_error"`
	Type     string   `json:"type"`
	After    string   `json:"after,omitempty"`
	Routes   []string `json:"routes,omitempty"`
	Loop     string   `json:"loop,omitempty"` // that it runs in
	Lane     string   `json:"lane,omitempty"` // that it is executed in
}

// laneJSON is a pool: what its number of threads is makes no difference to results.
type laneJSON struct {
	Name          string   `json:"name"`
	Nodes         []string `json:"nodes"` // in plan order
	MaxThreads    int      `json:"max_threads"`
	QueueCapacity int      `json:"queue_capacity"`
	Overflow      string   `json:"overflow"`
	Overflows     bool     `json:"overflows"` // an epoch may have more for it than it takes
	Reentrant     int      `json:"reentrant"`
}

// rateJSON is a lane that has a cadence.
type rateJSON struct {
	Name          string   `json:"name"`
	Nodes         []string `json:"nodes"` // in plan order
	Period        string   `json:"period"`
	OverrunPolicy string   `json:"overrun_policy"`
}

type loopJSON struct {
	Name            string   `json:"name"`
	Nodes           []string `json:"nodes"` // in the order in which they run in every iteration
	MaxIterations   int      `json:"max_iterations"`
	Until           bool     `json:"until"` // it has a condition
	OnNoConvergence string   `json:"on_no_convergence"`
}

type outputJSON struct {
	Name     string   `json:"name"`
	From     string   `json:"from"`
	Emit     string   `json:"emit"`
	Where    bool     `json:"where,omitempty"`       // it has a condition
	Reads    []string `json:"where_reads,omitempty"` // the names that reads
	EmitNull bool     `json:"emit_null,omitempty"`
	Fresh    string   `json:"fresh,omitempty"` // within how long the next value is to go out
}

// JSON is the plan of the graph with this name and this hash of its declaration:
// inputs and outputs in declaration order, nodes in plan order, edges by the node
// they lead to. Equal declarations give equal bytes. Expressions and constants are
// not in it, so that no secret can be.
func (p *Plan) JSON(name, hash string) ([]byte, error) {
	doc := planJSON{
		Format: planFormat, Graph: name, Declaration: hash, Shards: p.shards,
		Inputs: make([]inputJSON, len(p.inputs)), Nodes: make([]nodeJSON, len(p.nodes)),
		Edges: append([]edge{}, p.edges...), Outputs: make([]outputJSON, len(p.outputs)),
	}
	for i, in := range p.inputs {
		doc.Inputs[i] = inputJSON{
			Name: in.Name, From: in.From, Joins: in.Joins, Type: in.Type.String(), Event: in.Event,
			Triggers: p.triggers[i], Reads: append([]string{}, p.reads[i].fields...), Whole: p.reads[i].whole,
			Conflated: !in.Event && p.triggers[i], CountedBy: p.conflates[i], AsOf: in.AsOf,
		}
	}
	if p.guard != nil {
		for _, name := range p.guard.names {
			doc.Guard = append(doc.Guard, p.nameOf(name))
		}
	}
	for i, n := range p.nodes {
		doc.Nodes[i] = nodeJSON{
			Name: n.Name, Kind: n.Kind, Rank: n.Rank, Priority: n.Priority, Event: n.Event,
			OnError: n.OnError, Type: n.Type.String(), After: n.After, Routes: n.Routes, Loop: n.Loop,
			Lane: n.Lane,
		}
	}
	for k := range p.lanes {
		doc.Lanes = append(doc.Lanes, p.laneJSON(k))
	}
	doc.Rates = p.ratesJSON()
	for i := range p.loops {
		doc.Loops = append(doc.Loops, p.loops[i].json(p))
	}
	for i, o := range p.outputs {
		emit := "each"
		if o.OnChange {
			emit = "on_change"
		}
		doc.Outputs[i] = outputJSON{
			Name: o.Name, From: o.From, Emit: emit, Where: o.where != nil, Reads: p.OutputReads(i),
			EmitNull: o.EmitNull,
		}
		if o.Fresh > 0 {
			doc.Outputs[i].Fresh = o.Fresh.String()
		}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(doc); err != nil {
		return nil, fmt.Errorf("encode plan of graph %s: %w", name, err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

func (p *Plan) laneJSON(k int) laneJSON {
	l := &p.lanes[k]
	doc := laneJSON{Name: l.Name, Nodes: []string{}, MaxThreads: l.Threads, QueueCapacity: l.Capacity,
		Overflow: l.Overflow, Overflows: l.Overflow != lanes.Block && p.Overflows(k), Reentrant: l.Reentrant}
	for i := range p.nodes {
		if int(p.steps[i].lane) == k+1 {
			doc.Nodes = append(doc.Nodes, p.nodes[i].Name)
		}
	}
	return doc
}

func (l *loop) json(p *Plan) loopJSON {
	doc := loopJSON{Name: l.name, MaxIterations: l.most, Until: l.until != nil, OnNoConvergence: l.onNot}
	for _, n := range p.nodes[l.first : l.first+l.n] {
		doc.Nodes = append(doc.Nodes, n.Name)
	}
	return doc
}

// nameOf is the name with a plan index.
func (p *Plan) nameOf(name int) string {
	node := name - len(p.inputs)
	switch {
	case node < 0:
		return p.inputs[name].Name
	case node < len(p.nodes):
		return p.nodes[node].Name
	case node == len(p.nodes):
		return "vars"
	default:
		return "key"
	}
}
