package graph

import (
	"fmt"
	"slices"
	"time"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/spec"
)

// Budgets are looked at when the nodes of an epoch have run: a node that ignores them cannot be ended (M25), and what
// it has come to by then is right. So they cost nothing while nodes run.

// onOverrunDegrade lets a node that took too long keep the value it had.
const onOverrunDegrade = "degrade"

// CodeOverBudget is a node that took longer than its budget, and so keeps the value that it had.
const CodeOverBudget = "over_budget"

// refuseTimed reports what makes the result of an epoch depend on how long something took, in a graph whose journal
// says what was taken and not how long that took: a replay would come to something else (M29).
func (c *compiler) refuseTimed(at spec.Pos, what string, timed bool) {
	if timed && c.g.Durability.Mode == "journal" {
		c.tell(at, spec.CodeConflict, "what comes of the %s depends on how long it takes, and a graph with a journal "+
			"has to come to the same again; take the budget out, let on_overrun be record or cancel_epoch, or take "+
			"durability: checkpoint", what)
	}
}

// timeOf is the time by which a budget goes, 0 where nobody looks at budgets.
func (r *Result) timeOf(budget int64) int64 {
	if budget == 0 || r.clock == nil || r.free {
		return 0
	}
	return r.clock()
}

// degrade evaluates a node that keeps its value when it takes longer than it may.
func (r *Result) degrade(env *expression.Env, i int) (boundary.Value, error) {
	b := r.plan.budgets[i].nanos
	began := r.timeOf(b)
	v, err := r.compute(env, i)
	if took := r.timeOf(b) - began; took > b && err == nil {
		r.plan.forgetStep(r.state, i) // it is as if it had not run
		return boundary.Value{}, &expression.EvalError{Code: CodeOverBudget, Text: overBudget(took, b)}
	}
	return v, err
}

func overBudget(took, budget int64) string {
	return fmt.Sprintf("it took %s, and its budget is %s", time.Duration(took).Round(time.Microsecond),
		time.Duration(budget))
}

// budget is how long a node may take.
type budget struct {
	nanos  int64 // 0: as long as the epoch
	cancel bool  // more of it fails the epoch
}

// addBudget notes how long the node at a place of the plan may take.
func (p *Plan) addBudget(at, nodes int, u *unit) {
	if u.decl.Budget <= 0 {
		return
	}
	if p.budgets == nil {
		p.budgets = make([]budget, nodes)
	}
	p.budgets[at] = budget{int64(u.decl.Budget), u.decl.OnOverrun == "cancel_epoch"}
	if u.decl.OnOverrun == onOverrunDegrade {
		p.steps[at].degrade, p.steps[at].apart = true, true
	}
}

// overruns finds the nodes that have taken longer than they may; the first that is to fail the epoch does.
func (r *Result) overruns() {
	for i, b := range r.plan.budgets {
		if b.nanos == 0 || r.nanos[i] <= b.nanos {
			continue
		}
		r.Overran = append(r.Overran, i)
		if !b.cancel || r.Err != nil && i >= r.limit {
			continue
		}
		err := &NodeError{Node: i, Name: r.plan.nodes[i].Name, Code: CodeEpochTimeout,
			Text: overBudget(r.nanos[i], b.nanos)}
		r.failures = append(slices.DeleteFunc(r.failures, func(e *NodeError) bool { return e.Node == i }), err)
		r.status[i] = Failed
		r.stop(i, err, nil)
	}
}
