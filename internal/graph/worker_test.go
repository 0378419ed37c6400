package graph

import (
	"errors"

	"github.com/graphd/graphd/internal/expression"
)

// Tests drive epochs themselves: in any order, and on as many goroutines as they like.

// Ready gives the next node to evaluate: the first in plan order of those that are due and
// for which all they rest on is final (M14, M15). ok is false when there is none for now:
// then the epoch is through, unless nodes that were given out have yet to be settled.
func (r *Result) Ready() (node int, ok bool) {
	for {
		i := r.nextReady()
		if i < 0 {
			return 0, false
		}
		if r.plan.rates != nil && r.waits(i) {
			r.due.Clear(i)
			r.stale = true
			continue
		}
		if r.interrupt != nil && r.interrupted(i) {
			continue
		}
		r.due.Clear(i)
		r.out.Set(i)
		r.outCount++
		return i, true
	}
}

// worker evaluates nodes of an open epoch, on a goroutine of its own if need be: each
// goroutine has its own worker and may keep it from epoch to epoch. A node is evaluated
// once, between the Ready that gave it out and its Settle; the worker reads then only what
// is final, and of the node only what it remembers itself.
type worker struct{ env expression.Env }

// Evaluate computes a node that Ready gave out, or the loop that it is the first of.
func (w *worker) Evaluate(r *Result, node int) (o Outcome) {
	if l := r.plan.loopAt(node); l != nil {
		x := &looper{}
		x.run(r, l)
		return Outcome{loop: &x.looped}
	}
	s := &r.plan.steps[node]
	if s.gates.n > 0 && !r.open(s) {
		return o
	}
	var began int64
	if r.clock != nil {
		began = r.clock()
	}
	w.env.Values = r.env.Values
	inEpochOf(&w.env, &r.env)
	defer func() {
		if v := recover(); v != nil {
			w.env = expression.Env{} // it is not trusted any more
			r.plan.forgetStep(r.state, node)
			o = Outcome{Err: panicOf(node, r.plan.nodes[node].Name, v)}
		}
		if r.clock != nil {
			o.Nanos = r.clock() - began
		}
	}()
	v, err := r.evaluate(&w.env, node)
	o = Outcome{Value: v, stepped: s.memories.n > 0}
	if err != nil {
		o = Outcome{}
		if !errors.Is(err, expression.ErrAbsent) {
			o.Err = r.plan.errorOf(node, err)
		}
	}
	return o
}
