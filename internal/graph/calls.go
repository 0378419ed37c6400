package graph

import (
	"errors"
	"slices"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/graph/internal/bitset"
	"github.com/graphd/graphd/internal/kind"
)

// A node that calls out is computed from an answer. Where there is none yet the node is held, and all that rests on
// it, and the others go on, so that the epoch asks for all it can at once. Then it has failed, with no other trace
// than its wants, and is to be run again when there are answers (0285).

// Want is what a node asks for.
type Want struct {
	Node    int
	Request kind.Request
}

// errNoAnswer says that a node has asked for what is not there yet.
var errNoAnswer = errors.New("there is no answer yet")

// Wants are what the epoch has asked for and there is no answer to. When there are some it has not failed, and is to
// be run again. They hold until the next Begin.
func (r *Result) Wants() []Want { return r.wants }

// Caller is a node that calls out, by its place in the plan.
type Caller struct {
	Node int
	Name string
	kind.Caller
}

// Callers are the nodes that call out.
func (p *Plan) Callers() (list []Caller) {
	for i := range p.steps {
		if p.steps[i].calls {
			list = append(list, Caller{i, p.nodes[i].Name, p.steps[i].program.(kind.Caller)})
		}
	}
	return list
}

// Calls reports whether some node calls out.
func (p *Plan) Calls() bool { return p.calls }

// valueOf is what the program of a step comes to, or an answer to what it asks for.
func (r *Result) valueOf(env *expression.Env, i int) (boundary.Value, error) {
	s := &r.plan.steps[i]
	if !s.calls {
		return s.program.Eval(env)
	}
	caller := s.program.(kind.Caller)
	request, err := caller.Request(env)
	if err != nil {
		return boundary.Value{}, err
	}
	if r.answer != nil {
		if a, ok := r.answer(i, &request); ok {
			return caller.Answered(a)
		}
	}
	r.hold(i)
	r.wants = append(r.wants, Want{i, request})
	return boundary.Value{}, errNoAnswer
}

// heed leaves of what the epoch has asked for what it is to be run again for: nothing of nodes behind the one that has
// ended it, which were asked only because that one was out, and nothing at all when its time is up.
func (r *Result) heed() {
	slices.SortFunc(r.wants, func(a, b Want) int { return a.Node - b.Node })
	if r.Err != nil {
		r.wants = slices.DeleteFunc(r.wants, func(w Want) bool {
			return w.Node >= r.limit || r.Err.Code == CodeEpochTimeout
		})
	}
}

// hold has node i wait, and all that rests on it.
func (r *Result) hold(i int) {
	if r.held == nil {
		r.held = bitset.New(len(r.plan.steps))
	}
	r.held.Set(i)
	for k := i; k < len(r.plan.steps); k++ {
		if l := r.plan.loopAt(k); l != nil && l.first == k {
			r.holdLoop(l)
		}
		if !r.held.Has(k) {
			continue
		}
		s := &r.plan.steps[k]
		for _, c := range r.plan.links[s.firstLink:s.lastLink] {
			r.held.Set(int(c))
		}
	}
}

// holdLoop has a loop wait as a whole, of which any node rests on what waits.
func (r *Result) holdLoop(l *loop) {
	any := false
	for i := l.first; i < l.first+l.n; i++ {
		any = any || r.held.Has(i)
	}
	for i := l.first; any && i < l.first+l.n; i++ {
		r.held.Set(i)
	}
}
