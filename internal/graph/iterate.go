package graph

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
)

// A loop runs as one: it is due when any of its nodes is, stands in the due set under the first of them, and is given
// out, evaluated and settled under that one (M18). It works on values of its own, so that nothing of an iteration is
// seen before the loop has ended; only what the last one came to is staged.

// loop is nodes that run until they agree: steps that lie side by side.
type loop struct {
	name     string
	first, n int
	most     int                 // iterations
	until    *expression.Program // nil: it ends when an iteration has changed nothing
	onNot    string              // what follows when it has not ended by then
	budget   int64               // nanoseconds; 0: as long as the epoch
	reads    []int               // by the plan's indexes: what its nodes read that is none of them
	needs    []int               // of these what until cannot be evaluated without
	counting bool                // until, or a node, reads iteration()
}

// What a loop's result can do that is not one.
const (
	commitLoop = "commit"
	failLoop   = "fail"
)

// Ended says why a loop has ended.
type Ended uint8

// Why a loop ends. The zero value is a node that is in no loop, or whose loop was not due.
const (
	NotLooped     Ended = iota
	Settled             // an iteration has changed nothing
	Until               // its condition holds
	MaxIterations       // it has not by then
	OutOfBudget         // nor within its time
	Broken              // a node failed, or the epoch was to end
	Unready             // what it is to agree on is absent: no iteration would change that, or none has
)

// String is the reason as records show it: "max_iterations".
func (e Ended) String() string {
	switch e {
	case Settled:
		return "settled"
	case Until:
		return "until"
	case MaxIterations:
		return "max_iterations"
	case OutOfBudget:
		return "budget"
	case Broken:
		return "broken"
	case Unready:
		return "skipped"
	default:
		return ""
	}
}

// round is how often a loop has run in the epoch, and why it ended.
type round struct {
	iterations int32
	ended      Ended
}

// looped is what a loop came to.
type looped struct {
	round
	values  []boundary.Value // of its nodes, as of the last iteration
	errs    []*NodeError     // of its nodes in that iteration, where one failed
	nanos   []int64          // that its nodes took, over all iterations
	fatal   *NodeError       // it ends the epoch
	stopped error            // the caller wants no more
}

// looper runs loops. It is used again.
type looper struct {
	looped
	env    expression.Env
	before []boundary.Value // the values as of the iteration before
	absent bool             // what until reads, in the last iteration
}

// longLoop is the iteration from which on it is told that a loop runs: one that ends sooner holds nobody up.
const longLoop = 256

// run goes through the iterations of a loop. Of r it reads what is final.
func (x *looper) run(r *Result, l *loop) {
	x.begin(r, l)
	x.turn(r, l)
	if x.iterations >= longLoop && r.foreign != nil {
		r.foreign(-1)
	}
}

// turn iterates until the loop has ended.
func (x *looper) turn(r *Result, l *loop) {
	began := r.timeOf(l.budget)
	for {
		if x.iterations++; x.iterations == longLoop && r.foreign != nil {
			r.foreign(l.first)
		}
		x.env.Iteration = int64(x.iterations)
		copy(x.before, x.values)
		if x.iterate(r, l); x.ended == Broken {
			return
		}
		switch done, why := x.through(r, l); {
		case x.ended == Broken:
			return
		case done:
			x.ended = why
			return
		case int(x.iterations) >= l.most:
			if x.ended = MaxIterations; x.absent {
				x.ended = Unready
			}
			return
		case l.budget > 0 && r.timeOf(l.budget)-began > l.budget:
			x.ended = OutOfBudget
			return
		}
	}
}

// begin lets no node of the loop have a value: what a loop comes to rests on what it reads, and not on where it ended
// the last time.
func (x *looper) begin(r *Result, l *loop) {
	p := r.plan
	if len(x.env.Values) != len(r.env.Values) {
		x.env.Values = make([]boundary.Value, len(r.env.Values))
	}
	for _, at := range l.reads {
		x.env.Values[at] = r.env.Values[at]
	}
	x.env.Looks = r.env.Looks
	inEpochOf(&x.env, &r.env)
	first := len(p.inputs) + l.first
	x.looped = looped{values: x.env.Values[first : first+l.n], errs: cleared(x.errs, l.n), nanos: cleared(x.nanos, l.n)}
	clear(x.values)
	x.absent = false
	x.before = cleared(x.before, l.n)
}

// cleared is n zero values, where there is room for them.
func cleared[T any](room []T, n int) []T {
	if cap(room) < n {
		return make([]T, n)
	}
	room = room[:n]
	clear(room)
	return room
}

// iterate runs each node once.
func (x *looper) iterate(r *Result, l *loop) {
	room := maxEpoch
	for k := range x.values {
		if (k > 0 || x.iterations > 1) && r.interrupt != nil {
			if x.stopped = r.interrupt(); x.stopped != nil {
				x.ended = Broken
				return
			}
		}
		v, err := x.node(r, l.first+k)
		if err == nil && v.Bulky() {
			if large := roomFor(v, &room); large != nil {
				v, err = boundary.Value{}, errorOf(l.first+k, r.plan.nodes[l.first+k].Name, large)
			}
		}
		x.values[k], x.errs[k] = v, err
		if err != nil && (err.ends || r.plan.steps[l.first+k].onError == failEpoch) {
			x.fatal, x.ended = err, Broken
			return
		}
	}
}

// node evaluates one node; absent is that it had nothing to compute.
func (x *looper) node(r *Result, i int) (v boundary.Value, failed *NodeError) {
	p := r.plan
	s := &p.steps[i]
	if s.gates.n > 0 && !p.open(x.env.Values[len(p.inputs):], s) {
		return v, nil
	}
	var began int64
	if r.clock != nil {
		began = r.clock()
	}
	defer func() {
		if p := recover(); p != nil {
			v, failed = boundary.Value{}, panicOf(i, r.plan.nodes[i].Name, p)
			x.renew()
		}
		if r.clock != nil {
			x.nanos[i-r.plan.loops[s.loop-1].first] += r.clock() - began
		}
	}()
	v, err := r.evaluate(&x.env, i)
	switch {
	case err == nil:
		return v, nil
	case errors.Is(err, expression.ErrAbsent):
		return boundary.Value{}, nil
	}
	return boundary.Value{}, p.errorOf(i, err)
}

// renew gives the loop an environment that no evaluation has broken off in.
func (x *looper) renew() {
	old := x.env
	x.env = expression.Env{Values: old.Values, Looks: old.Looks, Iteration: old.Iteration}
	inEpochOf(&x.env, &old)
}

// through says whether the loop has ended by what the iteration came to.
func (x *looper) through(r *Result, l *loop) (done bool, why Ended) {
	if l.until == nil {
		return unchanged(x.before, x.values), Settled
	}
	defer func() {
		if v := recover(); v != nil {
			x.breakOff(r, l, panicOf(0, "", v))
		}
	}()
	holds, err := l.until.EvalBool(&x.env)
	x.absent = errors.Is(err, expression.ErrAbsent)
	switch {
	case err == nil:
		return holds, Until
	case !x.absent:
		x.breakOff(r, l, errorOf(0, "", err))
		return false, Until
	}
	return x.staysAbsent(l), Unready
}

// staysAbsent says that what the condition of a loop has found absent is so in all iterations to come: they are like
// this one, or it lacks what is none of the loop's nodes.
func (x *looper) staysAbsent(l *loop) bool {
	return !l.counting && unchanged(x.before, x.values) ||
		slices.ContainsFunc(l.needs, func(at int) bool { return x.env.Values[at].IsAbsent() })
}

// need notes what the condition of the loop cannot be evaluated without, whatever the loop's nodes come to.
func (l *loop) need(p *Plan) {
	if l.until.Branches() {
		return
	}
	for _, read := range l.until.Reads() {
		if k := read.Name - len(p.inputs) - l.first; read.Plain && (k < 0 || k >= l.n) {
			l.needs = append(l.needs, read.Name)
		}
	}
}

// breakOff ends the epoch by the loop's condition, which is told of its last node.
func (x *looper) breakOff(r *Result, l *loop, err *NodeError) {
	err.Node = l.first + l.n - 1
	err.Name = r.plan.nodes[err.Node].Name
	err.Text = "until of the loop " + l.name + ": " + err.Text
	x.fatal, x.ended = err, Broken
}

// unchanged says that no value has changed.
func unchanged(a, b []boundary.Value) bool {
	for i := range a {
		if a[i].IsAbsent() != b[i].IsAbsent() || !a[i].IsAbsent() && !boundary.Equal(a[i], b[i]) {
			return false
		}
	}
	return true
}

// loopAt is the loop whose first node is i; nil when there is none.
func (p *Plan) loopAt(i int) *loop {
	if k := p.steps[i].loop; k > 0 {
		return &p.loops[k-1]
	}
	return nil
}

// gatherDue lets a loop of which any node is due stand under its first.
func (r *Result) gatherDue() {
	for k := range r.plan.loops {
		l, due := &r.plan.loops[k], false
		for i := l.first; i < l.first+l.n; i++ {
			due = due || r.due.Has(i)
			r.due.Clear(i)
		}
		if due {
			r.due.Set(l.first)
		}
	}
}

// runLoop evaluates and settles a loop that is due.
func (p *Plan) runLoop(r *Result, l *loop) {
	if r.interrupt != nil && r.interrupted(l.first) {
		return
	}
	if len(r.wants) > 0 && r.held.Has(l.first) {
		return
	}
	r.looper.run(r, l)
	r.settleLoop(l, &r.looper.looped)
	if r.clock != nil {
		r.now = r.clock()
	}
}

// settleLoop takes in what a loop came to.
func (r *Result) settleLoop(l *loop, o *looped) {
	p := r.plan
	r.rounds[p.steps[l.first].loop-1] = o.round
	copy(r.nanos[l.first:], o.nanos)
	switch {
	case o.stopped != nil:
		r.stop(l.first, nil, o.stopped)
		return
	case o.fatal != nil:
		r.failures = append(r.failures, o.fatal)
		r.status[o.fatal.Node] = Failed
		r.stop(o.fatal.Node, o.fatal, nil)
		return
	case o.given() && l.onNot == failLoop:
		err := l.notConverged(p, l.first, o)
		r.failures = append(r.failures, err)
		r.status[l.first] = Failed
		r.stop(l.first, err, nil)
		return
	}
	for k, v := range o.values {
		i := l.first + k
		err := o.errs[k]
		switch {
		case o.given() && l.onNot != commitLoop:
			p.keep(r, i, l.notConverged(p, i, o))
			continue
		case o.ended == Unready: // as a node that reads what is absent
			v = boundary.Value{}
		}
		if err == nil && v.Bulky() {
			err = r.tooLarge(i, v)
		}
		if err != nil {
			if p.fail(r, i, err); r.Err != nil && r.limit <= i { // one behind it may have ended the epoch before
				return
			}
			continue
		}
		p.stage(r, i, v)
	}
}

// keep lets a node have the value of the last kept epoch, for its loop has come to none.
func (p *Plan) keep(r *Result, i int, err *NodeError) {
	r.failures = append(r.failures, err)
	if r.first(i) {
		p.tick(r, i, r.values[i])
	}
	r.status[i] = Failed
}

// given says that the loop was given up.
func (o *round) given() bool { return o.ended == MaxIterations || o.ended == OutOfBudget }

func (l *loop) notConverged(p *Plan, i int, o *looped) *NodeError {
	text := fmt.Sprintf("the loop %s has not ended after %d iterations", l.name, o.iterations)
	if o.ended == OutOfBudget {
		text += fmt.Sprintf(", which took longer than its budget of %s", time.Duration(l.budget))
	}
	return &NodeError{Node: i, Name: p.nodes[i].Name, Code: CodeNoConvergence, Text: text}
}
