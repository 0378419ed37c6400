package graph

import (
	"slices"
	"time"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/graph/internal/bitset"
	"github.com/graphd/graphd/internal/kind"
)

// Epoch is what a plan runs on: what the reactor's cut took. The caller owns it and its
// slices, and may reuse them as soon as [Plan.Begin] has returned; what the values point to
// stays as it is until the epoch is finished.
type Epoch struct {
	// Number is the epoch's own; epoch() in expressions.
	Number int64
	// Now is engine time, now() in expressions, constant throughout (M20).
	Now time.Time
	// Cause is cause() in expressions: why the epoch runs.
	Cause string
	// Key is the epoch's key; absent in an unkeyed graph, where `key` reads as null.
	Key boundary.Value
	// Inputs are the values by input; absent for an input that has not arrived.
	Inputs []boundary.Value
	// Versions are the stamps at which the values were put in the cache; 0 for one that never was.
	Versions []uint64
	// Stands are the inputs whose value is a default, for nothing has arrived of them; nil for none.
	Stands []bool
	// Stamp is this epoch's: greater than every version and every earlier epoch's.
	Stamp uint64
	// Interrupt is asked before each node, within a loop by whoever evaluates it. An error ends the epoch. nil: never.
	Interrupt func() error
	// Clock, in nanoseconds, measures how long nodes take; every [Run] asks it. nil:
	// durations stay zero.
	Clock func() int64
	// Foreign is told the node whose code may not come back, or the first of a loop that has iterated for long, and -1
	// after it, by whoever evaluates it. nil: nobody.
	Foreign func(node int)
	// Answer is the answer to what a node asks for; ok is false when there is none yet. It is kept as it is until
	// the epoch has ended. nil: there never is one. [Plan.Run] alone heeds it.
	Answer func(node int, r *kind.Request) (a *kind.Answer, ok bool)
	// Hands evaluate the nodes of pools beside the owner. nil: they run inline, as all others. [Plan.Run] alone heeds
	// it.
	Hands Hands
	// Ticks are the lanes whose cadence ticks in this epoch, by bit: their place in [Plan.Rates].
	Ticks uint64
	// FullRecompute computes every node in every epoch, and then lets only those that
	// were due count: the same results at the cost of an engine that is not
	// incremental. It is what benchmarks compare with; only [Plan.Run] heeds it.
	FullRecompute bool
	// EmitAll lets every output put out its current value, whether or not it ticked or differs
	// from the last one.
	EmitAll bool
	// Unbounded says that nobody looks at how long nodes take: it is known what came of that.
	Unbounded bool
	// Looks notes the rows that nodes look up in tables; nil: nobody wants to know. [Plan.Run] alone heeds it.
	Looks *expression.Looks
	// Aside says that the epoch will not be committed, whatever it comes to.
	Aside bool
}

// Status is what a node did in an epoch.
type Status uint8

// See the package documentation for what each of them means.
const (
	Idle Status = iota
	Ran
	CutOff
	Skipped
	Failed
)

// String is the status as records show it: "cut_off".
func (s Status) String() string {
	switch s {
	case Ran:
		return "ran"
	case CutOff:
		return "cut_off"
	case Skipped:
		return "skipped"
	case Failed:
		return "failed"
	default:
		return "idle"
	}
}

// NodeResult is one node's part in an epoch.
type NodeResult struct {
	Status Status
	// Value is the node's value at the end of the epoch, whether or not it ran; absent when it has none.
	Value boundary.Value
	// NoRoute says that a route node ran and none of its conditions held.
	NoRoute bool
	// Overran says that it took longer than its budget.
	Overran bool
	// Ended says why its loop ended, after so many Iterations; zero for a node of no loop, and where that was not due.
	Ended      Ended
	Iterations int32
	// Nanos is how long it took; 0 without [Epoch.Clock].
	Nanos int64
	// Err says why it failed.
	Err *NodeError
}

// Emission is one value that an output sends out.
type Emission struct {
	Output int // index into Plan.Outputs
	Value  boundary.Value
}

// Result is an epoch on its way and what it came to, staged until [Plan.Commit]. The zero
// Result is ready; reuse it, and it allocates nothing once it has seen the plan. It has one
// owner, and holds until the next Begin.
type Result struct {
	// Err is the error that ended the epoch; nothing of it may be committed then. Until the
	// epoch is finished another one, of a node earlier in the plan, may take its place.
	Err *NodeError
	// Emitted is what the outputs send out once the epoch is committed, in
	// declaration order. Empty when the epoch failed.
	Emitted []Emission
	// Filtered are the outputs whose value would have gone out, but for being null or not meeting
	// their condition. Empty when the epoch failed.
	Filtered []int
	// DeadNodes are the nodes that failed with on_error dead_letter. Empty when the
	// epoch failed: then the events of its cut become dead letters as a whole (M21).
	DeadNodes []int
	// Overran are the nodes that took longer than their budget, in plan order.
	Overran []int
	// Overlong says that the epoch took longer than its budget.
	Overlong bool
	// Lifted is how many nodes ran in spite of that, for they had been left out often enough.
	Lifted int

	plan  *Plan
	state *State
	stamp uint64
	// env.Values are the inputs, then the node values (committed ones until a node
	// ticks, then the staged), then `vars` and `key`, then what conditions of outputs have beside, then
	// the values of nodes that others read as of the last kept epoch.
	env    expression.Env
	values []boundary.Value // env.Values from the first node on
	sets   bitset.Set       // backs news, due, out, ticked and stepped, which begin every epoch empty
	news   bitset.Set       // inputs with a value that no committed epoch has seen
	due    bitset.Set       // nodes still to run
	// out are the nodes that Ready has given out and nobody has settled yet. blocked are those
	// that rest on nodes that are due or out; it is stale after a Settle.
	out, blocked bitset.Set
	outCount     int
	stale        bool
	limit        int // where in the plan the epoch ended, when Err is set
	ticked       bitset.Set
	// stepped are the nodes whose memories went on and are not settled yet; empty in a plan
	// without memories.
	stepped bitset.Set
	fresh   *bitset.Set // nodes whose first run this is; nil for none
	all     bitset.Set  // backs fresh when it is every node

	status   []Status
	nanos    []int64
	rounds   []round // by loop; nil in a plan without
	looper   *looper
	failures []*NodeError
	running  int // the node being evaluated inline, -1 between nodes
	room     int // bytes that the values of nodes may still have
	now      int64
	began    int64

	// What begin took over from the epoch.
	interrupt func() error
	clock     func() int64
	foreign   func(node int)
	answer    func(node int, r *kind.Request) (*kind.Answer, bool)
	aside     bool
	emitAll   bool
	free      bool

	hands Hands
	runs  []*Run // by node; those of pools, which are used again
	looks []look // that nodes beside pools have looked up
	// waited is in how many epochs in a row a node was left out, or a loop under its first; nil in a plan that leaves
	// none out. late are those that this epoch had no time for.
	waited []int
	late   bitset.Set
	// left are nodes that were due, have not run and are due again; nil in a plan without budget and lanes.
	left  bitset.Set
	owed  *bitset.Set // nodes that were owed a run before the epoch; nil for none
	ticks uint64      // what the epoch has of the same name
	// over are the nodes that pools have no room for, of the waves that are counted.
	over, counted bitset.Set

	// wants are what nodes have asked for and there is no answer to; held are they, and all that rests on them.
	wants []Want
	held  bitset.Set
}

// Node is what node i did in the epoch.
func (r *Result) Node(i int) NodeResult {
	n := NodeResult{Status: r.status[i], Value: r.values[i], Nanos: r.nanos[i]}
	n.NoRoute = (n.Status == Ran || n.Status == CutOff) && n.Value.IsNull() && r.plan.nodes[i].Routes != nil
	n.Overran = len(r.Overran) > 0 && slices.Contains(r.Overran, i)
	if r.rounds != nil {
		if k := r.plan.steps[i].loop; k > 0 {
			n.Ended, n.Iterations = r.rounds[k-1].ended, r.rounds[k-1].iterations
		}
	}
	for _, e := range r.failures {
		if e.Node == i {
			n.Err = e
		}
	}
	return n
}

// Touch marks the cells that committing the epoch changes, by index into [Plan.Cells]. The stamp is one of them in
// every epoch.
func (r *Result) Touch(cells []bool) {
	if r.Err != nil {
		return
	}
	for w, word := range r.ticked {
		for ; word != 0; word &= word - 1 {
			cells[w<<6+bitset.First(word)] = true
		}
	}
	for i := range r.Emitted {
		if cell := r.plan.outputs[r.Emitted[i].Output].cell; cell >= 0 {
			cells[cell] = true
		}
	}
	if r.left != nil {
		r.touchOwed(cells)
	}
	if len(r.stepped) > 0 {
		for i := range r.stepped.All() {
			cells[r.plan.memoryCell(i)] = true
		}
	}
	cells[len(r.plan.cells)-1] = true
}

// begin makes the result ready for an epoch on st. It keeps nothing that e points to.
func (r *Result) begin(st *State, e *Epoch) {
	p := r.plan
	r.Err, r.Emitted, r.Filtered = nil, r.Emitted[:0], r.Filtered[:0]
	r.DeadNodes, r.failures, r.Overran, r.Lifted = r.DeadNodes[:0], r.failures[:0], r.Overran[:0], 0
	r.state, r.stamp, r.running, r.stale = st, e.Stamp, -1, true
	r.interrupt, r.clock, r.foreign = e.Interrupt, e.Clock, e.Foreign
	r.aside, r.emitAll, r.free, r.room = e.Aside, e.EmitAll, e.Unbounded, maxEpoch
	if r.answer = e.Answer; r.held != nil {
		clear(r.wants)
		clear(r.held)
		r.wants = r.wants[:0]
	}
	clear(r.sets)
	clear(r.status)
	if r.left != nil {
		clear(r.over)
		clear(r.counted)
		clear(r.late)
		clear(r.left)
	}
	if p.memories > 0 {
		p.giveMemories(st)
	}
	r.env.Now, r.env.Epoch, r.env.Cause, r.env.Looks = e.Now, e.Number, e.Cause, e.Looks
	r.env.Unbounded = e.Unbounded
	lay(r.env.Values, e.Inputs)
	lay(r.values, st.cells[:len(p.nodes)])
	r.env.Values[len(p.inputs)+len(p.nodes)+1] = keyValue(e)
	for k, i := range p.delayed {
		r.env.Values[p.late(k)] = st.cells[i]
	}

	r.outCount = 0
	for i, version := range e.Versions {
		if version > st.stamp {
			r.news.Set(i)
			r.due.Add(p.consumers[i])
		}
	}
	if r.fresh = st.fresh(); r.fresh == nil && st.stamp == 0 {
		r.fresh = &r.all
	}
	if r.fresh != nil {
		r.due.Add(*r.fresh)
	}
	if r.owed = st.owed(); r.owed != nil {
		r.due.Add(*r.owed)
	}
	if p.loops != nil {
		clear(r.rounds)
		r.gatherDue()
	}
	if p.rates != nil {
		r.tickLanes(e.Ticks)
	}
	if p.asks {
		r.due.Add(p.always)
		p.arrivals(st, e, r.env.Fresh)
	}
	if e.Clock != nil {
		clear(r.nanos)
		r.now = e.Clock()
		r.began = r.now
	}
}

// lay is copy. Of a few values, as most plans have, the call would cost more than they do.
func lay(to, from []boundary.Value) {
	switch len(from) {
	case 0:
	case 1:
		to[0] = from[0]
	case 2:
		to[0], to[1] = from[0], from[1]
	default:
		copy(to, from)
	}
}

// arrivals fills in what fresh() is of the inputs: that no committed epoch has seen the value.
// The rest of the list, the nodes, is cleared.
func (p *Plan) arrivals(st *State, e *Epoch, fresh []bool) {
	clear(fresh)
	for i := range p.inputs {
		fresh[i] = p.Arrived(st, e, i)
	}
}

// Arrived reports whether an epoch has of input i what no committed one has seen: what fresh() says of it. It is to be
// asked before the epoch is committed.
func (p *Plan) Arrived(st *State, e *Epoch, i int) bool {
	return e.Versions[i] > st.stamp && !e.Inputs[i].IsAbsent() && (e.Stands == nil || !e.Stands[i])
}

// fit makes room for a plan's nodes.
func (r *Result) fit(p *Plan) {
	n := len(p.nodes)
	*r = Result{
		plan:    p,
		env:     expression.Env{Values: make([]boundary.Value, p.late(len(p.delayed)))},
		blocked: bitset.New(n),
		all:     bitset.New(n),
		status:  make([]Status, n),
		nanos:   make([]int64, n),
	}
	r.values = r.env.Values[len(p.inputs) : len(p.inputs)+n]
	if p.loops != nil {
		r.rounds, r.looper = make([]round, len(p.loops)), &looper{}
	}
	if p.degrades {
		r.waited, r.late = make([]int, n), bitset.New(n)
	}
	if p.degrades || len(p.lanes) > 0 || p.rates != nil {
		r.left = bitset.New(n)
	}
	if len(p.lanes) > 0 {
		r.runs, r.over, r.counted = make([]*Run, n), bitset.New(n), bitset.New(len(p.waves))
	}
	if p.asks {
		r.env.Fresh = make([]bool, len(r.env.Values))
	}
	words := len(r.all)
	r.sets = make(bitset.Set, len(bitset.New(len(p.inputs)))+4*words)
	part := func(i int) bitset.Set { return r.sets[i*words : (i+1)*words] }
	r.due, r.out, r.ticked, r.news = part(0), part(1), part(2), r.sets[4*words:]
	if p.memories > 0 {
		r.stepped = part(3)
	}
	r.all.Fill(n)
	copy(r.env.Values[len(p.inputs)+n:], p.constants)
}

// keyValue is `key`: null where there is none.
func keyValue(e *Epoch) boundary.Value {
	if e.Key.IsAbsent() {
		return boundary.Null()
	}
	return e.Key
}

// Ticked reports whether node i ticked: its value is news to what rests on it.
func (r *Result) Ticked(i int) bool { return r.ticked.Has(i) }
