package hands

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/graph"
	"github.com/graphd/graphd/internal/kind"
	"github.com/graphd/graphd/internal/node/expr"
	"github.com/graphd/graphd/internal/node/gofunc"
	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/spec/spectest"
)

// bench drives epochs of a plan with workers.
type bench struct {
	*testing.T
	plan  *graph.Plan
	hands *Hands
	st    *graph.State
	e     graph.Epoch
	r     graph.Result
	most  time.Duration
}

// newBench compiles nodes over the input a that call f.
func newBench(t *testing.T, most time.Duration, rest string, f gofunc.Function) *bench {
	t.Helper()
	nodes := []kind.Node{expr.Kind(), gofunc.Kind(map[string]gofunc.Function{"f": f})}
	kinds := spectest.Kinds()
	for _, n := range nodes {
		kinds.Nodes = append(kinds.Nodes, n.Kind)
	}
	g, diagnostics := spec.Parse([]byte("graph: g\naccumulators: { a: { strategy: sequential } }\n"+rest), kinds,
		spec.Options{})
	if err := diagnostics.Err(); err != nil {
		t.Fatal(err)
	}
	plan, diagnostics := graph.Compile(g, []graph.Input{{Name: "a", Type: expression.Any(), Event: true}}, nodes)
	if err := diagnostics.Err(); err != nil {
		t.Fatal(err)
	}
	b := &bench{T: t, plan: plan, hands: New(plan, most), st: plan.NewState(), most: most}
	b.e = graph.Epoch{Inputs: make([]boundary.Value, 1), Versions: make([]uint64, 1), Hands: b.hands}
	return b
}

// fire runs an epoch, and answers how long it took.
func (b *bench) fire(value int) (took time.Duration) {
	b.Helper()
	began := time.Now()
	b.e.Clock = func() int64 { return int64(time.Since(began)) }
	b.e.Interrupt = func() error {
		if time.Since(began) > b.most {
			return graph.ErrEpochTimeout
		}
		return nil
	}
	b.e.Number++
	b.e.Inputs[0], b.e.Versions[0] = boundary.Int(int64(value)), b.e.Stamp+1
	b.e.Stamp += 2
	if b.plan.Run(b.st, &b.e, &b.r); b.r.Err == nil {
		b.plan.Commit(b.st, &b.r)
	}
	return time.Since(began)
}

const sleepers = `lanes: { slow: { pool: { max_threads: %d } } }
nodes:
  p: { go: { name: f }, inputs: [a], lane: slow }
  q: { go: { name: f }, inputs: [a], lane: slow }
  r: { go: { name: f }, inputs: [a], lane: slow }
  s: { go: { name: f }, inputs: [a], lane: slow }
  all: { expr: p + q + r + s }
`

// M23: so many nodes of a pool are computed at one time, and no goroutine is left when nothing is.
func TestM23ThreadsOfAPool(t *testing.T) {
	for threads, want := range map[int]time.Duration{1: 4, 2: 2, 3: 2, 8: 1} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, time.Minute, fmt.Sprintf(sleepers, threads), func(_ []string, args []boundary.Value) (
				boundary.Value, error) {
				time.Sleep(time.Second)
				return args[0], nil
			})
			for i := range 3 {
				if took := b.fire(i); took != want*time.Second {
					t.Errorf("%d threads took %v, want %ds", threads, took, want)
				}
				if v := b.r.Node(4).Value.String(); b.r.Err != nil || v != fmt.Sprint(4*i) {
					t.Errorf("%d threads came to %s, %v", threads, v, b.r.Err)
				}
			}
			if told := b.hands.Told()["slow"]; told != (Told{Runs: 12}) {
				t.Errorf("told %+v", told)
			}
			b.hands.Close()
		})
	}
}

// M25: what has not come back when the time of the epoch is up is given up, and named; another works in its place. What
// it comes to at last is dropped, and counted, and the node runs again.
func TestM25LateResultIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan struct{})
		b := newBench(t, 5*time.Second, `lanes: { slow: { pool: { max_threads: 1 } } }
nodes:
  stuck: { go: { name: f }, inputs: [a], lane: slow, on_error: skip }
  other: { expr: a + 1, lane: slow }
`, func(_ []string, args []boundary.Value) (boundary.Value, error) {
			if n, _ := args[0].AsInt(); n == 1 {
				<-hold
			}
			return args[0], nil
		})
		if took := b.fire(1); took < 5*time.Second || took > 5*time.Second+10*time.Millisecond ||
			b.r.Err == nil || b.r.Err.Code != graph.CodeEpochTimeout || b.r.Err.Name != "stuck" {
			t.Fatalf("after %v: %v", took, b.r.Err)
		}
		node, since, lost := b.hands.Running()
		if node != 0 || !lost || time.Since(since) < 5*time.Second {
			t.Errorf("node %d, lost %v, since %v", node, lost, since)
		}
		for i := range 3 { // its one thread is not missed
			took := b.fire(2 + i)
			if got := b.r.Node(1).Value.String(); b.r.Err != nil || took != 0 || got != fmt.Sprint(3+i) {
				t.Errorf("%s after %v, %v", got, took, b.r.Err)
			}
			if err := b.r.Node(0).Err; err == nil || err.Code != graph.CodeStuckNode {
				t.Errorf("the node that is away: %v", err)
			}
		}
		if told := b.hands.Told()["slow"]; told != (Told{Runs: 3, Busy: 1, Lost: 1}) {
			t.Errorf("told %+v", told)
		}
		close(hold)
		synctest.Wait()
		if node, _, _ := b.hands.Running(); node != -1 {
			t.Errorf("node %d is still at work", node)
		}
		b.fire(9)
		if got := b.r.Node(0); got.Status != graph.Ran || got.Value.String() != "9" {
			t.Errorf("afterwards: %+v", got)
		}
		if told := b.hands.Told()["slow"]; told != (Told{Runs: 6, Late: 1}) {
			t.Errorf("told %+v", told)
		}
		b.hands.Close()
	})
}

// M25: it is the node that was at work for longest which is named, and not one before it in the plan that has waited
// for its thread.
func TestM25WhoHasNotComeBackIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan struct{})
		b := newBench(t, 5*time.Second, `lanes: { slow: { pool: { max_threads: 1 } }, quick: { pool: {} } }
nodes:
  given: { go: { name: f }, inputs: [a], lane: quick }
  waits: { go: { name: f }, inputs: [given], lane: slow, on_error: skip }
  more: { expr: a + 100 }
  stuck: { go: { name: f }, inputs: [more], lane: slow, priority: low }
`, func(_ []string, args []boundary.Value) (boundary.Value, error) {
			if n, _ := args[0].AsInt(); n >= 100 {
				<-hold
			}
			time.Sleep(time.Second)
			return args[0], nil
		})
		took := b.fire(1)
		if took < 5*time.Second || b.r.Err == nil || b.r.Err.Code != graph.CodeEpochTimeout || b.r.Err.Name != "stuck" {
			t.Fatalf("after %v: %v", took, b.r.Err)
		}
		for i, want := range []graph.Status{graph.Ran, graph.Ran, graph.Idle, graph.Failed} {
			if n := b.r.Node(i); n.Status != want {
				t.Errorf("%s: %+v, want %v", b.plan.Nodes()[i].Name, n, want)
			}
		}
		close(hold)
		b.hands.Close()
	})
}

// M25: with reentrant a node may run again while so many of its runs are away.
func TestM23Reentrant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan struct{})
		b := newBench(t, time.Second, `lanes: { slow: { pool: { max_threads: 1, reentrant: 3 } } }
nodes: { stuck: { go: { name: f }, inputs: [a], lane: slow } }
`, func(_ []string, args []boundary.Value) (boundary.Value, error) {
			<-hold
			return args[0], nil
		})
		for i := range 5 {
			want := graph.CodeEpochTimeout
			if i >= 3 {
				want = graph.CodeStuckNode
			}
			if b.fire(i); b.r.Err == nil || b.r.Err.Code != want {
				t.Errorf("epoch %d: %v, want %s", i+1, b.r.Err, want)
			}
		}
		if told := b.hands.Told()["slow"]; told.Lost != 3 {
			t.Errorf("told %+v", told)
		}
		close(hold) // they come back at one time, each with what is its own
		b.fire(7)
		if got := b.r.Node(0); b.r.Err == nil && got.Value.String() != "7" {
			t.Errorf("afterwards: %+v", got)
		}
		b.hands.Close()
	})
}

// A run that waited for a thread when the epoch was given up never runs.
func TestM25WhatWaitsIsDroppedToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan struct{})
		calls := 0
		b := newBench(t, time.Second, fmt.Sprintf(sleepers, 1), func(_ []string, args []boundary.Value) (
			boundary.Value, error) {
			calls++
			<-hold
			return args[0], errors.New("late")
		})
		b.fire(1)
		if told := b.hands.Told()["slow"]; told != (Told{Busy: 1, Lost: 1}) {
			t.Errorf("told %+v", told)
		}
		close(hold)
		b.hands.Close()
		if calls != 1 {
			t.Errorf("%d runs, want one", calls)
		}
	})
}

// What runs take is told when they have ended, each for itself, of what was given up too; that the reactor waits for
// them is no work. What is at work when all is over can be waited for.
func TestTimeOfRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 5*time.Second, fmt.Sprintf(sleepers, 2), func(_ []string, args []boundary.Value) (
			boundary.Value, error) {
			n, _ := args[0].AsInt()
			time.Sleep(time.Duration(n) * time.Second)
			return args[0], nil
		})
		var told time.Duration
		b.hands.Bill(func(took time.Duration) { told += took })
		work := b.hands.Begin()
		if took := b.fire(1); took != 2*time.Second || told != 4*time.Second || work.Took() != 0 {
			t.Errorf("four seconds in two threads took %v; told %v, and the reactor has worked for %v", took, told,
				work.Took())
		}
		time.Sleep(time.Second)
		if work.Took() != time.Second {
			t.Errorf("the reactor has worked for %v", work.Took())
		}
		began, work := time.Now(), b.hands.Begin()
		b.fire(10) // p and q are at work when the time of the epoch is up
		if synctest.Wait(); told != 4*time.Second || work.Took() != 0 {
			t.Errorf("given up: told %v, and the reactor has worked for %v", told, work.Took())
		}
		if nodes := b.hands.Leave(); fmt.Sprint(nodes) != "[0 1]" {
			t.Errorf("the nodes %v are at work", nodes)
		}
		b.hands.Await(2)
		if time.Since(began) > 6*time.Second {
			t.Error("a node that is not at work was waited for")
		}
		b.hands.Await(1)
		if took := time.Since(began); took != 10*time.Second {
			t.Errorf("it was waited for until %v after they began", took)
		}
		b.hands.Close()
		if told != 24*time.Second || b.hands.Leave() != nil {
			t.Errorf("at the end: told %v, at work %v", told, b.hands.Leave())
		}
	})
}
