package graph

import (
	"slices"
	"testing"
)

// overrunning is a graph whose clock goes on by 10 ns with each node.
func overrunning(t *testing.T, on string) *harness {
	t.Helper()
	h := start(t, "a*", `
nodes:
  first: { expr: a, budget: 1s, on_overrun: cancel_epoch }
  slow: { expr: first + 1, budget: 5ns`+on+` }
  behind: { expr: slow + 1 }
outputs: { o: { from: behind, sink: { drop: {} } } }
`)
	var now int64
	h.e.Clock = func() int64 { now += 10; return now }
	return h
}

// M25: a node that takes longer than its budget is told of.
func TestBudgetIsRecorded(t *testing.T) {
	t.Parallel()
	h := overrunning(t, "")
	h.set("a", 1).fire().want("first ran 1; slow ran 2; behind ran 3").emits("o=3")
	if !slices.Equal(h.r.Overran, []int{h.nodes["slow"]}) || !h.r.Node(h.nodes["slow"]).Overran ||
		h.r.Node(h.nodes["first"]).Overran {
		t.Errorf("overran: got %v, want slow alone", h.r.Overran)
	}
	h.fire()
	if len(h.r.Overran) > 0 {
		t.Errorf("an epoch in which it did not run: got %v", h.r.Overran)
	}
	h.e.Clock = nil
	if h.set("a", 2).fire(); len(h.r.Overran) > 0 {
		t.Errorf("without a clock: got %v", h.r.Overran)
	}
}

// M25, M21: with cancel_epoch the epoch fails, as if it had ended at that node.
func TestBudgetCancelsTheEpoch(t *testing.T) {
	t.Parallel()
	h := overrunning(t, ", on_overrun: cancel_epoch")
	h.set("a", 1).run().fails(CodeEpochTimeout, "slow").want("first ran 1; slow failed 2; behind idle").emits("")
	h.e.Unbounded = true // as in a replay
	h.set("a", 2).fire().want("first ran 2; slow ran 3; behind ran 4")
}

// M25: the failure that counts is the first in plan order.
func TestBudgetAndFailure(t *testing.T) {
	t.Parallel()
	for rest, want := range map[string]string{
		"slow: { expr: a, budget: 5ns, on_overrun: cancel_epoch }, fails: { expr: 1 / (slow - 1) }":  "slow",
		"fails: { expr: 1 / (a - 1) }, slow: { expr: fails, budget: 5ns, on_overrun: cancel_epoch }": "fails",
	} {
		h := start(t, "a*", "nodes: { "+rest+" }")
		var now int64
		h.e.Clock = func() int64 { now += 10; return now }
		if h.set("a", 1).run(); h.r.Err == nil || h.r.Err.Name != want {
			t.Errorf("%s: got %v", rest, h.r.Err)
		}
	}
}
