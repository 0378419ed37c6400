package graph

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/graph/internal/bitset"
	"github.com/graphd/graphd/internal/spec"
)

// Budgets are looked at when the nodes of an epoch have run: a node that ignores them cannot be ended (M25), and what
// it has come to by then is right. So they cost nothing while nodes run.

const (
	// onOverrunDegrade lets a node that took too long keep the value it had.
	onOverrunDegrade = "degrade"
	onOverrunCancel  = "cancel_epoch"
)

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
	p.budgets[at] = budget{int64(u.decl.Budget), u.decl.OnOverrun == onOverrunCancel}
	if u.decl.OnOverrun == onOverrunDegrade {
		p.steps[at].degrade, p.steps[at].apart = true, true
	}
}

// addEpochBudget notes how long an epoch should take.
func (p *Plan) addEpochBudget(r *spec.Reactor) {
	p.whole = budget{int64(r.Budget), r.OnOverrun == onOverrunCancel}
	p.degrades = r.OnOverrun == onOverrunDegrade
}

// passed says that the time that the epoch should take is over; false where nobody looks at budgets.
func (r *Result) passed() bool {
	b := r.plan.whole.nanos
	return b > 0 && r.clock != nil && !r.free && r.clock()-r.began > b
}

// age is in how many epochs in a row a node may be left out; then it runs all the same (M24).
func age(priority string) int { return 1 << priorityOf(priority) }

// leaveOut lets node i, or the loop that is due there, keep what it had, for the epoch has taken longer than it should.
// It is false for one that has been left out often enough.
func (r *Result) leaveOut(i int) bool {
	p, n := r.plan, 1
	if l := p.loopAt(i); l != nil {
		n = l.n
	}
	if r.waited[i] >= age(p.nodes[i].Priority) {
		r.Lifted++
		return false
	}
	r.due.Clear(i)
	r.late.Set(i)
	text := fmt.Sprintf("the epoch had taken longer than its budget of %s before this node ran",
		time.Duration(p.whole.nanos))
	for k := i; k < i+n; k++ {
		r.left.Set(k)
		r.status[k] = Failed
		r.failures = append(r.failures, &NodeError{Node: k, Name: p.nodes[k].Name, Code: CodeOverBudget, Text: text})
	}
	return true
}

// Waited is by name in how many epochs in a row each node was left out up to the last, or a loop under its first; nil
// where none was. [Plan.Await] has another result go on from it.
func (r *Result) Waited() (waited map[string]int) {
	for i, n := range r.waited {
		if n > 0 {
			if waited == nil {
				waited = make(map[string]int)
			}
			waited[r.plan.nodes[i].Name] = n
		}
	}
	return waited
}

// Await has a result go on from what [Result.Waited] has told. Nodes that the plan does not have, or that it leaves out
// of none, are passed over. It comes before the result's first epoch.
func (p *Plan) Await(r *Result, waited map[string]int) {
	if !p.degrades || len(waited) == 0 {
		return
	}
	r.fit(p)
	for i := range p.nodes {
		r.waited[i] = max(waited[p.nodes[i].Name], 0)
	}
}

// grow counts for one epoch more for how many nodes have been left out, and anew for those that have run.
func (r *Result) grow() {
	for i := range r.waited {
		switch {
		case r.status[i] == Idle:
		case r.late.Has(i):
			r.waited[i]++
		default:
			r.waited[i] = 0
		}
	}
}

// owesAsBefore reports whether the nodes that have yet to run are those that had before the epoch.
func (r *Result) owesAsBefore(st *State) bool {
	if r.left == nil || r.fresh == &r.all {
		return false
	}
	for w, left := range r.left {
		before := uint64(0)
		if r.fresh != nil {
			before = (*r.fresh)[w]
		}
		if r.owed != nil {
			before |= (*r.owed)[w]
		}
		if left != before {
			return false
		}
	}
	return st.fresh() == r.fresh && st.owed() == r.owed
}

// owe has a state know which of the nodes that were due have yet to run: those whose first run it is stay fresh. Its
// sets are new ones, for a frozen state goes on with those before.
func (r *Result) owe(st *State) {
	if st.more != nil {
		st.more.fresh, st.more.owed = nil, nil
	}
	for i := range r.left.All() {
		if !r.first(i) {
			r.plan.oweTo(st, i)
			continue
		}
		if st.fresh() == nil {
			b := bitset.New(len(r.status))
			st.side().fresh = &b
		}
		st.more.fresh.Set(i)
	}
}

// touchOwed marks the nodes that are owed a run and were not, or were and are not. Of one that has never run there is
// no cell, which says so.
func (r *Result) touchOwed(cells []bool) {
	for i := range r.left.All() {
		cells[i] = cells[i] || !r.first(i) && (r.owed == nil || !r.owed.Has(i))
	}
	if r.owed != nil {
		for i := range r.owed.All() {
			cells[i] = cells[i] || !r.left.Has(i)
		}
	}
}

// oweTo has a state know that node i has yet to run. The set is not one of a frozen state.
func (p *Plan) oweTo(st *State, i int) {
	if st.owed() == nil {
		b := bitset.New(len(p.nodes))
		st.side().owed = &b
	}
	st.more.owed.Set(i)
}

// AppendEpoch appends what a record tells of an epoch that took so long and most do not: a member of its JSON.
func (p *Plan) AppendEpoch(dst []byte, took time.Duration) []byte {
	if b := p.whole.nanos; b > 0 && int64(took) > b {
		dst = append(dst, `,"overran":true`...)
	}
	return dst
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
		r.blame(i, i, overBudget(r.nanos[i], b.nanos))
	}
}

// blame ends the epoch, whose time is up, by node i; the plan has run up to limit.
func (r *Result) blame(i, limit int, text string) {
	err := &NodeError{Node: i, Name: r.plan.nodes[i].Name, Code: CodeEpochTimeout, Text: text}
	r.failures = append(slices.DeleteFunc(r.failures, func(e *NodeError) bool { return e.Node == i }), err)
	r.status[i] = Failed
	r.stop(limit, err, nil)
}

// refuseLate fails an epoch whose time was up when its last node came back, which somebody else's code may do whenever
// it likes: what it has come back with is dropped (M25).
func (r *Result) refuseLate() {
	err := r.interrupt()
	if err == nil {
		return
	}
	slowest := -1
	for i, status := range r.status {
		if status != Idle && (slowest < 0 || r.nanos[i] > r.nanos[slowest]) {
			slowest = i
		}
	}
	switch {
	case slowest < 0: // nothing has run
	case errors.Is(err, ErrEpochTimeout):
		r.blame(slowest, slowest, fmt.Sprintf("it came back after %s, when the time of the epoch was up, and what it "+
			"has come back with is dropped: %v", time.Duration(r.nanos[slowest]).Round(time.Microsecond), err))
	default:
		r.stop(slowest, nil, err)
	}
}
