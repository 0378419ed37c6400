package graph

import (
	"errors"
	"fmt"
	"math/bits"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
)

// evaluator computes a value from an environment: *[expression.Program].
type evaluator interface {
	Eval(env *expression.Env) (boundary.Value, error)
}

// step is the executable form of a node. Steps lie side by side in plan order and
// are kept small: an epoch walks over them.
type step struct {
	program evaluator // of a route node: *[choice]
	// consumers are the nodes that rest on this one, all of them later in the plan:
	// this part of Plan.links.
	firstLink, lastLink int32
	after               int32 // the node that must have a value; -1 for none
	route               int32 // which of Plan.routes that must be; -1 for any
	event               bool
	onError             policy
	// memories are the place in a state of what the node's functions remember; see memory.go.
	memories place
}

// choice is what a route node evaluates: its value is the name of the first route
// whose condition holds, null when none does.
type choice struct {
	names      []string
	values     []boundary.Value // the names
	conditions []*expression.Program
	memories   []place // by condition, within the node's; nil when none remembers anything
}

// Eval implements evaluator.
func (c *choice) Eval(env *expression.Env) (boundary.Value, error) {
	all := env.Memories
	for i, condition := range c.conditions {
		if c.memories != nil {
			env.Memories = c.memories[i].of(all)
		}
		holds, err := condition.EvalBool(env)
		if err != nil {
			return boundary.Value{}, fmt.Errorf("route %s: %w", c.names[i], err)
		}
		if holds {
			return c.values[i], nil
		}
	}
	return boundary.Null(), nil
}

// policy is a node's on_error.
type policy uint8

const (
	failEpoch policy = iota
	skip
	lastGood
	deadLetter
)

func policyOf(onError string) policy {
	switch onError {
	case "skip":
		return skip
	case "last_good":
		return lastGood
	case "dead_letter":
		return deadLetter
	default:
		return failEpoch
	}
}

// Run runs one epoch on st and stages in r what it comes to: look at r.Err first.
// It does not write st. Nodes run in plan order, each at most once, after all
// they rest on is final (M15); nodes that nothing reaches cost nothing.
func (p *Plan) Run(st *State, e *Epoch, r *Result) {
	r.begin(p, st, e)
	done := false
	for !done {
		done = p.advance(e, r)
	}
	if r.Err != nil {
		r.DeadNodes = r.DeadNodes[:0]
		r.settle(false)
		return
	}
	p.emit(st, e, r)
	if e.Aside {
		r.settle(false)
	}
}

// Commit makes what r staged the current state; st must be the state it ran on.
// A failed epoch commits nothing. It does nothing else: no I/O, no error.
func (p *Plan) Commit(st *State, r *Result) {
	if r.Err != nil {
		return
	}
	if r.state != st {
		panic("graph: commit of an epoch that ran on another state")
	}
	for w, word := range r.ticked {
		for ; word != 0; word &= word - 1 {
			i := w<<6 + bits.TrailingZeros64(word)
			st.cells[i] = r.values[i]
		}
	}
	for _, e := range r.Emitted {
		if cell := p.outputs[e.Output].cell; cell >= 0 {
			st.cells[cell] = e.Value
		}
	}
	r.settle(true)
	st.stamp, st.fresh = r.stamp, nil
}

// advance runs the due nodes, and says whether the epoch is through. After a
// panic it has settled that node and is to be called again: one deferred call
// then serves the whole epoch and not each node.
func (p *Plan) advance(e *Epoch, r *Result) (done bool) {
	defer p.recovered(e, r, &done)
	if e.FullRecompute {
		p.runAll(e, r)
		return true
	}
	for w := range r.due {
		for r.due[w] != 0 { // a node's consumers come later, maybe in this word
			i := w<<6 + bits.TrailingZeros64(r.due[w])
			r.due[w] &= r.due[w] - 1
			if p.runNode(e, r, i); r.Err != nil {
				return true
			}
		}
	}
	return true
}

// recovered makes a panic the error of the node that was running; any other is
// the caller's and goes on.
func (p *Plan) recovered(e *Epoch, r *Result, done *bool) {
	i := r.running
	if i < 0 {
		return
	}
	r.running = -1
	if v := recover(); v != nil {
		r.env = expression.Env{Values: r.env.Values, Now: r.env.Now, Epoch: r.env.Epoch}
		settle(p.memoriesOf(r.state, i), false)
		p.fail(r, i, panicOf(i, p.nodes[i].Name, v))
		if e.Clock != nil {
			r.clockOff(e, i)
		}
		*done = r.Err != nil
	}
}

// runNode runs one due node and passes on whether it ticked. A tick stages the
// value and makes those that rest on it due (M16): an equal value does not tick,
// but for event nodes; becoming absent does, being absent still does not. A first
// run always ticks, whatever it comes to: what others knew of the node, if
// anything, was of another plan.
func (p *Plan) runNode(e *Epoch, r *Result, i int) {
	s := &p.steps[i]
	if e.Interrupt != nil && p.interrupted(e, r, i) {
		return
	}
	var v boundary.Value
	if s.after < 0 || p.open(r, s) {
		var err error
		r.running = i
		if s.memories.n > 0 {
			v, err = r.remember(s, i)
		} else {
			v, err = s.program.Eval(&r.env)
		}
		r.running = -1
		if e.Clock != nil {
			r.clockOff(e, i)
		}
		if err != nil {
			if !errors.Is(err, expression.ErrAbsent) {
				p.fail(r, i, errorOf(i, p.nodes[i].Name, err))
				return
			}
			v = boundary.Value{}
		}
	}
	old := &r.values[i]
	switch {
	case v.IsAbsent():
		r.status[i] = Skipped
		if old.IsAbsent() && !r.first(i) {
			return
		}
	case !s.event && boundary.Equal(*old, v) && !r.first(i):
		r.status[i] = CutOff
		return
	default:
		r.status[i] = Ran
	}
	p.tick(r, i, v)
}

// interrupted asks the caller whether to go on to node i.
func (p *Plan) interrupted(e *Epoch, r *Result, i int) bool {
	err := e.Interrupt()
	if err != nil {
		r.Err = interruptOf(i, p.nodes[i].Name, err)
	}
	return err != nil
}

// clockOff notes how long node i took: since the node before it ended.
func (r *Result) clockOff(e *Epoch, i int) {
	now := e.Clock()
	r.nanos[i], r.now = now-r.now, now
}

// open says whether the node or route that s comes after lets it run.
func (p *Plan) open(r *Result, s *step) bool {
	v := r.values[s.after]
	if s.route < 0 {
		return !v.IsAbsent()
	}
	taken, _ := v.AsString()
	return taken == p.routes[s.route]
}

// tick stages node i's value and makes those that rest on it due.
func (p *Plan) tick(r *Result, i int, v boundary.Value) {
	r.values[i] = v
	r.ticked.set(i)
	s := &p.steps[i]
	for _, c := range p.links[s.firstLink:s.lastLink] {
		r.due.set(int(c))
	}
}

// first says whether this is node i's first run.
func (r *Result) first(i int) bool { return r.fresh != nil && r.fresh.has(i) }

// fail does with node i what its on_error says (M21).
func (p *Plan) fail(r *Result, i int, err *NodeError) {
	r.failures = append(r.failures, err)
	v := boundary.Value{}
	switch p.steps[i].onError {
	case failEpoch:
		r.status[i], r.Err = Failed, err
		return
	case lastGood:
		v = r.values[i]
	case deadLetter:
		r.DeadNodes = append(r.DeadNodes, i)
	}
	if old := r.values[i]; r.first(i) || v.IsAbsent() && !old.IsAbsent() {
		p.tick(r, i, v)
	}
	r.status[i] = Failed
}

// emit finds what the outputs send out: the values of what ticked in this epoch.
func (p *Plan) emit(st *State, e *Epoch, r *Result) {
	for k := range p.outputs {
		o := &p.outputs[k]
		var v boundary.Value
		switch {
		case o.Input >= 0 && e.Versions[o.Input] > st.stamp:
			v = e.Inputs[o.Input]
		case o.Node >= 0 && r.ticked.has(o.Node):
			v = r.values[o.Node]
		}
		if v.IsAbsent() || o.cell >= 0 && boundary.Equal(st.cells[o.cell], v) {
			continue
		}
		r.Emitted = append(r.Emitted, Emission{Output: k, Value: v})
	}
}

// runAll computes every node; one that is not due keeps its value and does not
// tick, whatever came out. The cost of recomputing everything, nothing else.
func (p *Plan) runAll(e *Epoch, r *Result) {
	for i := range p.steps {
		switch {
		case r.status[i] != Idle: // settled before a panic
		case r.due.has(i):
			r.due.clear(i)
			if p.runNode(e, r, i); r.Err != nil {
				return
			}
		default:
			discard(p.steps[i].program, &r.env, p.memoriesOf(r.state, i))
		}
	}
}

// discard evaluates for the cost alone; errors and panics are of no interest.
func discard(program evaluator, env *expression.Env, memories []expression.Memory) {
	defer func() {
		_ = recover()
		settle(memories, false)
	}()
	env.Memories = memories
	_, _ = program.Eval(env)
}
