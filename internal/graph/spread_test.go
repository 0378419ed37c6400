package graph

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/node/nodetest"
)

// M23: a wave that waits for what its rank rests on holds up nothing that rests on none of that: what stands before it
// in the plan and what stands behind it.
func TestM23AWaveHoldsUpNothingElse(t *testing.T) {
	t.Parallel()
	h := start(t, "a*", `
lanes: { slow: { pool: { queue_capacity: 1, overflow: drop_newest } }, other: { pool: {} } }
nodes:
  away: { expr: a, lane: other }
  first: { expr: a + 1, lane: other }
  inline: { expr: a + 2 }
  up: { expr: inline }
  on: { expr: first }
  before: { expr: on, priority: high }
  one: { expr: up + 1, lane: slow }
  two: { expr: up + 2, lane: slow }
  behind: { expr: up + 3, priority: low }
`)
	h.set("a", 1).fire()
	s := h.script("", "first", "away", "one")
	done := func(names ...string) {
		for _, name := range names {
			if status := h.r.status[h.nodes[name]]; status != Ran {
				t.Errorf("%s is %v", name, status)
			}
		}
	}
	s.looks = func(next string) {
		switch next {
		case "first":
			done("up", "behind")
		case "away":
			done("before")
		}
		if s.given["one"] != nil && next == "away" {
			t.Error("a node was given before it was known which of its rank are due")
		}
	}
	h.set("a", 2).fire().want("before ran 3; one ran 5; two failed; behind ran 7")
}

// borrowing hands out runs whose values it looks at.
type borrowing struct {
	*crew
	look func(w *Run)
}

func (b *borrowing) Give(w *Run) {
	b.look(w)
	b.crew.Give(w)
}

// A run has no values of its own, so that what pools take does not grow with the square of the plan, and holds none
// when it has been taken.
func TestRunsReadTheValuesOfTheirEpoch(t *testing.T) {
	t.Parallel()
	h := start(t, "a*", `
lanes: { slow: { pool: {} } }
nodes: { one: { expr: a, lane: slow }, two: { expr: one, lane: slow } }
`)
	given := 0
	h.e.Hands = &borrowing{newCrew(2), func(w *Run) {
		if given++; &w.env.Values[0] != &h.r.env.Values[0] {
			t.Error("a run has values of its own")
		}
	}}
	h.set("a", 1).fire().want("one ran 1; two ran 1")
	for _, w := range h.r.runs {
		if w != nil && (w.env.Values != nil || !w.out.Value.IsAbsent()) {
			t.Errorf("the run of node %d holds values", w.node)
		}
	}
	if given == 0 {
		t.Error("nothing was given")
	}
}

// peeking reads its input when it is let.
type peeking struct {
	at  int
	let chan struct{}
	saw chan boundary.Value
}

// Eval implements [kind.Evaluator].
func (p peeking) Eval(env *expression.Env) (boundary.Value, error) {
	<-p.let
	p.saw <- env.Values[p.at]
	return env.Values[p.at], nil
}

// leaving are hands whose runs never come back in the time of their epoch.
type leaving struct{ lost int }

func (l *leaving) Give(w *Run) {
	l.lost++
	go w.Do() // joined by what it saw
}

func (*leaving) Take(time.Duration, func() error) (*Run, error) { return nil, ErrEpochTimeout }
func (*leaving) Drop() int                                      { return -1 }
func (l *leaving) Away(int) int                                 { return l.lost }

// M25: what was given up goes on with the values of its own epoch, whatever the epochs after it come to.
func TestM25WhatIsAwayReadsItsOwnEpoch(t *testing.T) {
	t.Parallel()
	h := start(t, "a*", `
lanes: { slow: { pool: {} } }
nodes:
  before: { expr: a }
  away: { expr: before, lane: slow, on_error: skip }
`)
	p := peeking{len(h.plan.inputs) + h.nodes["before"], make(chan struct{}), make(chan boundary.Value, 1)}
	h.plan.steps[h.nodes["away"]].program = p
	h.e.Hands = &leaving{}
	h.set("a", 1).run().fails(CodeEpochTimeout, "away")
	for i := range 3 {
		h.set("a", 2+i).fire().want(fmt.Sprintf("before ran %d; away failed", 2+i))
	}
	close(p.let)
	if v := <-p.saw; v.String() != "1" {
		t.Errorf("it reads %s, and its epoch had 1", v)
	}
}

// counting is a table of every number.
type counting struct{ rows int }

func (*counting) Row(key boundary.Value) (boundary.Value, bool)  { return key, true }
func (c *counting) Len() int                                     { return c.rows }
func (c *counting) All() iter.Seq2[boundary.Key, boundary.Value] { return nil }

// M23: the rows that a record tells are those that the nodes look up one after the other, whoever was first.
func TestM23LooksAreInTheOrderOfThePlan(t *testing.T) {
	t.Parallel()
	const looks = `map([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14], t[# * %d + a])`
	doc := "graph: g\naccumulators: { a: { strategy: sequential }, t: { strategy: latest } }\n" +
		"lanes: { slow: { pool: {} } }\nnodes:\n  early: { expr: a, lane: slow }\n  inline: { expr: a }\n" +
		"  fails: { expr: 'early > 2 ? 1 / (early - early) : 0', lane: slow, priority: high }\n"
	for i := range 5 {
		doc += fmt.Sprintf("  n%d: { expr: '[%s, %s]', priority: %s }\n", i, []string{"early", "inline"}[i%2],
			fmt.Sprintf(looks, i+1), []string{"normal", "low"}[i%2])
	}
	g := parse(t, doc)
	inputs := inputsOf(g)
	inputs[1].Type = expression.TableOf(expression.Any(), expression.Any())
	plan, diagnostics := Compile(g, inputs, nodetest.Nodes())
	if err := diagnostics.Err(); err != nil {
		t.Fatal(err)
	}
	h := &harness{t: t, plan: plan, st: plan.NewState(), names: map[string]int{"a": 0, "t": 1}}
	h.e.Inputs, h.e.Versions = make([]boundary.Value, 2), make([]uint64, 2)
	h.e.Inputs[1], h.e.Versions[1] = boundary.Table(&counting{}), 1
	for n := range 5 {
		told := func(hands Hands) string {
			h.e.Looks, h.e.Hands = &expression.Looks{}, hands
			h.run()
			var keys []string
			for _, l := range h.e.Looks.List {
				keys = append(keys, l.Key.String())
			}
			return strings.Join(keys, " ")
		}
		h.set("a", n)
		want := told(nil)
		if rows := len(strings.Fields(want)); (rows == 32) != (n <= 2) {
			t.Fatalf("a = %d: %d rows are told", n, rows)
		}
		for _, threads := range []int{1, 8} {
			if got := told(newCrew(threads)); got != want {
				t.Errorf("a = %d, %d workers look up\n%s\nnot\n%s", n, threads, got, want)
			}
		}
	}
}

// M29, M21: which node the room of an epoch is too small for depends in a pool on who was first. So that ends an epoch
// of a graph with a journal, in whatever order its nodes come back, and inline.
func TestM29RoomOfAnEpochWithAJournal(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("x", 10<<20)
	for mode, ends := range map[string]bool{"journal": true, "checkpoint": false} {
		var nodes strings.Builder
		nodes.WriteString("durability: { mode: " + mode + " }\nlanes: { slow: { pool: {} } }\nnodes:\n")
		var order []string
		for i := range 9 { // of 60 MiB each, which they share
			fmt.Fprintf(&nodes, "  n%d: { expr: '[a, a, a, a, a, a, %d]', on_error: skip, lane: slow }\n", i, i)
			order = append(order, fmt.Sprintf("n%d", i))
		}
		h := start(t, "a", nodes.String())
		h.set("a", text)
		for n := range 3 {
			h.e.Hands = nil
			if n > 0 {
				rand.New(rand.NewPCG(uint64(n), 1)).Shuffle(len(order), func(i, k int) {
					order[i], order[k] = order[k], order[i]
				})
				h.script("", order...)
			}
			if h.run(); (h.r.Err != nil) != ends || ends && h.r.Err.Code != expression.CodeLimitExceeded {
				t.Errorf("%s, try %d: %v", mode, n, h.r.Err)
			}
		}
	}
	// What is too large by itself is so in any order, and on_error decides.
	h := start(t, "a", "durability: { mode: journal }\nlanes: { slow: { pool: {} } }\n"+
		"nodes: { n: { expr: '[a, a, a, a, a, a, a]', on_error: skip, lane: slow } }\n")
	h.e.Hands = newCrew(1)
	h.set("a", text).fire().want("n failed")
}
