package graph

import (
	"errors"
	"slices"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
)

// guard is the reactor's guard over a scope of its own: just the names it reads.
type guard struct {
	names   []int // by the guard's scope: the plan's index
	program *expression.Program
	needs   []int // the inputs it reads plainly, ascending
}

// Asking is what a guard is evaluated in, used again and again by the one owner that it has. The zero Asking is ready.
type Asking struct{ env expression.Env }

// Saw is the value of the i-th of [Plan.GuardReads], as it was when the guard was asked last.
func (a *Asking) Saw(i int) boundary.Value { return a.env.Values[i] }

// GuardHolds says whether the guard lets the epoch e start (M8), from the inputs
// of the cut and the nodes' values as of the last committed epoch. waiting says
// that it plainly reads an input that has not arrived, and then it does not hold; a
// node without a value just makes it false, for only another epoch could give it
// one. Without a guard it holds. Safe for concurrent use with distinct a.
func (p *Plan) GuardHolds(st *State, e *Epoch, a *Asking) (ok, waiting bool, err *NodeError) {
	if p.guard == nil {
		return true, false, nil
	}
	defer func() {
		if v := recover(); v != nil {
			ok, waiting, err = false, false, panicOf(-1, "guard", v)
			a.env = expression.Env{} // it is not trusted any more
		}
	}()
	env := &a.env
	if len(env.Values) != len(p.guard.names) {
		env.Values, env.Fresh = make([]boundary.Value, len(p.guard.names)), make([]bool, len(p.guard.names))
	}
	env.Now, env.Epoch, env.Cause = e.Now, e.Number, e.Cause
	for k, name := range p.guard.names {
		env.Values[k] = p.look(st, e, name)
		env.Fresh[k] = name < len(p.inputs) && p.Arrived(st, e, name)
	}
	holds, failed := p.guard.program.EvalBool(env)
	switch {
	case failed == nil:
		return holds, false, nil
	case errors.Is(failed, expression.ErrAbsent):
		return false, p.guard.waits(e), nil
	default:
		return false, false, errorOf(-1, "guard", failed)
	}
}

// look is the value that a name has before the epoch e runs.
func (p *Plan) look(st *State, e *Epoch, name int) boundary.Value {
	node := name - len(p.inputs)
	switch {
	case node < 0:
		return e.Inputs[name]
	case node < len(p.nodes):
		return st.cells[node]
	case node == len(p.nodes):
		return p.constants[0]
	default:
		return keyValue(e)
	}
}

// GuardNeeds lists the inputs that the guard reads plainly, ascending: while one
// of them has not arrived the guard waits.
func (p *Plan) GuardNeeds() []int {
	if p.guard == nil {
		return nil
	}
	return slices.Clone(p.guard.needs)
}

// waits says whether an input that the guard plainly reads is absent.
func (g *guard) waits(e *Epoch) bool {
	return slices.ContainsFunc(g.needs, func(i int) bool { return e.Inputs[i].IsAbsent() })
}
