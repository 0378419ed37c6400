package graph

import (
	"slices"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/graph/internal/bitset"
)

// The phases of an epoch, which [Plan.Run] goes through; see the package documentation. All of them are called by the
// one owner of the result.

// Begin opens an epoch on st: what the inputs' versions reach is due. What e holds is the
// result's own from here on, so that the caller may reuse e and its slices while the epoch
// is open. It does not write st, which stays as it is until the epoch is finished.
func (p *Plan) Begin(st *State, e *Epoch, r *Result) {
	if r.plan != p {
		r.fit(p)
	}
	r.begin(st, e)
}

// nextReady is the first node that may run now, -1 for none. While none is out the first
// that is due always may: whatever could still change what it reads comes before it.
func (r *Result) nextReady() int {
	if r.outCount > 0 && r.stale {
		r.findBlocked()
	}
	for w, word := range r.due {
		if r.outCount > 0 {
			word &^= r.blocked[w]
		}
		if word != 0 {
			return r.unlessEnded(w<<6 + bitset.First(word))
		}
	}
	return -1
}

// unlessEnded is i, or -1 when the epoch has ended before that node.
func (r *Result) unlessEnded(i int) int {
	if r.Err != nil && i >= r.limit {
		return -1
	}
	return i
}

// findBlocked marks the nodes that rest, directly or not, on one that has yet to be settled.
func (r *Result) findBlocked() {
	clear(r.blocked)
	for i := range r.plan.steps {
		if !r.due.Has(i) && !r.out.Has(i) && !r.blocked.Has(i) {
			continue
		}
		last := i
		if l := r.plan.loopAt(i); l != nil {
			last += l.n - 1
		}
		for _, c := range r.plan.links[r.plan.steps[i].firstLink:r.plan.steps[last].lastLink] {
			r.blocked.Set(int(c))
		}
	}
	r.stale = false
}

// Outcome is what the evaluation of a node came to, for [Result.Settle]. The zero Outcome is
// a node that had nothing to compute.
type Outcome struct {
	// Value is the node's value, absent when it has none.
	Value boundary.Value
	// Err says why it failed; nil when it did not.
	Err *NodeError
	// Nanos is how long it took.
	Nanos int64

	stepped bool    // what the node remembers went on
	loop    *looped // of a loop, in place of all else
}

// Settle takes in what a node came to, and makes due what rests on it, if it ticked (M16).
// Nodes may be settled in any order: where the order could tell (which failure ends the
// epoch, and which nodes count as having run before it) that of the plan decides. What
// belongs to no node that is out comes too late and is dropped.
func (r *Result) Settle(node int, o Outcome) {
	if !r.out.Has(node) {
		return
	}
	r.out.Clear(node)
	r.outCount--
	r.stale = true
	p := r.plan
	if o.loop != nil {
		r.settleLoop(p.loopAt(node), o.loop)
		return
	}
	if o.stepped {
		r.stepped.Set(node)
	}
	r.nanos[node] = o.Nanos
	if o.Err == nil && o.Value.Bulky() {
		if o.Err = r.tooLarge(node, o.Value); o.Err != nil && o.stepped {
			r.stepped.Clear(node)
			p.forgetStep(r.state, node)
		}
	}
	if o.Err != nil {
		p.fail(r, node, o.Err)
		return
	}
	p.stage(r, node, o.Value)
}

// Cancel ends the epoch before the first node that has not been settled, and gives up those
// that are out: what they come to is not wanted any more. Whoever still evaluates one may end
// when it likes, unless its functions remember something: that has to be waited for.
func (r *Result) Cancel(err error) {
	for w := range r.due {
		if word := r.due[w] | r.out[w]; word != 0 {
			r.stop(w<<6+bitset.First(word), nil, err)
			break
		}
	}
	for i := range r.out.All() {
		if r.plan.steps[i].memories.n > 0 {
			r.stepped.Set(i) // it may have gone on, and is taken back
		}
	}
	clear(r.out)
	r.outCount = 0
}

// Finish closes the epoch: look at Err first, then at what it came to. Nothing of it is
// visible before [Plan.Commit].
func (r *Result) Finish() {
	if len(r.wants) > 0 {
		r.heed()
	}
	switch {
	case len(r.wants) > 0:
		// What has failed is behind it.
		first := r.wants[0].Node
		r.Err, r.limit = &NodeError{
			Node: first, Name: r.plan.nodes[first].Name, Code: unanswered, Text: "it waits for an answer",
		}, first
	case r.plan.budgets != nil && r.clock != nil && !r.free:
		r.overruns()
	}
	if r.Err == nil && r.interrupt != nil && (r.plan.foreign || r.plan.whole.cancel) {
		r.refuseLate()
	}
	if r.plan.whole.nanos > 0 {
		r.Overlong = r.passed()
	}
	if r.Err != nil {
		r.endAtLimit()
		return
	}
	if r.outCount > 0 || !r.due.Empty() {
		panic("graph: an epoch is finished while nodes have yet to run")
	}
	if len(r.DeadNodes) > 1 {
		slices.Sort(r.DeadNodes)
	}
	r.plan.emit(r)
	if r.Err != nil { // a condition of an output could not be evaluated
		r.Emitted, r.Filtered = r.Emitted[:0], r.Filtered[:0]
		r.endAtLimit()
		return
	}
	if r.aside {
		r.conclude(false)
	}
}

// endAtLimit leaves a failed epoch as if the nodes had run one after the other in plan
// order: those after the one that ended it have not run.
func (r *Result) endAtLimit() {
	p := r.plan
	for i := r.limit; i < len(p.nodes); i++ {
		if i == r.Err.Node && r.status[i] == Failed {
			continue // the failure that ended it
		}
		if r.status[i] != Idle {
			r.status[i], r.values[i], r.nanos[i] = Idle, r.state.cells[i], 0
		}
	}
	for k := range p.loops {
		if p.loops[k].first > r.limit {
			r.rounds[k] = round{}
		}
	}
	r.failures = slices.DeleteFunc(r.failures, func(e *NodeError) bool { return r.status[e.Node] != Failed })
	r.DeadNodes = r.DeadNodes[:0]
	r.conclude(false)
}

// stop ends the epoch at node i, by its own failure or, when that is nil, before it because
// the caller wants no more. Of several the first in plan order counts.
func (r *Result) stop(i int, failure *NodeError, interruption error) {
	if r.Err != nil && i >= r.limit {
		return
	}
	if failure == nil {
		failure = interruptOf(i, r.plan.nodes[i].Name, interruption)
	}
	r.Err, r.limit = failure, i
}

// interrupted asks the caller whether to go on to node i.
func (r *Result) interrupted(i int) bool {
	if r.plan.degrades && r.passed() && r.leaveOut(i) {
		return true
	}
	err := r.interrupt()
	if err != nil {
		r.stop(i, nil, err)
	}
	return err != nil
}
