package reactor

import (
	"fmt"
	"testing"

	"github.com/graphd/graphd/internal/checkpoint"
)

// become seals the core and goes on from the checkpoint under another declaration. It answers
// what that did not take over.
func (r *rig) become(cells map[string]checkpoint.Cell, doc string, opts ...option) string {
	r.t.Helper()
	s := r.c.Seal(r.now)
	c := s.Commit()
	r.c.Sealed(s, nil)
	applyCells(cells, c)
	r.c = NewCore(testConfig(r.t, doc, opts...))
	dropped, err := r.c.Restore(checkpoint.Head{Epoch: c.Epoch, Meta: c.Meta}, listCells(cells))
	if err != nil {
		r.t.Fatal(err)
	}
	r.start()
	return fmt.Sprint(dropped)
}

// M33: what a change of the declaration has dropped is gone from the store. It is told once, and
// does not come back with its name, or with its meaning.
func TestM33DroppedStaysDropped(t *testing.T) {
	t.Parallel()
	const outputs = "outputs:\n  out: { from: n, sink: { drop: {} } }\n"
	node := func(expr string) string { return "nodes:\n  n: { expr: '" + expr + "' }\n" + outputs }
	summed := graphOf("  a: { strategy: sequential }\n  b: { strategy: sequential }\n", "{ when: any }",
		node("rolling_sum(a, 100)"))
	for name, other := range map[string]struct{ doc, dropped string }{
		"the node is gone": {graphOf(two, "{ when: any }", "outputs:\n  out: { from: b, sink: { drop: {} } }\n"),
			"[memory n node n]"},
		"the node means something else": {graphOf(two, "{ when: any }", node("rolling_sum(b, 100)")), "[node n]"},
		"the input is gone": {graphOf("  b: {}\n", "{ when: any }",
			"outputs:\n  out: { from: b, sink: { drop: {} } }\n"),
			"[acc a in a memory n node n queue a/0000000000000004]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, cells := newRig(t, summed), map[string]checkpoint.Cell{}
			r.push("a", 1, 2, 3)
			r.want(r.fire(), "out=1@1 out=3@2 out=6@3")
			if other.dropped[1] == 'a' {
				r.push("a", 7) // waits in the queue
			}
			r.want(r.become(cells, other.doc), other.dropped)
			r.want(r.become(cells, other.doc), "[]")
			if r.c.input("a") < 0 {
				r.sent["a"] = 0 // its books have gone with it
			}
			r.want(r.become(cells, summed), "[]")
			r.push("a", 100)
			r.want(r.fire(), fmt.Sprintf("out=100@%d", r.c.epoch))
		})
	}
}

// M33: a key that nothing comes for while a node is gone does not keep what the node remembered
// of it until the node is declared again.
func TestM33DroppedStaysDroppedInKeys(t *testing.T) {
	t.Parallel()
	doc := func(nodes, from string) string {
		return graphOf("  a: { strategy: sequential }\n", "{ when: any }",
			"nodes:\n  n: { expr: a }\n"+nodes+"outputs:\n  out: { from: "+from+", sink: { drop: {} } }\n")
	}
	summed := doc("  s: { expr: 'rolling_sum(a, 100)' }\n", "s")
	r, cells := newRig(t, summed, keyed(nil)), map[string]checkpoint.Cell{}
	r.give("a", "x", 1)
	r.give("a", "z", 5)
	r.want(r.fire(), "out=1@1 out=5@2")
	r.want(r.become(cells, doc("", "n"), keyed(nil)), "[node s]")
	r.give("a", "x", 10)
	r.want(r.fire(), "out=10@3")
	r.want(r.become(cells, doc("", "n"), keyed(nil)), "[]")
	r.want(r.become(cells, summed, keyed(nil)), "[]")
	r.give("a", "x", 100)
	r.give("a", "z", 200)
	r.want(r.fire(), "out=100@4 out=200@5")
}

// M33: a graph that keeps nothing has nothing of an earlier declaration to go on from later: no
// state, and no books that the state is missing from.
func TestM33NothingIsKeptBehindDurabilityNone(t *testing.T) {
	t.Parallel()
	doc := graphOf("  a: { strategy: sequential }\n  b: {}\n", "{ when: any }",
		"nodes:\n  n: { expr: 'rolling_sum(a, 100)' }\noutputs:\n  out: { from: n, sink: { drop: {} } }\n")
	forgetful := func(c *Config) { c.Forgetful = true }
	r, cells := newRig(t, doc), map[string]checkpoint.Cell{}
	r.push("a", 1, 2, 3)
	r.fire()
	r.become(cells, doc, forgetful)
	r.sent["a"] = 0
	r.push("a", 10)
	r.want(r.fire(), "out=10@4")
	r.become(cells, doc)
	r.sent["a"] = 0
	r.push("a", 100)
	r.want(r.fire(), "out=100@5")
	if b := r.c.Look().Inputs[0].Books; b.Received != 1 || b.Consumed != 1 {
		t.Errorf("the books begin anew with the state: %+v", b)
	}
}
