package graph

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
)

// Hands are the workers of a plan's pools. They are for the owner of the epochs alone, one of which is open at a time.
type Hands interface {
	// Give has a run evaluated as soon as a worker of its pool is free. It does not block.
	Give(run *Run)
	// Take waits until one of the runs that were given has ended. It waits no longer when interrupt says so, which it
	// asks when the time of the epoch may be up, of which so much is spent; nil is never.
	Take(spent time.Duration, interrupt func() error) (*Run, error)
	// Drop gives up the runs that were given and not taken: what they still come to is dropped. It answers which node
	// of them has been at work for longest, -1 where none is.
	Drop() (node int)
	// Away is how many runs of a node that were given up have not come back.
	Away(node int) int
}

// Run is one evaluation of a node by a worker. It reads the values of its epoch, of which all that the node reads is
// final. They are its own when it is given up: it may go on while the owner of the epoch is in another.
type Run struct {
	plan       *Plan
	node, lane int
	env        expression.Env
	clock      func() int64
	budget     int64 // with on_overrun: degrade; 0 for none

	out Outcome
}

// Node is the node that is evaluated, by its place in the plan, and Lane the pool that evaluates it.
func (w *Run) Node() int { return w.node }

// Lane is the pool that evaluates the node, by its place in [Plan.Lanes].
func (w *Run) Lane() int { return w.lane }

// Do evaluates the node. It is for one goroutine, between Give and Take.
func (w *Run) Do() {
	var began int64
	if w.clock != nil {
		began = w.clock()
	}
	defer func() {
		if v := recover(); v != nil {
			w.env = expression.Env{} // it is not trusted any more
			w.out = Outcome{Err: panicOf(w.node, w.plan.nodes[w.node].Name, v)}
		}
		if w.clock == nil {
			return
		}
		took := w.clock() - began
		if w.budget > 0 && took > w.budget && w.out.Err == nil {
			w.out = Outcome{Err: &NodeError{Node: w.node, Name: w.plan.nodes[w.node].Name, Code: CodeOverBudget,
				Text: overBudget(took, w.budget)}}
		}
		w.out.Nanos = took
	}()
	v, err := w.plan.steps[w.node].program.Eval(&w.env)
	switch {
	case err == nil:
		w.out = Outcome{Value: v}
	case errors.Is(err, expression.ErrAbsent):
		w.out = Outcome{}
	default:
		w.out = Outcome{Err: w.plan.errorOf(w.node, err)}
	}
}

// run readies the run of a node.
func (r *Result) run(i int) *Run {
	w := r.runs[i]
	if w == nil {
		w = &Run{plan: r.plan, node: i, lane: int(r.plan.steps[i].lane) - 1}
		r.runs[i] = w
	}
	w.env.Values = r.env.Values
	inEpochOf(&w.env, &r.env)
	w.clock, w.budget = r.clock, 0
	if r.plan.steps[i].degrade && !r.free {
		w.budget = r.plan.budgets[i].nanos
	}
	return w
}

// spread drives an epoch whose pools have workers: what is not of a pool runs inline meanwhile, and what has come back
// is taken in when there is nothing else to do.
func (p *Plan) spread(r *Result) {
	moved := false // something was settled since it was found what waits
	for {
		i := r.nextReady()
		switch {
		case i < 0 && r.outCount == 0:
			return
		case i < 0 && moved:
			moved, r.stale = false, true
		case i < 0:
			r.takeIn()
		case p.steps[i].wave > 0 && !r.settled(&p.waves[p.steps[i].wave-1]):
			r.blocked.Set(i) // until something is taken in; what is behind it does not wait for that
		case p.steps[i].lane > 0:
			r.give(i)
			moved = true
		default:
			p.runAlone(r, i)
			r.gather(i)
			moved = true
		}
	}
}

// runAlone runs a node that is ready, or the loop that is ready there, inline.
func (p *Plan) runAlone(r *Result, i int) {
	done := false
	defer p.recovered(r, &done)
	r.due.Clear(i)
	p.runAt(r, i)
}

// give hands a node that is ready to its pool, unless that has nothing to do with it.
func (r *Result) give(i int) {
	p := r.plan
	s := &p.steps[i]
	r.due.Clear(i)
	switch {
	case r.interrupt != nil && r.interrupted(i), len(r.wants) > 0 && r.held.Has(i):
	case s.gates.n > 0 && !r.open(s):
		p.stage(r, i, boundary.Value{})
	case s.wave > 0 && r.overflows(i):
		p.fail(r, i, r.noRoom(i))
	case r.hands.Away(i) >= p.lanes[s.lane-1].Reentrant:
		p.fail(r, i, &NodeError{Node: i, Name: p.nodes[i].Name, Code: CodeStuckNode, Text: "it has not come back " +
			"from an epoch whose time was up, and cannot run again before it has"})
	default:
		r.out.Set(i)
		r.outCount++
		r.hands.Give(r.run(i))
	}
}

// takeIn waits for a node that is out, and settles it. When the time of the epoch is up those that are out are given
// up.
func (r *Result) takeIn() {
	spent := time.Duration(0)
	if r.clock != nil {
		spent = time.Duration(r.clock() - r.began)
	}
	w, err := r.hands.Take(spent, r.interrupt)
	if r.clock != nil {
		r.now = r.clock()
	}
	if err != nil {
		r.giveUp(err)
		return
	}
	o := w.out
	w.out, w.env.Values, w.env.Fresh = Outcome{}, nil, nil // what waits to be used again holds nothing
	r.Settle(w.node, o)
}

// giveUp ends the epoch without those that are out, for its time is up. That is told of the node that has been at work
// for longest, whichever of them the plan has first: others may have waited for its thread, or for one another.
func (r *Result) giveUp(err error) {
	by, first := r.hands.Drop(), r.out.Least()
	if by < 0 {
		by = first
	}
	for i := range r.out.All() {
		r.runs[i] = nil // it is the worker's, and so are the values
	}
	r.env.Values, r.env.Fresh = slices.Clone(r.env.Values), slices.Clone(r.env.Fresh)
	r.values = r.env.Values[len(r.plan.inputs):][:len(r.plan.nodes)]
	if r.Err != nil && slices.ContainsFunc(r.wants, func(w Want) bool { return w.Node < r.limit }) {
		r.Err = nil // it would have been run again with an answer, and has no time for that
	}
	if errors.Is(err, ErrEpochTimeout) && (r.Err == nil || first < r.limit) {
		r.blame(by, first, fmt.Sprintf("it had not come back when the time of the epoch was up, and what it still "+
			"comes to is dropped: %v", err))
	}
	r.Cancel(err)
}

// look is a row that a node has looked up.
type look struct {
	node int
	expression.Look
}

// gather keeps what node i has looked up apart from what others have.
func (r *Result) gather(i int) {
	if l := r.env.Looks; l != nil {
		for k := range l.List {
			r.looks = append(r.looks, look{i, l.List[k]})
		}
		clear(l.List)
		l.List = l.List[:0]
	}
}

// arrange notes what was looked up as if the nodes had run one after the other: what was first then has room.
func (r *Result) arrange() {
	if r.env.Looks == nil {
		return
	}
	r.gather(len(r.plan.nodes)) // by the conditions of outputs
	slices.SortStableFunc(r.looks, func(a, b look) int { return a.node - b.node })
	for i := range r.looks {
		if l := &r.looks[i]; r.Err == nil || l.node <= r.limit {
			r.env.Looks.Note(l.Look)
		}
	}
	clear(r.looks)
	r.looks = r.looks[:0]
}
