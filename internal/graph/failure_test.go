package graph

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
)

// M21: what each on_error makes of a division by zero, and that the node is due
// again with the next change and not before.
func TestOnError(t *testing.T) {
	t.Parallel()
	h := start(t, "a b", `
nodes:
  skip: { expr: 10 / a, on_error: skip }
  last: { expr: 10 / a, on_error: last_good }
  dead: { expr: 10 / a, on_error: dead_letter }
  after_skip: { expr: 'skip ?? "none"' }
  after_last: { expr: 'last ?? "none"' }
  other: { expr: b }
outputs:
  skipped: { from: skip, sink: { drop: {} } }
  kept: { from: last, sink: { drop: {} } }
`)
	h.set("a", 0).fire().emits("").
		want(`skip failed; last failed; dead failed; after_skip ran "none"; after_last ran "none"`)
	if got, want := h.r.DeadNodes, []int{h.nodes["dead"]}; !slices.Equal(got, want) {
		t.Errorf("dead nodes: got %v, want %v", got, want)
	}
	h.set("a", 5).fire().emits("skipped=2 kept=2").
		want("skip ran 2; last ran 2; dead ran 2; after_skip ran 2; after_last ran 2")
	h.set("a", 0).fire().emits("").
		want(`skip failed; last failed 2; dead failed; after_skip ran "none"; after_last idle 2`)
	if e := h.r.Node(h.nodes["last"]).Err; e == nil || e.Code != expression.CodeNotFinite {
		t.Errorf("last: got error %v, want not_finite", e)
	}
	h.set("b", 1).fire().want(`skip idle; last idle 2; dead idle; after_skip idle "none"`)
	if len(h.r.DeadNodes) > 0 {
		t.Errorf("dead nodes: got %v, want none", h.r.DeadNodes)
	}
	h.set("a", 10).fire().emits("skipped=1 kept=1").want("skip ran 1; last ran 1; after_last ran 1")
}

// M7, M21, M22: a failed epoch changes nothing, and the next one behaves as if it
// had never happened, also in what is due.
func TestFailedEpochLeavesNoTrace(t *testing.T) {
	t.Parallel()
	h := start(t, "a b", `
nodes:
  first: { expr: a + 1 }
  kept: { expr: a, on_error: dead_letter }
  late: { expr: first / b }
outputs:
  firsts: { from: first, sink: { drop: {} }, emit: on_change }
  lates: { from: late, sink: { drop: {} } }
`)
	h.set("a", 1).set("b", 1).fire().emits("firsts=2 lates=2")
	before := *h.st
	cells := slices.Clone(before.cells)

	good, versions := slices.Clone(h.e.Inputs), slices.Clone(h.e.Versions)
	h.set("a", 5).set("b", 0).run().fails(expression.CodeNotFinite, "late").emits("").
		want("first ran 6; kept ran 5; late failed 2")
	if cells := touched(&h.r); len(cells) > 0 {
		t.Errorf("a failed epoch touches the cells %v", cells)
	}
	h.plan.Commit(h.st, &h.r) // refused
	if h.st.stamp != before.stamp || h.st.fresh() != nil || !slices.EqualFunc(h.st.cells, cells, boundary.Equal) {
		t.Fatalf("the state changed: got %v, want %v", h.st.cells, cells)
	}

	// The cut is undone: nothing is due, the values of before are current.
	copy(h.e.Inputs, good)
	copy(h.e.Versions, versions)
	h.fire().emits("").want("first idle 2; kept idle 1; late idle 2")
	// What failed arrives again beside a good divisor: all of it is news.
	h.set("a", 5).set("b", 2).fire().emits("firsts=6 lates=3").want("first ran 6; kept ran 5; late ran 3")
}

// M21: the first error ends the epoch; what is dead by then dies with the whole cut.
func TestFailedEpochStops(t *testing.T) {
	t.Parallel()
	h := start(t, "a", `
nodes:
  dead: { expr: 1 / a, on_error: dead_letter }
  fatal: { expr: 1 / a }
  never: { expr: a }
`)
	h.set("a", 0).run().fails(expression.CodeNotFinite, "fatal").want("dead failed; fatal failed; never idle")
	if len(h.r.DeadNodes) > 0 {
		t.Errorf("dead nodes: got %v, want none", h.r.DeadNodes)
	}
}

// M11: an aside is a run that is not committed.
func TestRunWithoutCommitIsAnAside(t *testing.T) {
	t.Parallel()
	h := start(t, "a", `
nodes: { n: { expr: a * 2 } }
outputs: { out: { from: n, sink: { drop: {} }, emit: on_change } }
`)
	h.set("a", 1).fire().emits("out=2")
	live := h.e
	h.e.Inputs, h.e.Versions = slices.Clone(live.Inputs), slices.Clone(live.Versions)
	h.set("a", 7).run().want("n ran 14").emits("out=14")
	h.e = live
	h.fire().want("n idle 2").emits("")
	h.set("a", 7).fire().want("n ran 14").emits("out=14")
}

type panicking struct{ with any }

func (p panicking) Eval(*expression.Env) (boundary.Value, error) { panic(p.with) }

// M21: a panic is an error of the node and of nothing else.
func TestPanicIsTheNodesError(t *testing.T) {
	t.Parallel()
	const nodes = `
nodes:
  before: { expr: a }
  bad: { expr: a, on_error: %s }
  after: { expr: 'bad ?? 0' }
  beside: { expr: a }
`
	for _, onError := range []string{"skip", "dead_letter", "last_good"} {
		h := start(t, "a", fmt.Sprintf(nodes, onError))
		h.plan.steps[h.nodes["bad"]].program = panicking{"boom"}
		h.set("a", 1).fire().want("before ran 1; bad failed; after ran 0; beside ran 1")
		e := h.r.Node(h.nodes["bad"]).Err
		if e == nil || e.Code != CodePanic || e.Text != "boom" || !strings.Contains(e.Stack, "failure_test.go") {
			t.Errorf("%s: got error %+v", onError, e)
		}
		h.e.FullRecompute = true
		h.fire().want("before idle 1; bad idle; after idle 0; beside idle 1")
		h.set("a", 2).fire().want("before ran 2; bad failed; after idle 0; beside ran 2")
	}
	h := start(t, "a", fmt.Sprintf(nodes, "fail_epoch"))
	h.plan.steps[h.nodes["bad"]].program = panicking{errors.New("boom")}
	h.set("a", 1).run().fails(CodePanic, "bad").want("before ran 1; after idle")
}

// A panic in the caller's own code is not a node's.
func TestPanicOfTheCallerPasses(t *testing.T) {
	t.Parallel()
	h := start(t, "a", "nodes: { n: { expr: a, on_error: skip } }\n")
	h.e.Interrupt = func() error { panic("not a node") }
	defer func() {
		if v := recover(); v != "not a node" {
			t.Errorf("recovered %v", v)
		}
	}()
	h.set("a", 1).run()
	t.Error("the panic was swallowed")
}

// M25, M22: an interruption between nodes fails the epoch.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	for cause, code := range map[error]string{
		ErrEpochTimeout: CodeEpochTimeout, context.Canceled: CodeCancelled, errors.New("x"): CodeCancelled,
	} {
		h := start(t, "a", "nodes: { one: { expr: a }, two: { expr: one }, three: { expr: two } }\n")
		asked := 0
		h.e.Interrupt = func() error {
			if asked++; asked == 3 {
				return fmt.Errorf("stop: %w", cause)
			}
			return nil
		}
		h.set("a", 1).run().fails(code, "three").want("one ran 1; two ran 1; three idle")
		h.fire().want("one ran 1; two ran 1; three ran 1")
	}
}
