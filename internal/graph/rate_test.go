package graph

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/node/nodetest"
	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/spec/lanes"
)

// makeRates puts nodes into two lanes with a cadence, in a third of the worlds. What it draws is beside the rest.
func (w *world) makeRates(seed uint64) {
	rnd := rand.New(rand.NewPCG(seed, 3))
	if rnd.IntN(3) > 0 {
		return
	}
	w.pacer = rnd
	for k := range 2 {
		w.decl.Lanes = append(w.decl.Lanes, spec.Lane{Name: "r" + strconv.Itoa(k+1), Kind: lanes.FixedRate,
			Period: time.Second, OverrunPolicy: lanes.DropTick})
	}
	for i := range w.decl.Nodes {
		d := &w.decl.Nodes[i]
		n := w.g.nodes[d.Name]
		if n.loop == nil && !n.term.freshens() && !slices.ContainsFunc(n.routes, (*term).freshens) && rnd.IntN(2) == 0 {
			n.rate = 1 + rnd.IntN(2)
			d.Lane.Name = "r" + strconv.Itoa(n.rate)
		}
	}
}

// freshens says that the term asks what has come in the epoch.
func (t *term) freshens() bool {
	return t != nil && (t.op == "fresh" || slices.ContainsFunc(t.args, (*term).freshens))
}

// drawTicks says which lanes tick in the next epoch: in half of them none.
func (w *world) drawTicks() uint64 {
	if w.pacer == nil || w.pacer.IntN(2) == 0 {
		return 0
	}
	return 1 + w.pacer.Uint64N(3)
}

const paced = `
lanes:
  slow: { fixed_rate: { period: 10s } }
  slower: { fixed_rate: { hz: 0.05, overrun_policy: catch_up_once } }
nodes:
  one: { expr: a + 1, lane: slow }
  two: { expr: a + 2, lane: slower }
  beside: { expr: a }
  sum: { expr: '(one ?? 0) + (two ?? 0)' }
outputs: { o: { from: one, sink: { drop: {} } } }
`

// M23: a node of a lane with a cadence runs in the ticks of the lane, in each of them and in no other epoch. In between
// it has the value that it had.
func TestM23NodesOfALaneRunAtItsTicks(t *testing.T) {
	t.Parallel()
	h := start(t, "a*", paced)
	rates := h.plan.Rates()
	if len(rates) != 2 || rates[0] != (Rate{"slow", 10 * time.Second, lanes.DropTick}) ||
		rates[1] != (Rate{"slower", 20 * time.Second, lanes.CatchUpOnce}) {
		t.Errorf("the lanes are %v", rates)
	}
	h.set("a", 1).fire().want("one idle; two idle; beside ran 1; sum ran 0").emits("")
	h.e.Ticks = 1
	h.fire().want("one ran 2; two idle; beside idle 1; sum ran 2").emits("o=2")
	h.e.Ticks = 0
	h.set("a", 5).fire().want("one idle 2; two idle; beside ran 5; sum idle 2").emits("")
	h.e.Ticks = 3
	h.fire().want("one ran 6; two ran 7; sum ran 13").emits("o=6")
	h.fire().want("one ran 6; two ran 7; sum ran 13").emits("o=6") // it rests on events: each run counts
	text, err := h.plan.JSON("g", "")
	if err != nil || !strings.Contains(string(text),
		`"rates":[{"name":"slow","nodes":["one"],"period":"10s","overrun_policy":"drop_tick"},`) {
		t.Errorf("the plan says %s, %v", text, err)
	}
	h = start(t, "a", paced)
	h.e.Ticks = 1
	h.set("a", 1).fire().want("one ran 2")
	h.fire().want("one cut_off 2").emits("")
}

// M23: what is due between two ticks is owed the run, across a restart, so that the node runs in the next epoch where
// it has no lane by then.
func TestM23WhatALaneOwes(t *testing.T) {
	t.Parallel()
	h := start(t, "a* b", paced)
	cells := map[int][]byte{}
	h.e.Ticks = 3
	h.set("b", 1).set("a", 1).keep(cells).want("one ran 2; two ran 3")
	h.e.Ticks = 0
	h.set("a", 5).keep(cells).want("one idle 2; two idle 3")
	owed := h.st.owed()
	h.set("a", 6).keep(cells).want("one idle 2; two idle 3")
	if h.st.owed() != owed {
		t.Error("what is owed still was noted anew")
	}
	if marks := touched(&h.r); slices.Contains(marks, h.nodes["one"]) {
		t.Error("a node of which nothing has changed is written again")
	}
	free := start(t, "a* b", strings.ReplaceAll(strings.ReplaceAll(paced, ", lane: slower", ""), ", lane: slow", ""))
	free.e, free.e.Ticks = h.e, 0
	free.reopen(cells, false)
	free.set("b", 2).fire().want("one ran 7; two ran 8; beside idle 6; sum ran 15")

	h.reopen(cells, false)
	h.e.Ticks = 1
	h.set("b", 3).keep(cells).want("one ran 7; two idle 3; sum ran 10")
	h.e.Ticks = 0
	h.reopen(cells, false)
	h.set("b", 4).keep(cells).want("one idle 7; two idle 3")
	if free := h.st.owed(); free == nil || free.Has(h.nodes["one"]) || !free.Has(h.nodes["two"]) {
		t.Errorf("owed is %v", free)
	}
}

// M23: an epoch over its budget leaves out a node whose lane ticks, and none that waits for its tick.
func TestM23ALaneThatDoesNotTickIsNotLate(t *testing.T) {
	t.Parallel()
	h, takes := hasty(t, "a*", "  n: { expr: a, lane: l }\nlanes: { l: { fixed_rate: { period: 1s } } }\n")
	*takes = 20
	h.set("a", 1).fire().want("slow ran 1; n idle")
	h.e.Ticks = 1
	h.set("a", 2).fire().want("slow ran 1; n failed")
	h.e.Ticks = 0
	*takes = 0
	h.set("a", 3).fire().want("slow ran 1; n idle")
	h.e.Ticks = 1
	h.fire().want("slow idle 1; n ran 3")
}

// M23: what cannot have a cadence of its own is refused, with the reason.
func TestM23RefusedInALaneWithACadence(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"nodes: { n: { expr: 'fresh(a) ? 1 : 2', lane: l } }": "nothing comes in a tick",
		"nodes: { n: { expr: '(n ?? 0) < a ? (n ?? 0) + 1 : n', lane: l } }\n" +
			"loops: { c: { nodes: [n] } }": "runs in the loop c",
		"reactor: { key: k }\nnodes: { n: { expr: a.x, lane: l } }": "the reactor has keys",
		// A lane that no node is in has ticks all the same.
		"reactor: { key: k }\nnodes: { n: { expr: a.x } }": "the reactor has keys",
	} {
		g := parse(t, "graph: g\naccumulators: { a: { strategy: sequential } }\n"+
			"lanes: { l: { fixed_rate: { period: 1s } } }\n"+text+"\n")
		_, diagnostics := Compile(g, inputsOf(g), nodetest.Nodes())
		if err := diagnostics.Err(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\ngives %v, want %s", text, err, want)
		}
	}
}
