package graph

import (
	"slices"
	"testing"
)

// M25: which node runs somebody else's code is told before it runs and until it has come back, by
// a panic too, and in both ways to drive an epoch. An expression is never told of.
func TestM25ForeignCodeIsToldOf(t *testing.T) {
	t.Parallel()
	h := start(t, "a", `
nodes:
  before: { expr: a }
  mine: { expr: before, on_error: skip }
  after: { expr: 'a + 1' }
`)
	at := h.nodes["mine"]
	step := &h.plan.steps[at]
	step.program, step.foreign, step.apart = panicking{"boom"}, true, true
	var told []int
	h.e.Foreign = func(node int) { told = append(told, node) }
	h.set("a", 1).fire().want("before ran 1; mine failed; after ran 2")
	if want := []int{at, -1}; !slices.Equal(told, want) {
		t.Errorf("inline: told of %v, want %v", told, want)
	}
	told = nil
	h.set("a", 2)
	var w worker
	h.plan.Begin(h.st, &h.e, &h.r)
	for node, ok := h.r.Ready(); ok; node, ok = h.r.Ready() {
		h.r.Settle(node, w.Evaluate(&h.r, node))
	}
	h.r.Finish()
	if want := []int{at, -1}; !slices.Equal(told, want) {
		t.Errorf("by a worker: told of %v, want %v", told, want)
	}
}
