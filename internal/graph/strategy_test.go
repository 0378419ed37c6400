package graph

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/graph/internal/bitset"
	"github.com/graphd/graphd/internal/node/nodetest"
)

// M9: an input that is latest by default alone may not lie under a node to which every value
// matters; both ways out are named at the input, once.
func TestM9StrategyNeeded(t *testing.T) {
	t.Parallel()
	const doc = "graph: g\naccumulators:\n  a: {}\n  b: {}\n  q: { strategy: sequential }\n" +
		"nodes:\n  mid: { expr: a }\n%s"
	for nodes, want := range map[string]string{
		"  n: { expr: mid + b }\n":                                      "",
		"  n: { expr: 'lag(q)' }\n":                                     "",
		"  n: { expr: q }\n":                                            "",
		"  n: { expr: q + b, event: false }\n":                          "",
		"  n: { expr: 'lag(mid)' }\n":                                   "3 n lag",
		"  n: { expr: 'b > 1 ? ema(b, 2) : rate(a)' }\n":                "3 n ema; 4 n ema",
		"  n: { route: { x: 'dedupe(b, duration(\"1s\"))' } }\n":        "4 n dedupe",
		"  n: { expr: b, event: true }\n  m: { expr: 'lag(n)' }\n":      "4 n event: true",
		"  n: { expr: q + b }\n":                                        "4 n sequential input",
		"  n: { expr: 1, after: [mid], event: true }\n":                 "3 n event: true",
		"  n: { expr: 'q + (mid ?? 0)', delay: [mid] }\n":               "3 n delay",
		"  n: { expr: 'q + (n ?? 0)', delay: [n] }\n":                   "",
		"  n: { expr: 'q + (m ?? 0)', delay: [m] }\n  m: { expr: b }\n": "4 n delay",
		"  n: { expr: 'q + (m ?? 0)', delay: [m] }\n" +
			"  m: { expr: 'q + (o ?? n ?? 0)', delay: [n, o] }\n  o: { expr: b }\n": "4 n delay",
	} {
		g := parse(t, fmt.Sprintf(doc, nodes))
		var inputs []Input
		for i := range g.Accumulators {
			a := &g.Accumulators[i]
			inputs = append(inputs, Input{
				Name: a.Name, Type: expression.Any(), Event: a.Strategy != "latest", Unsaid: a.Unsaid(g.Reactor),
			})
		}
		_, diagnostics := Compile(g, inputs, nodetest.Nodes())
		var got []string
		for _, d := range diagnostics {
			node, why, _ := strings.Cut(d.Text[strings.Index(d.Text, "reaches ")+len("reaches "):], ", ")
			for _, word := range []string{"lag", "ema", "rate", "dedupe", "event: true", "sequential input", "delay"} {
				if strings.Contains(why[:strings.Index(why, ";")], word) {
					got = append(got, fmt.Sprintf("%d %s %s", d.Line, node, word))
				}
			}
			if d.Code != CodeStrategyNeeded || !strings.Contains(d.Text, "strategy: sequential") ||
				!strings.Contains(d.Text, "strategy: latest") {
				t.Errorf("%s: %v", nodes, d)
			}
		}
		if s := strings.Join(got, "; "); s != want {
			t.Errorf("%s: got %q, want %q", nodes, s, want)
		}
	}
}

// M9: what may be conflated under nodes to which every value matters is told per input.
func TestM9ConflatesIsTold(t *testing.T) {
	t.Parallel()
	g := parse(t, "graph: g\naccumulators: { a: {}, b: { strategy: sequential }, c: { passive: true } }\nnodes:\n"+
		"  last: { expr: 'lag(a) ?? c' }\n  sum: { expr: last + b }\n  state: { expr: a }\n"+
		"  before: { expr: '(state ?? 0) + b', delay: [state] }\n  behind: { expr: 'before + b' }\n")
	p, diagnostics := Compile(g, inputsOf(g), nodetest.Nodes())
	if err := diagnostics.Err(); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(p.Conflates(0), p.Conflates(1), p.Conflates(2)); got != "[last before sum behind] [] []" {
		t.Errorf("got %s", got)
	}
}

// What nodes come of is found in as many steps as there are nodes, in whichever order they read each other.
func TestReachIsFoundInOneGo(t *testing.T) { // alone, for it counts what is allocated
	const n = 2000
	for name, step := range map[string]int{"the one before": -1, "the one behind": 1} {
		c := &compiler{inputs: make([]Input, n), units: make([]unit, n), delayed: []int{0}}
		for i := range c.units {
			u := &c.units[i]
			u.inputs = bitset.New(n)
			u.inputs.Set(i)
			if on := i + step; on >= 0 && on < n {
				u.delays = []int{on}
			}
		}
		if allocs := testing.AllocsPerRun(1, c.findReach); allocs > 20*n {
			t.Errorf("%s: %v allocations for %d nodes", name, allocs, n)
		}
		for i := range c.units {
			want := i + 1
			if step > 0 {
				want = n - i
			}
			if got := len(slices.Collect(c.units[i].reach.All())); got != want {
				t.Fatalf("%s: %d comes of %d inputs, want %d", name, i, got, want)
			}
		}
		asked := 0
		c.caller = &expression.Caller{Gone: func() bool { asked++; return asked == 3 }}
		if c.findReach(); asked != 3 {
			t.Errorf("%s: it was asked %d times whether to go on", name, asked)
		}
	}
}
