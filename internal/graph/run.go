package graph

import (
	"errors"
	"math/bits"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/kind"
)

// Run is an epoch driven inline: from Begin to Finish, each node evaluated and settled as it
// becomes ready, in plan order (M14, M15). Nodes that nothing reaches cost nothing. With [Epoch.Hands] those of pools
// are evaluated by these, and it comes to the same (M23).
func (p *Plan) Run(st *State, e *Epoch, r *Result) {
	p.Begin(st, e, r)
	if e.Hands != nil && len(p.lanes) > 0 && !e.FullRecompute {
		r.hands = e.Hands
		p.spread(r)
		r.hands = nil
		r.Finish()
		r.arrange()
		return
	}
	done := false
	for !done {
		done = p.advance(e.FullRecompute, r)
	}
	r.Finish()
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
	if p.lasts > 0 {
		for _, e := range r.Emitted {
			if cell := p.outputs[e.Output].cell; cell >= 0 {
				st.cells[cell] = e.Value
			}
		}
	}
	if p.memories > 0 {
		r.conclude(true)
	}
	if st.stamp = r.stamp; (st.more != nil || r.left != nil) && !r.owesAsBefore(st) {
		r.owe(st)
	}
}

// advance runs the due nodes inline, and says whether the epoch is through: with none out,
// the first that is due is ready. After a panic it has settled that node and is to be called
// again: one deferred call then serves the whole epoch and not each node.
func (p *Plan) advance(all bool, r *Result) (done bool) {
	defer p.recovered(r, &done)
	switch {
	case all:
		p.runAll(r)
		return true
	case p.loops != nil || p.rates != nil:
		return p.advanceLoops(r)
	}
	for w := range r.due {
		for r.due[w] != 0 { // a node's consumers come later, maybe in this word
			i := w<<6 + bits.TrailingZeros64(r.due[w])
			r.due[w] &= r.due[w] - 1
			if p.runNode(r, i); r.Err != nil {
				return true
			}
		}
	}
	return true
}

// advanceLoops is advance in a plan that has loops, or lanes with a cadence.
func (p *Plan) advanceLoops(r *Result) (done bool) {
	for w := range r.due {
		for r.due[w] != 0 {
			i := w<<6 + bits.TrailingZeros64(r.due[w])
			r.due[w] &= r.due[w] - 1
			if p.runAt(r, i); r.Err != nil {
				return true
			}
		}
	}
	return true
}

// runAt evaluates and settles a due node, or the loop that is due there. One whose lane does not tick waits.
func (p *Plan) runAt(r *Result, i int) {
	if p.rates != nil && r.waits(i) {
		return
	}
	if l := p.loopAt(i); l != nil {
		p.runLoop(r, l)
		return
	}
	p.runNode(r, i)
}

// recovered makes a panic the error of the node that was running; any other is
// the caller's and goes on.
func (p *Plan) recovered(r *Result, done *bool) {
	i := r.running
	if i < 0 {
		return
	}
	r.running = -1
	if v := recover(); v != nil {
		r.renewEnv()
		p.forgetStep(r.state, i)
		p.fail(r, i, panicOf(i, p.nodes[i].Name, v))
		if r.clock != nil {
			r.clockOff(i)
		}
		*done = r.Err != nil
	}
}

// renewEnv gives the result an environment that no evaluation has broken off in.
func (r *Result) renewEnv() {
	old := r.env
	r.env = expression.Env{Values: old.Values, Looks: old.Looks}
	inEpochOf(&r.env, &old)
}

// inEpochOf has env be evaluated in the epoch that of is evaluated in. Which values it reads, and who is told what they
// are looked up for, is its own.
func inEpochOf(env, of *expression.Env) {
	env.Now, env.Epoch, env.Cause, env.Fresh, env.Unbounded = of.Now, of.Epoch, of.Cause, of.Fresh, of.Unbounded
}

// runNode evaluates and settles one due node.
func (p *Plan) runNode(r *Result, i int) {
	s := &p.steps[i]
	if r.interrupt != nil && r.interrupted(i) {
		return
	}
	if len(r.wants) > 0 && r.held.Has(i) {
		return
	}
	var v boundary.Value
	if s.gates.n == 0 || r.open(s) {
		var err error
		r.running = i
		if !s.apart {
			v, err = s.program.Eval(&r.env)
		} else {
			v, err = r.evaluate(&r.env, i)
		}
		r.running = -1
		if r.clock != nil {
			r.clockOff(i)
		}
		if err == nil && v.Bulky() {
			if large := r.tooLarge(i, v); large != nil {
				p.forgetStep(r.state, i)
				p.fail(r, i, large)
				return
			}
		}
		if err != nil {
			if errors.Is(err, errNoAnswer) {
				return
			}
			if !errors.Is(err, expression.ErrAbsent) {
				p.fail(r, i, p.errorOf(i, err))
				return
			}
			v = boundary.Value{}
		} else if s.memories.n > 0 {
			r.stepped.Set(i)
		}
	}
	// As in stage, written out here: the call would be a tenth of the cost of a node.
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

// evaluate computes what a step comes to. One that comes to no value takes no step in what
// it remembers.
func (r *Result) evaluate(env *expression.Env, i int) (boundary.Value, error) {
	switch s := &r.plan.steps[i]; {
	case s.wave > 0 && r.overflows(i):
		err := r.noRoom(i)
		return boundary.Value{}, &expression.EvalError{Code: err.Code, Text: err.Text}
	case s.degrade:
		return r.degrade(env, i)
	}
	return r.compute(env, i)
}

func (r *Result) compute(env *expression.Env, i int) (boundary.Value, error) {
	s := &r.plan.steps[i]
	if s.foreign && r.foreign != nil {
		r.foreign(i)
		defer r.foreign(-1)
	}
	if s.memories.n == 0 {
		return r.valueOf(env, i)
	}
	memories := s.memories.of(r.state.mind().memories)
	env.Memories = memories
	v, err := r.valueOf(env, i)
	if err != nil {
		conclude(memories, false)
	}
	return v, err
}

// stage takes in the value of a node that did not fail. A tick makes those that rest on it
// due (M16): an equal value does not tick, but for event nodes; becoming absent does, being
// absent still does not. A first run always ticks, whatever it comes to: what others knew of
// the node, if anything, was of another plan.
func (p *Plan) stage(r *Result, i int, v boundary.Value) {
	switch old := r.values[i]; {
	case v.IsAbsent():
		r.status[i] = Skipped
		if old.IsAbsent() && !r.first(i) {
			return
		}
	case !p.steps[i].event && boundary.Equal(old, v) && !r.first(i):
		r.status[i] = CutOff
		return
	default:
		r.status[i] = Ran
	}
	p.tick(r, i, v)
}

// clockOff notes how long node i took: since the node before it ended.
func (r *Result) clockOff(i int) {
	now := r.clock()
	r.nanos[i], r.now = now-r.now, now
}

// open says whether what s comes after lets it run: a gate is open when its node has a value
// that is not null, or has taken that route (M19).
func (r *Result) open(s *step) bool { return r.plan.open(r.values, s) }

func (p *Plan) open(values []boundary.Value, s *step) bool {
	for _, g := range p.gates[s.gates.first : s.gates.first+s.gates.n] {
		v := values[g.node]
		open := !v.IsAbsent() && !v.IsNull()
		if g.route != "" {
			taken, _ := v.AsString()
			open = taken == g.route
		}
		if open != s.allGates {
			return open
		}
	}
	return s.allGates
}

// tick stages node i's value and makes those that rest on it due.
func (p *Plan) tick(r *Result, i int, v boundary.Value) {
	r.values[i] = v
	r.ticked.Set(i)
	if r.env.Fresh != nil {
		r.env.Fresh[len(p.inputs)+i] = !v.IsAbsent()
	}
	s := &p.steps[i]
	for _, c := range p.links[s.firstLink:s.lastLink] {
		r.due.Set(int(c))
	}
}

// first says whether this is node i's first run.
func (r *Result) first(i int) bool { return r.fresh != nil && r.fresh.Has(i) }

// fail does with node i what its on_error says (M21).
func (p *Plan) fail(r *Result, i int, err *NodeError) {
	r.failures = append(r.failures, err)
	v := boundary.Value{}
	switch p.policyOf(i, err) {
	case failEpoch:
		r.status[i] = Failed
		r.stop(i, err, nil)
		return
	case lastGood:
		v = r.values[i]
	case deadLetter:
		r.DeadNodes = append(r.DeadNodes, i)
	}
	old := r.values[i]
	switch first := r.first(i); {
	case first && (err.Code == CodeLaneOverflow || err.Code == CodeStuckNode):
		r.left.Set(i) // its first run is still to come, and the others hear of it then
	case first || v.IsAbsent() && !old.IsAbsent():
		p.tick(r, i, v)
	}
	r.status[i] = Failed
}

// runAll computes every node; one that is not due keeps its value and does not
// tick, whatever came out. The cost of recomputing everything, nothing else.
func (p *Plan) runAll(r *Result) {
	for i := range p.steps {
		switch {
		case r.status[i] != Idle: // settled before a panic
		case r.due.Has(i):
			r.due.Clear(i)
			if p.runAt(r, i); r.Err != nil {
				return
			}
		case p.steps[i].loop > 0: // it is not due, or its first node has run it
		default:
			discard(p.steps[i].program, &r.env, p.memoriesOf(r.state, i))
		}
	}
}

// discard evaluates for the cost alone; errors and panics are of no interest.
func discard(program kind.Evaluator, env *expression.Env, memories []expression.Memory) {
	defer func() {
		_ = recover()
		conclude(memories, false)
	}()
	env.Memories = memories
	_, _ = program.Eval(env)
}
