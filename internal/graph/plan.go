package graph

import (
	"slices"
	"time"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/graph/cuts"
	"github.com/graphd/graphd/internal/graph/internal/bitset"
	"github.com/graphd/graphd/internal/spec"
)

// Input is one accumulator as the nodes see it.
type Input struct {
	Name string
	// From is the node that feeds it; "" for none.
	From string
	// Joins are the inputs that it takes, of a join; JoinedBy is the join that takes it, "" for none.
	Joins    []string
	JoinedBy string
	// Type is the static type of its boundaries' values.
	Type expression.Type
	// Event says that each boundary matters, not only the newest: sequential or burst.
	Event bool
	// Unsaid says that the input is not an event input only because nothing declares what it is.
	Unsaid bool
	// AsOf says that rows of the table are looked up as of the time of what fires.
	AsOf bool
}

// Node is one node of a plan, for people and for checkpoints to look at.
type Node struct {
	Name string
	Kind string
	// Rank is the length of the longest path to the node: 0 when it rests on inputs only.
	Rank     int
	Priority string
	// Event says that the node ticks whenever it runs, even with an equal value.
	Event   bool
	OnError string
	// Type is the static type of the node's value.
	Type expression.Type
	// After is what it comes after, as a declaration says it; "" for nothing.
	After string
	// Rests are the inputs that it rests on, directly or not, in declaration order.
	Rests []int
	// Routes are the routes that others can come after, in the order they are tried; nil when
	// the node's kind has none.
	Routes []string
	// Loop is the loop that it runs in, "" for none.
	Loop string
	// Lane is the lane that it names, "" for none.
	Lane string
}

// Output is one output of a plan. Exactly one of Node and Input is an index, the other is -1; both are of one that puts
// out cuts.
type Output struct {
	Name string
	From string
	// Node and Input say where the value comes from: an index into Nodes or Inputs.
	Node, Input int
	// Cut says that it puts out what each epoch took, whatever became of the epoch. The reactor sees to that.
	Cut bool
	// OnChange says that only a value that differs from the last one emitted goes out.
	OnChange bool
	// EmitNull says that null goes out too.
	EmitNull bool
	// Fresh is within how long the next value is to go out, for who asks the plan; 0 for no objective.
	Fresh time.Duration
	// where is the condition that a value must meet, nil for none.
	where *expression.Program
	// cell is the place of the last emitted value in a state, -1 unless OnChange.
	cell int
}

// The kinds of an edge.
const (
	plainEdge    = "plain"    // the value must be there
	optionalEdge = "optional" // an absent value reads as null
	freshEdge    = "fresh"    // asked whether it has arrived, the value is not read
	afterEdge    = "after"    // order and gate, no value
	untilEdge    = "until"    // the condition of a loop reads it, which stands at the last of its nodes
	delayEdge    = "delay"    // the value as of the last kept epoch, which makes nothing due
)

// edge says that the node to rests on the input or node from.
type edge struct {
	From  string `json:"from"`
	To    string `json:"to"`
	Kind  string `json:"kind"`
	Route string `json:"route,omitempty"`
	// Feedback says that both are in one loop, and that to reads what the iteration before has come to.
	Feedback bool `json:"feedback,omitempty"`
}

// Plan is a compiled graph. It is immutable once [Plan.Bind] has been called for
// its inputs, and then safe for concurrent use with distinct states and results. It does not know
// its graph's name: graphs that differ in that alone have one.
type Plan struct {
	shards   int // 0 where there is one
	inputs   []Input
	triggers []bool
	nodes    []Node
	outputs  []Output
	cuts     *cuts.Layout // nil where none is put out
	edges    []edge
	guard    *guard

	steps     []step
	loops     []loop // in the order of their nodes
	lanes     []Lane
	waves     []wave       // where pools may have no room
	rates     []Rate       // lanes with a cadence
	paced     []bitset.Set // by place in rates: the nodes that run at their ticks
	replayed  bool         // what an epoch comes to has to be the same when the journal is replayed
	budgets   []budget     // by node; nil where none has one
	whole     budget       // of the epoch
	degrades  bool         // nodes that have not run within that keep what they had
	links     []int32      // the steps' consumers, one after the other
	gates     []gate       // the steps', one after the other
	delayed   []int32      // nodes that are read as of the last kept epoch, by their place in an environment
	consumers []bitset.Set // by input: the nodes that rest on it directly
	always    bitset.Set   // the nodes that are due in every epoch; nil when there are none
	conflates [][]string   // by input that is latest: the nodes to which every event matters
	asks      bool         // fresh() or cause() is called in some node or condition
	calls     bool         // some node calls out
	keyName   int          // the index of `key`, and whether something reads it
	readsKey  bool
	foreign   bool // some node runs somebody else's code
	reads     []inputReads
	constants []boundary.Value // vars, in the place every environment has them
	cells     []Cell
	prints    []uint64                // by node: what it computes, for the cells
	lasts     int                     // how many outputs keep their last emitted value
	memories  int                     // how many memories a state has
	remembers []int                   // the nodes that have any, in plan order
	minds     [][]*expression.Program // by place in remembers: those that remember
}

// inputReads is what a plan looks at in one input.
type inputReads struct {
	fields   []string // sorted
	whole    bool
	programs []boundProgram
}

// boundProgram is a program that reads an input, under the index name.
type boundProgram struct {
	program *expression.Program
	name    int
}

// Inputs are the inputs in declaration order. The slice is the plan's: read only.
func (p *Plan) Inputs() []Input { return p.inputs }

// Nodes are the nodes in plan order. The slice is the plan's: read only.
func (p *Plan) Nodes() []Node { return p.nodes }

// Outputs are the outputs in declaration order. The slice is the plan's: read only.
func (p *Plan) Outputs() []Output { return p.outputs }

// HasGuard says whether the reactor has to ask [Plan.GuardHolds] before it fires.
func (p *Plan) HasGuard() bool { return p.guard != nil }

// Reads says which top-level fields of an input some node, the guard or an
// output looks at, in alphabetical order, and whether the value is used as a
// whole too. Nothing and false means that nobody reads it.
func (p *Plan) Reads(input int) (fields []string, whole bool) {
	return slices.Clone(p.reads[input].fields), p.reads[input].whole
}

// Bind tells the plan the shape that an input's values are decoded with, so that
// fields are read by slot. Call it before the first Run; it is not safe for
// concurrent use with anything else. Values of other shapes work too, slower.
func (p *Plan) Bind(input int, s *boundary.Shape) {
	for _, b := range p.reads[input].programs {
		b.program.Bind(b.name, s)
	}
}

// ReadsKey says whether something reads `key`; else [Epoch.Key] need not be given.
func (p *Plan) ReadsKey() bool { return p.readsKey }

// addReads notes what a program reads of the inputs, and of `key`. index maps the program's
// own names to the plan's.
func (p *Plan) addReads(program *expression.Program, index func(name int) int) {
	for _, r := range program.Reads() {
		i := index(r.Name)
		p.readsKey = p.readsKey || i == p.keyName
		if i >= len(p.inputs) || r.Fresh {
			continue
		}
		in := &p.reads[i]
		if len(r.Path) == 0 {
			in.whole = true
		} else if at, found := slices.BinarySearch(in.fields, r.Path[0]); !found {
			in.fields = slices.Insert(in.fields, at, r.Path[0])
		}
		if !slices.ContainsFunc(in.programs, func(b boundProgram) bool { return b.program == program }) {
			in.programs = append(in.programs, boundProgram{program, r.Name})
		}
	}
}

// triggersOf says for each input whether the reactor fires on it.
func triggersOf(g *spec.Graph, inputs []Input) []bool {
	triggers := make([]bool, len(inputs))
	for i, in := range inputs {
		for a := range g.Accumulators {
			if g.Accumulators[a].Name == in.Name {
				triggers[i] = g.Accumulators[a].Triggers(g.Reactor)
			}
		}
	}
	return triggers
}
