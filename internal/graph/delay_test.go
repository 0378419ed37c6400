package graph

import (
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/node/nodetest"
)

// M17: what is delayed is read as of the last kept epoch, and makes nothing due.
func TestDelayReadsTheLastEpoch(t *testing.T) {
	t.Parallel()
	h := start(t, "a* b*", `
nodes:
  total: { expr: '(total ?? 0) + a', delay: [total] }
  seen: { expr: '[b, total ?? -1]', delay: [total] }
`)
	h.set("a", 3).fire().want("total ran 3; seen skipped")
	h.set("b", 1).fire().want("total idle 3; seen ran [1,3]")
	h.set("a", 4).fire().want("total ran 7; seen idle [1,3]")
	h.set("a", 1).set("b", 2).fire().want("total ran 8; seen ran [2,7]")
	h.fire().want("total idle 8; seen idle [2,7]")
}

// M17: a cycle that goes over a delayed read is none.
func TestDelayBreaksACycle(t *testing.T) {
	t.Parallel()
	h := start(t, "a*", `
nodes:
  held: { expr: '(held ?? 0) + order', delay: [held] }
  order: { expr: '(held ?? 0) < 2 ? a : 0', delay: [held] }
`)
	h.set("a", 1).fire().want("order ran 1; held ran 1")
	h.set("a", 1).fire().want("order ran 1; held ran 2")
	h.set("a", 1).fire().want("order ran 0; held ran 2")
}

// M15: in the first epoch there is no last one: a plain read skips the node.
func TestDelayIsAbsentAtFirst(t *testing.T) {
	t.Parallel()
	h := start(t, "a*", `
nodes:
  one: { expr: a + 1 }
  plain: { expr: one * a, delay: [one] }
  lenient: { expr: '[a, one == nil]', delay: [one] }
`)
	h.set("a", 3).fire().want("plain skipped; lenient ran [3,true]")
	h.set("a", 5).fire().want("plain ran 20")
}

// M17: a node that reads nothing else runs in every epoch, and is cut off like any other.
func TestDelayAloneRunsInEveryEpoch(t *testing.T) {
	t.Parallel()
	h := start(t, "a b", `
nodes:
  one: { expr: a }
  before: { expr: one, delay: [one] }
  epochs: { expr: '(epochs ?? 0) + 1', delay: [epochs] }
`)
	h.set("a", 3).fire().want("one ran 3; before skipped; epochs ran 1")
	h.set("b", 1).fire().want("one idle 3; before ran 3; epochs ran 2")
	h.set("b", 1).fire().want("before cut_off 3; epochs ran 3")
	h.set("a", 4).fire().want("one ran 4; before cut_off 3; epochs ran 4")
	h.set("b", 2).fire().want("one idle 4; before ran 4; epochs ran 5")
}

// M21, M22: an epoch that fails is none that is read.
func TestDelayPassesOverAFailedEpoch(t *testing.T) {
	t.Parallel()
	h := start(t, "a*", `
nodes:
  total: { expr: '(total ?? 0) + a', delay: [total] }
  fails: { expr: '1 / (total - 13)' }
`)
	h.set("a", 3).fire().want("total ran 3")
	h.set("a", 10).run().fails("not_finite", "fails")
	h.set("a", 4).fire().want("total ran 7")
}

// M33: what a node reads with delay is part of what it computes, and no order of it is.
func TestDelayIsPartOfTheFingerprint(t *testing.T) {
	t.Parallel()
	print := func(delay string) uint64 {
		h := start(t, "a*", "nodes: { x: { expr: a }, y: { expr: a }, "+
			"n: { expr: 'a + (x ?? 0) + (y ?? 0)'"+delay+" } }")
		return h.plan.Print(h.nodes["n"])
	}
	if print("") == print(", delay: [x]") || print(", delay: [x]") == print(", delay: [y]") {
		t.Error("it makes no difference which nodes are delayed")
	}
	if print(", delay: [x, y]") != print(", delay: [y, x]") {
		t.Error("the order of delay makes a difference")
	}
}

func TestDelayMistakes(t *testing.T) {
	t.Parallel()
	for nodes, want := range map[string]string{
		"n: { expr: 'a + m', delay: [m] }":                               "unknown_name unknown_name",
		"n: { expr: a + 1, delay: [a] }":                                 "not_a_node",
		"n: { expr: a, delay: [n] }":                                     "no_effect",
		"n: { expr: 'fresh(m) ? a : 1', delay: [m] }, m: { expr: a }":    "not_allowed",
		"n: { expr: 'm + a', delay: [m] }, m: { after: n, expr: 1 }":     "",
		"n: { expr: 'm + a', delay: [m], after: m }, m: { expr: n }":     "cycle",
		"n: { expr: '(n ?? 0) + a', delay: [n] }, m: { expr: 'm ?? n' }": "cycle",
	} {
		g := parse(t, "graph: g\naccumulators: { a: { strategy: latest } }\nnodes: { "+nodes+" }\n")
		_, diagnostics := Compile(g, inputsOf(g), nodetest.Nodes())
		var got []string
		for _, d := range diagnostics {
			got = append(got, d.Code)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: got %v, want %s", nodes, diagnostics, want)
		}
	}
}

// M9: a node that goes on from its last epoch counts every value.
func TestDelayNeedsAStrategy(t *testing.T) {
	t.Parallel()
	g := parse(t, "graph: g\naccumulators: { a: {} }\nnodes: { n: { expr: '(n ?? 0) + a', delay: [n] } }\n")
	inputs := inputsOf(g)
	inputs[0].Unsaid = true
	_, diagnostics := Compile(g, inputs, nodetest.Nodes())
	if len(diagnostics) != 1 || diagnostics[0].Code != CodeStrategyNeeded {
		t.Errorf("got %v, want %s", diagnostics, CodeStrategyNeeded)
	}
}

// The plan shows what is delayed, and that it orders nothing.
func TestDelayInThePlan(t *testing.T) {
	t.Parallel()
	h := start(t, "a*", "nodes: { n: { expr: '(m ?? 0) + a', delay: [m] }, m: { expr: n } }")
	raw, err := h.plan.JSON("g", "")
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"from":"m","to":"n","kind":"delay"}`; !strings.Contains(string(raw), want) ||
		h.plan.Nodes()[0].Name != "n" {
		t.Errorf("got %s, want %s and n first", raw, want)
	}
}
