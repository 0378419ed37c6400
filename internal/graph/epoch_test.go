package graph

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/graphd/graphd/internal/boundary"
)

// settled is a node that was evaluated and is to be settled.
type settled struct {
	node int
	o    Outcome
}

// driveShuffled drives an epoch as two workers would that answer whenever they like: nodes
// are given out ahead of those that are out, and settled in any order. order, when given, is
// told every node that is settled.
func driveShuffled(rnd *rand.Rand, p *Plan, st *State, e *Epoch, r *Result, order func(node int, o Outcome)) {
	p.Begin(st, e, r)
	e.Inputs, e.Versions = nil, nil // what is open holds its own
	var workers [2]worker
	var out []settled
	for {
		for len(out) < 1+rnd.IntN(4) {
			i, ok := r.Ready()
			if !ok {
				break
			}
			out = append(out, settled{i, workers[rnd.IntN(2)].Evaluate(r, i)})
		}
		if len(out) == 0 {
			if _, more := r.Ready(); !more {
				break
			}
			panic("a node became ready by asking twice")
		}
		k := rnd.IntN(len(out))
		r.Settle(out[k].node, out[k].o)
		if order != nil {
			order(out[k].node, out[k].o)
		}
		out = slices.Delete(out, k, k+1)
	}
	r.Finish()
}

// runShuffled drives the epoch that w.r has just been through inline once more, by two
// workers, and holds what it comes to against that. An interruption comes before the same node.
func (w *world) runShuffled(e Epoch, seen map[string]int) error {
	inline, r := w.r, w.shuffled
	e.Interrupt = func() error {
		if inline.Err != nil && inline.Err.Code == CodeCancelled && r.nextReady() >= inline.Err.Node {
			return errors.New("enough")
		}
		return nil
	}
	last := -1
	driveShuffled(w.Rand, w.plan, w.st, &e, r, func(node int, o Outcome) {
		if node < last {
			seen["settled out of order"]++
			if o.Err != nil {
				seen["failed out of order"]++
			}
		}
		last = node
	})
	return sameResults(w.plan, r, inline)
}

// sameResults says what two ways to drive an epoch differ in.
func sameResults(p *Plan, got, want *Result) error {
	if g, w := fmt.Sprintf("%+v", got.Err), fmt.Sprintf("%+v", want.Err); g != w {
		return fmt.Errorf("error: got %s, want %s", g, w)
	}
	for i := range p.Nodes() {
		g, w := got.Node(i), want.Node(i)
		if g.Status != w.Status || g.Ended != w.Ended || g.Iterations != w.Iterations ||
			g.NoRoute != w.NoRoute || !boundary.Equal(g.Value, w.Value) ||
			fmt.Sprint(g.Err) != fmt.Sprint(w.Err) {
			return fmt.Errorf("%s: got %+v, want %+v", p.Nodes()[i].Name, g, w)
		}
	}
	if !slices.Equal(got.DeadNodes, want.DeadNodes) {
		return fmt.Errorf("dead nodes: got %v, want %v", got.DeadNodes, want.DeadNodes)
	}
	if !slices.EqualFunc(got.Emitted, want.Emitted, func(a, b Emission) bool {
		return a.Output == b.Output && boundary.Equal(a.Value, b.Value)
	}) {
		return fmt.Errorf("emitted: got %v, want %v", got.Emitted, want.Emitted)
	}
	if g, w := touched(got), touched(want); !slices.Equal(g, w) {
		return fmt.Errorf("touched cells: got %v, want %v", g, w)
	}
	return nil
}

// M23: 1, 2 and 8 workers on goroutines of their own come to what the inline way comes to;
// under the race detector this also holds that a worker reads what is final, and no more.
func TestM23WorkersGiveTheSameResult(t *testing.T) {
	t.Parallel()
	var nodes strings.Builder
	nodes.WriteString("nodes:\n")
	rnd := rand.New(rand.NewPCG(5, 5))
	for i := range 60 {
		under := "a"
		if i > 5 {
			under = fmt.Sprintf("n%d ?? 0) + (n%d ?? 1", rnd.IntN(i), rnd.IntN(i))
		}
		fmt.Fprintf(&nodes, "  n%d: { expr: '(%s) %% 7 + ema(a, 3)', on_error: %s }\n", i, under,
			[]string{"skip", "dead_letter", "last_good"}[rnd.IntN(3)])
	}
	nodes.WriteString("outputs: { o: { from: n59, sink: { drop: {} }, emit: on_change } }\n")
	inline := start(t, "a*", nodes.String())
	for _, workers := range []int{1, 2, 8} {
		h := start(t, "a*", nodes.String())
		inline.st, inline.e.Number, inline.e.Stamp = inline.plan.NewState(), 0, 0
		for i := range 30 {
			inline.set("a", i%5).fire()
			h.set("a", i%5)
			h.e.Number++
			h.e.Stamp++
			driveConcurrently(workers, h.plan, h.st, &h.e, &h.r)
			if err := sameResults(h.plan, &h.r, &inline.r); err != nil {
				t.Fatalf("%d workers, epoch %d: %v", workers, i, err)
			}
			h.plan.Commit(h.st, &h.r)
		}
	}
}

// driveConcurrently drives an epoch with so many goroutines that evaluate.
func driveConcurrently(workers int, p *Plan, st *State, e *Epoch, r *Result) {
	p.Begin(st, e, r)
	ready, done := make(chan int, len(p.Nodes())), make(chan settled, len(p.Nodes()))
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			var w worker
			for i := range ready {
				done <- settled{i, w.Evaluate(r, i)}
			}
		})
	}
	for out := 0; ; out-- {
		for i, ok := r.Ready(); ok; i, ok = r.Ready() {
			ready <- i
			out++
		}
		if out == 0 {
			break
		}
		d := <-done
		r.Settle(d.node, d.o)
	}
	close(ready)
	all.Wait()
	r.Finish()
}

const twoBranches = `
nodes:
  slow: { expr: 'a > 5 ? 1 / 0 : a' }
  fast: { expr: 'a > 7 ? 1 / 0 : a + 1' }
  behind_slow: { expr: slow * 10 }
  behind_fast: { expr: fast * 10 }
  join: { expr: behind_slow + behind_fast }
outputs: { o: { from: join, sink: { drop: {} } } }
`

// open begins an epoch with a new value of a.
func (h *harness) open(a int) {
	h.set("a", a)
	h.e.Number++
	h.e.Stamp++
	h.plan.Begin(h.st, &h.e, &h.r)
}

// give asks for ready nodes until there is none, and returns their names.
func (h *harness) give() string {
	var names []string
	for i, ok := h.r.Ready(); ok; i, ok = h.r.Ready() {
		names = append(names, h.plan.Nodes()[i].Name)
	}
	return strings.Join(names, " ")
}

// settle evaluates and settles a node.
func (h *harness) settle(name string) {
	var w worker
	h.r.Settle(h.nodes[name], w.Evaluate(&h.r, h.nodes[name]))
}

// M14, M15: what is ready comes in plan order; a node is ready only when all it rests on is
// final, and what is out keeps no other branch waiting.
func TestM15ReadyWaitsForWhatIsOut(t *testing.T) {
	t.Parallel()
	h := start(t, "a", twoBranches)
	want := func(got, want string) {
		t.Helper()
		if got != want {
			t.Fatalf("ready: got %q, want %q", got, want)
		}
	}
	h.open(1)
	want(h.give(), "slow fast")
	h.settle("fast")
	want(h.give(), "behind_fast") // and not join, which rests on slow
	h.settle("behind_fast")
	want(h.give(), "")
	h.settle("slow")
	want(h.give(), "behind_slow")
	h.settle("behind_slow")
	want(h.give(), "join")
	h.settle("join")
	want(h.give(), "")
	h.r.Finish()
	h.want("slow ran 1; fast ran 2; behind_slow ran 10; behind_fast ran 20; join ran 30").emits("o=30")
}

// M21, M23: which failure ends the epoch is decided by the plan's order and not by who
// answers first, and what comes after it has not run, though it has been settled.
func TestM21TheFirstFailureOfThePlanEndsTheEpoch(t *testing.T) {
	t.Parallel()
	h := start(t, "a", twoBranches)
	h.open(8)
	if got := h.give(); got != "slow fast" {
		t.Fatalf("ready: %s", got)
	}
	h.settle("fast")
	h.settle("slow")
	if got := h.give(); got != "" {
		t.Fatalf("ready after a failure: %s", got)
	}
	h.r.Finish()
	h.fails("not_finite", "slow").want("slow failed; fast idle; behind_fast idle")
	h.open(6) // slow fails; fast and what is behind it had been through before
	h.give()
	h.settle("fast")
	h.give()
	h.settle("behind_fast")
	h.settle("slow")
	h.r.Finish()
	h.fails("not_finite", "slow").want("slow failed; fast idle; behind_slow idle; behind_fast idle")
}

// M22: the cut lives as long as the epoch: what was handed to Begin may be used for the next
// one while nodes are out.
func TestM22TheCutLivesAsLongAsTheEpoch(t *testing.T) {
	t.Parallel()
	h := start(t, "a b", "nodes: { x: { expr: a }, y: { expr: x + b } }\n"+
		"outputs: { o: { from: y, sink: { drop: {} } }, raw: { from: b, sink: { drop: {} } } }\n")
	h.set("b", 10)
	h.open(1)
	h.give()
	h.e.Inputs[0], h.e.Inputs[1], h.e.Versions[1], h.e.Stamp = boundary.Int(7), boundary.Int(70), 0, 0
	h.e.Number, h.e.Key = 99, boundary.Int(4)
	h.settle("x")
	h.give()
	h.settle("y")
	h.r.Finish()
	h.want("x ran 1; y ran 11").emits("o=11 raw=10")
}

// M25: what is out is given up by Cancel; its late result changes nothing, and the epoch
// ends before the first node that had not been settled.
func TestM25CancelGivesUpWhatIsOut(t *testing.T) {
	t.Parallel()
	h := start(t, "a", twoBranches)
	h.open(1)
	h.give()
	h.settle("slow")
	h.give()
	h.settle("behind_slow")
	h.r.Cancel(ErrEpochTimeout)
	h.settle("fast")
	h.r.Finish()
	h.fails(CodeEpochTimeout, "fast").want("slow ran 1; fast idle; behind_slow idle")
	h.set("a", 2).fire().want("slow ran 2; fast ran 3; join ran 50")
}

// M21, M25: what the functions of a node that is given up remembered is taken back.
func TestM25CancelTakesMemoriesBack(t *testing.T) {
	t.Parallel()
	h := start(t, "a*", "nodes: { n: { expr: 'lag(a)' } }\n")
	h.set("a", 1).fire()
	h.open(2)
	h.give()
	var w worker
	w.Evaluate(&h.r, 0)
	h.r.Cancel(context.Canceled)
	h.r.Finish()
	h.fails(CodeCancelled, "n").set("a", 3).fire().want("n ran 1")
}

// An epoch that is not through cannot be finished by mistake.
func TestFinishRefusesAnOpenEpoch(t *testing.T) {
	t.Parallel()
	h := start(t, "a", twoBranches)
	h.open(1)
	defer func() {
		if recover() == nil {
			t.Error("an epoch with nodes to run was finished")
		}
	}()
	h.r.Finish()
}
