package graph

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/graphd/graphd/internal/node/nodetest"
	"github.com/graphd/graphd/internal/spec"
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

// M25: with degrade a node that took too long keeps what it had, as if it had not run, and the epoch goes on.
func TestBudgetDegrades(t *testing.T) {
	t.Parallel()
	h := start(t, "a*", `
nodes:
  slow: { expr: 'a + rolling_count(a, 9)', budget: 15ns, on_overrun: degrade, on_error: skip }
  behind: { expr: 'slow ?? -1' }
`)
	step, now := int64(1), int64(0)
	h.e.Clock = func() int64 { now += step; return now }
	h.set("a", 1).fire().want("slow ran 2; behind ran 2")
	step = 20
	h.set("a", 5).fire().want("slow failed 2; behind idle 2")
	if n := h.r.Node(h.nodes["slow"]); !n.Overran || n.Err == nil || n.Err.Code != CodeOverBudget {
		t.Errorf("got %+v", n)
	}
	step = 1
	h.set("a", 7).fire().want("slow ran 9; behind ran 9") // it has counted two values
	step, h.e.Unbounded = 20, true
	h.set("a", 1).fire().want("slow ran 4")
	h = start(t, "a*", "nodes: { slow: { expr: a, budget: 5ns, on_overrun: degrade }, behind: { expr: 'slow ?? -1' } }")
	h.e.Clock = func() int64 { now += step; return now }
	h.set("a", 1).fire().want("slow failed; behind ran -1")
}

// M18, M25: a loop that has not ended within its budget is given up after the iteration that took it over.
func TestLoopBudget(t *testing.T) {
	t.Parallel()
	h := start(t, "a*", `
loops: { up: { nodes: [n], budget: 55ns, until: n > a, on_no_convergence: commit } }
nodes: { n: { expr: '(n ?? 0) + 1' } }
`)
	var now int64
	h.e.Clock = func() int64 { now += 10; return now }
	h.set("a", 90).fire().want("n ran 2") // 30 ns an iteration
	if n := h.r.Node(h.nodes["n"]); n.Ended != OutOfBudget || n.Iterations != 2 {
		t.Errorf("got %v after %d iterations", n.Ended, n.Iterations)
	}
	h.set("a", 1).fire().want("n ran 2")
	if n := h.r.Node(h.nodes["n"]); n.Ended != Until || n.Nanos != 20 {
		t.Errorf("what has ended in time: got %v after %d ns", n.Ended, n.Nanos)
	}
	h.e.Clock = nil
	h.set("a", 90).fire().want("n ran 91")
}

// M29: what depends on how long something took cannot be had with a journal.
func TestBudgetsAndTheJournal(t *testing.T) {
	t.Parallel()
	for rest, want := range map[string]int{
		"nodes: { n: { expr: a, budget: 1s, on_overrun: degrade } }":                                      1,
		"nodes: { n: { expr: a, budget: 1s, on_overrun: cancel_epoch }, m: { expr: a, budget: 1s } }":     0,
		"loops: { l: { nodes: [n], budget: 1s } }\nnodes: { n: { expr: '(n ?? 0) + a' } }":                1,
		"loops: { l: { nodes: [n] } }\nnodes: { n: { expr: 'n ?? a', budget: 1s, on_overrun: degrade } }": 2,
	} {
		g := parse(t, "graph: g\naccumulators: { a: { strategy: sequential } }\n"+
			"durability: { mode: journal }\n"+rest+"\n")
		_, diagnostics := Compile(g, inputsOf(g), nodetest.Nodes())
		for _, d := range diagnostics {
			if d.Code != "conflict" {
				t.Errorf("%s: got %v", rest, d)
			}
		}
		if len(diagnostics) != want {
			t.Errorf("%s: got %v, want %d", rest, diagnostics, want)
		}
	}
}

// M25: an epoch that takes longer than its budget is counted. With degrade the nodes that have not run by then keep
// what they had, loops among them, until the next one.
func TestM25BudgetOfTheEpoch(t *testing.T) {
	t.Parallel()
	for on, want := range map[string]string{
		"":        "first ran 5; slow ran 1; beside ran 6; behind ran 6; x ran 8; y ran 8; after ran 8",
		"record":  "first ran 5; slow ran 1; beside ran 6; behind ran 6; x ran 8; y ran 8; after ran 8",
		"degrade": "first ran 5; slow ran 1; beside failed 2; behind failed 2; x failed 8; y failed 8; after idle 8",
	} {
		h := start(t, "a*", `
loops: { l: { nodes: [x, y] } }
nodes:
  first: { expr: a, priority: high }
  slow: { expr: a }
  beside: { expr: a + 1, priority: low }
  behind: { expr: slow + first }
  x: { expr: '(y ?? 0) < 8 ? (y ?? 0) + slow : y' }
  y: { expr: x }
  after: { expr: y }
`)
		now := int64(0)
		takes := int64(1)
		h.plan.steps[h.nodes["slow"]].program = slowly{func() { now += takes }}
		if on != "" {
			h.plan.addEpochBudget(&spec.Reactor{Budget: 15, OnOverrun: on})
			h.r = Result{}
		}
		h.e.Clock, h.e.Interrupt = func() int64 { return now }, func() error { return nil }
		h.set("a", 1).fire()
		if h.r.Overlong {
			t.Errorf("%s: an epoch within its budget is not", on)
		}
		takes = 20
		h.set("a", 5).fire().want(want)
		var counts Counts
		if h.r.Count(&counts); h.r.Overlong != (on != "") || (counts.Overlong == 1) != (on != "") {
			t.Errorf("%s: overlong %v, counted %d", on, h.r.Overlong, counts.Overlong)
		}
		h.e.Unbounded = true // as in a replay
		h.set("a", 7).fire().want("first ran 7; beside ran 8; behind ran 8; after ran 8")
	}
}

// M24: what an epoch has no time for waits, and what has waited for long enough for its priority is lifted above that.
func TestM24WhatHasWaitedIsLifted(t *testing.T) {
	t.Parallel()
	h := start(t, "a*", `
nodes:
  slow: { expr: a, priority: high }
  normal: { expr: a }
  low: { expr: a, priority: low }
  background: { expr: a, priority: background }
`)
	now := int64(0)
	h.plan.steps[h.nodes["slow"]].program = slowly{func() { now += 20 }}
	h.plan.addEpochBudget(&spec.Reactor{Budget: 15, OnOverrun: "degrade"})
	h.e.Clock, h.e.Interrupt = func() int64 { return now }, func() error { return nil }
	ran := map[string]string{}
	var counts Counts
	for i := range 18 {
		h.set("a", i).fire()
		h.r.Count(&counts)
		for name, at := range h.nodes {
			if s := h.r.Node(at).Status; s == Ran {
				ran[name] += fmt.Sprintf(" %d", i)
			} else if s != Failed {
				t.Errorf("epoch %d: %s is %s", i, name, s)
			}
		}
	}
	want := map[string]string{"slow": " 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17", "normal": " 2 5 8 11 14 17",
		"low": " 4 9 14", "background": " 8 17"}
	if !maps.Equal(ran, want) || counts.Lifted != 6+3+2 {
		t.Errorf("%d were lifted: %v, want %v", counts.Lifted, ran, want)
	}
}

// M25: a function that comes back when the time of its epoch is up has failed it, also where it is the last.
func TestM25LateFunctionFailsItsEpoch(t *testing.T) {
	t.Parallel()
	h := start(t, "a*", "nodes: { before: { expr: a }, late: { expr: before } }")
	now := int64(0)
	at := h.nodes["late"]
	step := &h.plan.steps[at]
	step.program, step.foreign, step.apart = slowly{func() { now += 20 }}, true, true
	h.plan.foreign = true
	h.e.Clock = func() int64 { return now }
	h.e.Interrupt = func() error {
		if now > 15 {
			return ErrEpochTimeout
		}
		return nil
	}
	h.set("a", 1).run().fails(CodeEpochTimeout, "late").want("before ran 1; late failed 1")
	now = -100
	h.set("a", 2).fire().want("before ran 2; late ran 1")
}
