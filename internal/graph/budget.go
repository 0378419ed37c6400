package graph

import (
	"fmt"
	"slices"
	"time"
)

// Budgets are looked at when the nodes of an epoch have run: a node that ignores them cannot be ended (M25), and what
// it has come to by then is right. So they cost nothing while nodes run.

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
			Text: fmt.Sprintf("it took %s, and its budget is %s", time.Duration(r.nanos[i]).Round(time.Microsecond),
				time.Duration(b.nanos))}
		r.failures = append(slices.DeleteFunc(r.failures, func(e *NodeError) bool { return e.Node == i }), err)
		r.status[i] = Failed
		r.stop(i, err, nil)
	}
}
