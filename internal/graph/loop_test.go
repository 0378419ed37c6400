package graph

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/node/nodetest"
)

// settling agree on half of a and a.
const settling = `
loops: { settle: { nodes: [price, demand], max_iterations: 60 } }
nodes:
  price: { expr: '(demand ?? 0) / 2' }
  demand: { expr: 'a + price / 2' }
  told: { expr: '[price, demand]' }
outputs: { o: { from: told, sink: { drop: {} } } }
`

// M18: a loop runs until an iteration changes nothing, and what is behind it sees the last one alone.
func TestLoopSettles(t *testing.T) {
	t.Parallel()
	h := start(t, "a* b*", settling)
	h.set("a", 3).fire().want("price ran 2; demand ran 4; told ran [2,4]").emits("o=[2,4]")
	n := h.r.Node(h.nodes["price"])
	if n.Ended != Settled || n.Iterations < 5 || n.Iterations > 60 || h.r.Node(h.nodes["told"]).Ended != NotLooped {
		t.Errorf("got %v after %d iterations", n.Ended, n.Iterations)
	}
	h.set("b", 1).fire().want("price idle 2; demand idle 4; told idle [2,4]")
	if n := h.r.Node(h.nodes["price"]); n.Ended != NotLooped || n.Iterations != 0 {
		t.Errorf("a loop that was not due: got %v after %d iterations", n.Ended, n.Iterations)
	}
	h.set("a", 6).fire().want("price ran 4; demand ran 8; told ran [4,8]")
}

// M18: until ends a loop, and iteration() counts.
func TestLoopUntil(t *testing.T) {
	t.Parallel()
	h := start(t, "a* b*", `
loops: { count: { nodes: [n, twice], until: 'twice >= a + (b ?? 0)' } }
nodes:
  n: { expr: '(n ?? 0) + 1 + (twice ?? 0) * 0' }
  twice: { expr: 'n + iteration()' }
`)
	h.set("a", 7).fire().want("n ran 4; twice ran 8")
	if n := h.r.Node(h.nodes["n"]); n.Ended != Until || n.Iterations != 4 {
		t.Errorf("got %v after %d iterations", n.Ended, n.Iterations)
	}
	h.set("b", 2).fire().want("n ran 5; twice ran 10") // what until reads makes the loop due
}

// M18: what has not ended is discarded, committed, or fails the epoch.
func TestLoopWithoutConvergence(t *testing.T) {
	t.Parallel()
	rest := func(on string) string {
		return `
loops: { up: { nodes: [n], max_iterations: 5, until: n > a, on_no_convergence: ` + on + ` } }
nodes:
  n: { expr: '(n ?? 0) + 1' }
  told: { expr: 'n ?? -1' }
`
	}
	h := start(t, "a*", rest("discard"))
	h.set("a", 9).fire().want("n failed; told ran -1")
	if err := h.r.Node(h.nodes["n"]).Err; err == nil || err.Code != CodeNoConvergence {
		t.Errorf("got %v", err)
	}
	h.set("a", 2).fire().want("n ran 3; told ran 3")
	h.set("a", 9).fire().want("n failed 3; told idle 3")
	h = start(t, "a*", rest("commit"))
	h.set("a", 9).fire().want("n ran 5; told ran 5")
	h = start(t, "a*", rest("fail"))
	h.set("a", 2).fire().want("n ran 3")
	h.set("a", 9).run().fails(CodeNoConvergence, "n").want("told idle 3")
	h.set("a", 3).fire().want("n ran 4; told ran 4")
}

// M18: every epoch begins anew; who wants to go on reads the last epoch beside the loop.
func TestLoopBeginsAnew(t *testing.T) {
	t.Parallel()
	h := start(t, "a*", `
loops:
  up: { nodes: [n], max_iterations: 1, on_no_convergence: commit }
  on: { nodes: [m], max_iterations: 1, on_no_convergence: commit }
nodes:
  n: { expr: '(n ?? 10) + a' }
  last: { expr: m, delay: [m] }
  m: { expr: '(m ?? last ?? 10) + a' }
`)
	h.set("a", 1).fire().want("n ran 11; m ran 11")
	h.set("a", 2).fire().want("n ran 12; m ran 13")
}

// M18, M21: an error in an iteration ends the epoch, unless the node may be skipped in it.
func TestLoopErrors(t *testing.T) {
	t.Parallel()
	h := start(t, "a*", `
loops: { down: { nodes: [n, m], max_iterations: 9, until: n == 0 } }
nodes:
  n: { expr: '(n ?? a) - 1 + 0 * (m ?? 0)' }
  m: { expr: '6 / (n - 1) + 0 * (m ?? 0) + n', on_error: skip }
  k: { expr: 'm ?? -1' }
`)
	h.set("a", 4).fire().want("n ran 0; m ran -6; k ran -6")
	h.set("a", 1).fire().want("n ran 0; m ran -6; k ran -6")
	h = start(t, "a*", `
loops: { down: { nodes: [n, m], max_iterations: 9, until: n == 0 } }
nodes:
  n: { expr: '(m ?? a) - 1' }
  m: { expr: '6 / (n - 1) * 0 + n' }
`)
	h.set("a", 1).fire().want("n ran 0; m ran 0")
	h.set("a", 4).run().fails("not_finite", "m").want("n idle 0")
	h.set("a", 1).fire().want("n ran 0; m ran 0")
}

// M15, M18: a loop whose condition reads what is absent is skipped as a node is, once no iteration could change that:
// the first that comes to nothing new, at once where what is absent is none of its nodes, and at the latest the last.
func TestLoopWithNothingToRead(t *testing.T) {
	t.Parallel()
	const rest = ", max_iterations: 100, on_no_convergence: fail } }\nnodes:\n"
	for _, c := range []struct {
		doc        string
		iterations int32
	}{
		{"loops: { l: { nodes: [x], until: x > b" + rest + "  x: { expr: '(x ?? 0) + b + a * 0' }\n", 1},
		{"loops: { l: { nodes: [x], until: x > a" + rest + "  x: { expr: '(x ?? 0) + b + a * 0' }\n", 1},
		{"loops: { l: { nodes: [x], until: x > b" + rest + "  x: { expr: '(x ?? 0) + a' }\n", 1},
		{"loops: { l: { nodes: [y, x], until: x > a" + rest + "  x: { expr: y + b }\n" +
			"  y: { expr: '(x ?? 0) + a' }\n", 2},
		{"loops: { l: { nodes: [x], until: 'a > 5 || x > b'" + rest + "  x: { expr: '(x ?? 0) + a' }\n", 100},
		{"loops: { l: { nodes: [y, x], until: 'x > 1'" + rest + "  x: { expr: y + b }\n" +
			"  y: { expr: '(x ?? 0) + iteration()' }\n", 100},
		{"loops: { l: { nodes: [x], until: x > 5 and b > 0" + rest + "  x: { expr: '(x ?? 0) + a' }\n", 100},
	} {
		h := start(t, "a* b*", c.doc)
		h.set("a", 2).fire().want("x skipped")
		n := h.r.Node(h.nodes["x"])
		if n.Ended != Unready || n.Iterations != c.iterations {
			t.Errorf("%s: %v after %d iterations, want %d", c.doc, n.Ended, n.Iterations, c.iterations)
		}
		h.set("b", 1).fire()
		if n := h.r.Node(h.nodes["x"]); n.Ended != Until || n.Status != Ran {
			t.Errorf("%s: once there is something: %v, %v", c.doc, n.Ended, n.Status)
		}
	}
}

// M18: what until finds absent in one iteration it may not come to read in the next.
func TestLoopEndsByItsOtherSide(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ until, x, want string }{
		{"iteration() >= 7 || x > b", "(x ?? 0) + a", "x ran 14"},
		{"x >= 10 ? true : x > b", "(x ?? 0) + a", "x ran 10"},
		{"x > (iteration() > 3 ? 0 : b)", "(x ?? 0) * 0 + a", "x ran 2"},
	} {
		h := start(t, "a* b*",
			"loops: { l: { nodes: [x], until: '"+c.until+"' } }\nnodes: { x: { expr: '"+c.x+"' } }\n")
		h.set("a", 2).fire().want(c.want)
		if n := h.r.Node(h.nodes["x"]); n.Ended != Until {
			t.Errorf("%s: %v after %d iterations", c.until, n.Ended, n.Iterations)
		}
	}
}

// M15, M18: that a loop was skipped says nothing of the next one.
func TestLoopAfterOneThatIsSkipped(t *testing.T) {
	t.Parallel()
	h := start(t, "a* b*", `
loops: { l: { nodes: [x], until: x > b }, m: { nodes: [y], max_iterations: 4, on_no_convergence: commit } }
nodes: { x: { expr: '(x ?? 0) + a' }, y: { expr: '(y ?? 0) + a' } }
`)
	h.set("a", 2).fire().want("x skipped; y ran 8")
}

// M18: where nothing has changed the next iteration may be another one all the same, for it has another number.
func TestLoopGoesOnByItsNumber(t *testing.T) {
	t.Parallel()
	h := start(t, "a* b*", `
loops: { l: { nodes: [x, y], until: y > 3, max_iterations: 9 } }
nodes:
  x: { expr: '(y ?? 0) * 0 + (iteration() > 5 ? a : b)', on_error: skip }
  y: { expr: x + 3 }
`)
	h.set("a", 2).fire().want("x ran 2; y ran 5")
}

// M18: a node of the loop that comes late in it is waited for.
func TestLoopWaitsForItsNodes(t *testing.T) {
	t.Parallel()
	h := start(t, "a*", `
loops: { l: { nodes: [n, far, done], until: done > 0, max_iterations: 50 } }
nodes:
  n: { expr: '(n ?? 0) + 1 + (done ?? 0) * 0' }
  far: { route: [{ far_enough: n > a }] }
  done: { expr: n, after: far.far_enough }
`)
	h.set("a", 7).fire().want("done ran 8")
}

// M25: a loop that iterates for long is told of while it does, as its first node.
func TestALongLoopIsToldOf(t *testing.T) {
	t.Parallel()
	h := start(t, "a*", "loops: { l: { nodes: [x, y], max_iterations: 1000, until: x > a } }\nnodes:\n"+
		"  first: { expr: a }\n  x: { expr: '(y ?? first) + 1' }\n  y: { expr: x }\n")
	var told []int
	h.e.Foreign = func(node int) { told = append(told, node) }
	h.set("a", 2).fire().want("x ran 3")
	if told != nil {
		t.Errorf("of one that ends soon: %v", told)
	}
	h2 := start(t, "a*", "loops: { l: { nodes: [x, y], max_iterations: 1000, until: x > 500 } }\nnodes:\n"+
		"  first: { expr: a }\n  x: { expr: '(y ?? first) + 1' }\n  y: { expr: x }\n")
	h2.e.Foreign = h.e.Foreign
	h2.set("a", 2).fire().want("x ran 501")
	if want := []int{h2.nodes["x"], -1}; !slices.Equal(told, want) {
		t.Errorf("got %v, want %v", told, want)
	}
}

// M25: an epoch is ended between iterations too.
func TestLoopIsInterrupted(t *testing.T) {
	t.Parallel()
	h := start(t, "a*", strings.ReplaceAll(settling, "60", "60, until: 1 > 2"))
	for _, allowed := range []int{0, 1, 2, 5, 17} {
		left := allowed
		h.e.Interrupt = func() error {
			if left--; left < 0 {
				return errors.New("enough")
			}
			return nil
		}
		h.set("a", 3).run().fails(CodeCancelled, "price").want("price idle; demand idle; told idle")
	}
}

// M23: a loop that a worker runs comes to the same, whatever else is out.
func TestLoopByWorkers(t *testing.T) {
	t.Parallel()
	inline, h := start(t, "a* b*", settling), start(t, "a* b*", settling)
	h.shuffle = rand.New(rand.NewPCG(1, 2))
	for i := range 20 {
		inline.set("a", i).fire()
		h.set("a", i).fire()
		if err := sameResults(h.plan, &h.r, &inline.r); err != nil {
			t.Fatal(err)
		}
	}
}

// M23: on goroutines of their own too, where the race detector holds that a loop reads what is final, and no more.
func TestLoopBesideOtherWork(t *testing.T) {
	t.Parallel()
	var nodes strings.Builder
	nodes.WriteString("loops: { l: { nodes: [x, y], max_iterations: 60 } }\nnodes:\n" +
		"  x: { expr: '(y ?? 0) / 2' }\n  y: { expr: 'a + x / 2' }\n")
	for i := range 40 {
		fmt.Fprintf(&nodes, "  n%d: { expr: 'a * %d + (b ?? 0)' }\n", i, i)
	}
	inline, h := start(t, "a* b*", nodes.String()), start(t, "a* b*", nodes.String())
	for i := range 30 {
		inline.set("a", i).fire()
		h.set("a", i)
		h.e.Number++
		h.e.Stamp++
		driveConcurrently(4, h.plan, h.st, &h.e, &h.r)
		if err := sameResults(h.plan, &h.r, &inline.r); err != nil {
			t.Fatal(err)
		}
		h.plan.Commit(h.st, &h.r)
	}
}

// M14: the nodes of a loop stand side by side, in the order declared, where the first of them would.
func TestLoopInThePlan(t *testing.T) {
	t.Parallel()
	h := start(t, "a*", `
loops: { l: { nodes: [z, y] } }
nodes:
  y: { expr: z + 1, priority: high }
  b: { expr: a }
  z: { expr: '(y ?? 0) * 0 + a' }
  c: { expr: y }
`)
	var got []string
	for _, n := range h.plan.Nodes() {
		got = append(got, n.Name+n.Loop)
	}
	if want := []string{"zl", "yl", "b", "c"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	raw, err := h.plan.JSON("g", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`{"from":"y","to":"z","kind":"optional","feedback":true}`,
		`"loops":[{"name":"l","nodes":["z","y"],"max_iterations":100,"until":false,"on_no_convergence":"discard"}]`} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("got %s, want %s in it", raw, want)
		}
	}
}

func TestLoopMistakes(t *testing.T) {
	t.Parallel()
	const circle = "x: { expr: '(y ?? 0) + a' }, y: { expr: x }"
	for _, c := range []struct{ loops, nodes, want string }{
		{"", circle, CodeCycle},
		{"l: { nodes: [x] }", circle, CodePartialLoop + " " + CodeDecorativeLoop},
		{"l: { nodes: [x] }, m: { nodes: [y] }", circle,
			CodePartialLoop + " " + CodeDecorativeLoop + " " + CodeDecorativeLoop},
		{"l: { nodes: [x, y, z] }", circle + ", z: { expr: y }", CodeDecorativeLoop},
		{"l: { nodes: [z] }", "z: { expr: a }", CodeDecorativeLoop},
		{"l: { nodes: [z] }", "z: { expr: a + z }", CodeLoopWithoutStart},
		{"l: { nodes: [z] }", "z: { expr: 'z == nil ? a : z + 1' }", ""},
		{"l: { nodes: [y, x] }", circle, CodeLoopWithoutStart},
		{"l: { nodes: [x, y] }", circle, ""},
		{"l: { nodes: [x, y, q] }", circle, "unknown_name"},
		{"l: { nodes: [x, y, a] }", circle, "not_a_node"},
		{"l: { nodes: [x, y] }, m: { nodes: [y, x] }", circle, "conflict conflict"},
		{"l: { nodes: [x, y], until: fresh(x) }", circle, "conflict"},
		{"l: { nodes: [x, y], until: 'lag(x) > 1' }", circle, "not_allowed"},
		{"l: { nodes: [x, y], until: 'z > 1' }", circle + ", z: { expr: y }", CodePartialLoop},
		{"", "z: { expr: a + iteration() }", "not_allowed"},
		{"l: { nodes: [z] }", "z: { expr: '(z ?? 0) + a', on_error: last_good }", "conflict"},
		{"l: { nodes: [z] }", "z: { expr: '(z ?? 0) + lag(a)' }", "conflict"},
		{"l: { nodes: [z] }", "z: { expr: '(z ?? 0) + (fresh(z) ? 1 : 0)' }", "conflict"},
	} {
		g := parse(t, "graph: g\naccumulators: { a: { strategy: sequential } }\n"+
			"loops: { "+c.loops+" }\nnodes: { "+c.nodes+" }\n")
		_, diagnostics := Compile(g, inputsOf(g), nodetest.Nodes())
		var got []string
		for _, d := range diagnostics {
			got = append(got, d.Code)
		}
		slices.Sort(got)
		wants := strings.Fields(c.want)
		slices.Sort(wants)
		if !slices.Equal(got, wants) {
			t.Errorf("%s, %s: got %v, want %s", c.loops, c.nodes, diagnostics, c.want)
		}
	}
}

// M33: what a loop is, is part of what its nodes compute.
func TestLoopIsPartOfTheFingerprint(t *testing.T) {
	t.Parallel()
	seen := map[uint64]string{}
	for _, loop := range []string{"nodes: [x, y]", "nodes: [x, y], max_iterations: 3", "nodes: [x, y], until: x > 1",
		"nodes: [x, y], on_no_convergence: commit", "nodes: [y, x]"} {
		h := start(t, "a*", "loops: { l: { "+loop+" } }\n"+
			"nodes: { x: { expr: '(y ?? 0) + a' }, y: { expr: '(x ?? 1) + 0' } }")
		print := h.plan.Print(h.nodes["x"])
		if other := seen[print]; other != "" {
			t.Errorf("%s and %s are the same", loop, other)
		}
		seen[print] = loop
	}
}
