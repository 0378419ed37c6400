package graph

import (
	"testing"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
)

// late has not come to a value in time, unless it has all the time it needs.
type late struct{}

// Eval implements [kind.Evaluator].
func (late) Eval(env *expression.Env) (boundary.Value, error) {
	if env.Unbounded {
		return boundary.Int(1), nil
	}
	return boundary.Value{}, &expression.EvalError{Code: "slow", Text: "it was slow", Timed: true}
}

// M29, M21: with a journal a node that has run out of time ends the epoch as one that has run out of its own, whatever
// on_error says: that is what the journal can say, and a replay come to. Without one on_error decides.
func TestTimedErrorsAndTheJournal(t *testing.T) {
	t.Parallel()
	const nodes, loop = "n", "loops: { l: { nodes: [n, m] } }\nnodes: { m: { expr: 'n ?? 0' }, n: { expr: 'm ?? a'"
	for _, doc := range []string{"lanes: { p: { pool: {} } }\nnodes: { n: { lane: p, expr: a", loop} {
		doc += ", on_error: skip } }\n"
		for mode, code := range map[string]string{"journal": CodeEpochTimeout, "checkpoint": ""} {
			h := start(t, "a*", doc+"durability: { mode: "+mode+" }\n")
			step := &h.plan.steps[h.nodes[nodes]]
			step.program, step.foreign, step.apart = late{}, true, true
			h.set("a", 1)
			var w worker
			for way, run := range map[string]func(){
				"inline": func() { h.plan.Run(h.st, &h.e, &h.r) },
				"with workers for its pool": func() {
					h.e.Hands = newCrew(1)
					h.plan.Run(h.st, &h.e, &h.r)
					h.e.Hands = nil
				},
				"by a worker": func() {
					h.plan.Begin(h.st, &h.e, &h.r)
					for node, ok := h.r.Ready(); ok; node, ok = h.r.Ready() {
						h.r.Settle(node, w.Evaluate(&h.r, node))
					}
					h.r.Finish()
				},
			} {
				h.e.Unbounded = false
				if run(); (h.r.Err == nil) != (code == "") || code != "" && (h.r.Err.Code != code ||
					h.r.Err.Name != nodes || h.r.Err.Text != "it was slow") {
					t.Errorf("%s, %s, %s: %v", doc, mode, way, h.r.Err)
				}
				h.e.Unbounded = true
				if run(); h.r.Err != nil || h.r.Node(h.nodes[nodes]).Value.String() != "1" {
					t.Errorf("%s, %s, %s, with all the time: %v", doc, mode, way, h.r.Err)
				}
			}
		}
	}
}

// lateAtFirst has come to no value in time in the first iteration of its loop alone.
type lateAtFirst struct{}

// Eval implements [kind.Evaluator].
func (lateAtFirst) Eval(env *expression.Env) (boundary.Value, error) {
	if env.Iteration == 1 {
		return late{}.Eval(env)
	}
	return boundary.Int(1), nil
}

// M29, M18: so it is in a loop whose later iterations had time.
func TestTimedErrorsOfAnIteration(t *testing.T) {
	t.Parallel()
	for mode, code := range map[string]string{"journal": CodeEpochTimeout, "checkpoint": ""} {
		h := start(t, "a*", "loops: { l: { nodes: [n, m] } }\nnodes: { m: { expr: 'n ?? 0' }, "+
			"n: { expr: 'm ?? a', on_error: skip } }\ndurability: { mode: "+mode+" }\n")
		step := &h.plan.steps[h.nodes["n"]]
		step.program, step.foreign, step.apart = lateAtFirst{}, true, true
		h.set("a", 1)
		if h.plan.Run(h.st, &h.e, &h.r); (h.r.Err == nil) != (code == "") || code != "" && h.r.Err.Code != code {
			t.Errorf("%s: %v", mode, h.r.Err)
		}
	}
}
