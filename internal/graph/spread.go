package graph

import (
	"errors"
	"fmt"
	"time"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/kind"
)

// Hands are the workers of a plan's pools. They are for the owner of the epochs alone, one of which is open at a time.
type Hands interface {
	// Give has a run evaluated as soon as a worker of its pool is free. It does not block.
	Give(run *Run)
	// Take waits until one of the runs that were given has ended. It waits no longer when interrupt says so, which it
	// asks when the time of the epoch may be up, of which so much is spent; nil is never.
	Take(spent time.Duration, interrupt func() error) (*Run, error)
	// Drop gives up the runs that were given and not taken: what they still come to is dropped.
	Drop()
	// Away is how many runs of a node that were given up have not come back.
	Away(node int) int
}

// Run is one evaluation of a node by a worker. It has copies of all that the node reads: one that is given up may go on
// while the owner of the epoch is in another.
type Run struct {
	node, lane int
	name       string
	program    kind.Evaluator
	env        expression.Env
	values     []boundary.Value // env.Values
	fresh      []bool           // env.Fresh
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
			w.out = Outcome{Err: panicOf(w.node, w.name, v)}
		}
		if w.clock == nil {
			return
		}
		took := w.clock() - began
		if w.budget > 0 && took > w.budget && w.out.Err == nil {
			w.out = Outcome{Err: &NodeError{Node: w.node, Name: w.name, Code: CodeOverBudget,
				Text: overBudget(took, w.budget)}}
		}
		w.out.Nanos = took
	}()
	v, err := w.program.Eval(&w.env)
	switch {
	case err == nil:
		w.out = Outcome{Value: v}
	case errors.Is(err, expression.ErrAbsent):
		w.out = Outcome{}
	default:
		w.out = Outcome{Err: errorOf(w.node, w.name, err)}
	}
}

// run readies the run of a node.
func (r *Result) run(i int) *Run {
	w := r.runs[i]
	if w == nil {
		s := &r.plan.steps[i]
		w = &Run{node: i, lane: int(s.lane) - 1, name: r.plan.nodes[i].Name, program: s.program,
			values: make([]boundary.Value, len(r.env.Values)), fresh: make([]bool, len(r.env.Fresh))}
		r.runs[i] = w
	}
	copy(w.values, r.env.Values)
	w.env.Values, w.env.Now, w.env.Epoch, w.env.Cause = w.values, r.env.Now, r.env.Epoch, r.env.Cause
	if w.env.Fresh = nil; r.env.Fresh != nil {
		copy(w.fresh, r.env.Fresh)
		w.env.Fresh = w.fresh
	}
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
		case i < 0 || p.steps[i].wave > 0 && !r.settled(&p.waves[p.steps[i].wave-1]):
			r.takeIn()
		case p.steps[i].lane > 0:
			r.give(i)
			moved = true
		default:
			p.runAlone(r, i)
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
	if err == nil {
		clear(w.values)
		r.Settle(w.node, w.out)
		return
	}
	r.hands.Drop()
	first := r.out.Least()
	for i := range r.out.All() {
		r.runs[i] = nil // it is the worker's
	}
	if errors.Is(err, ErrEpochTimeout) && (r.Err == nil || first < r.limit) {
		r.blame(first, fmt.Sprintf("it had not come back when the time of the epoch was up, and what it still comes "+
			"to is dropped: %v", err))
	}
	r.Cancel(err)
}
