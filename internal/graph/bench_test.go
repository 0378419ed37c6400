package graph

import (
	"fmt"
	"github.com/graphd/graphd/internal/node/nodetest"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
)

// bench runs epochs in which every input has a new value.
func bench(b *testing.B, p *Plan, next func(i int, inputs []boundary.Value)) {
	b.Helper()
	st, r := p.NewState(), &Result{}
	n := len(p.Inputs())
	e := &Epoch{Inputs: make([]boundary.Value, n), Versions: make([]uint64, n), Now: time.Unix(1, 0)}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		i++
		next(i, e.Inputs)
		e.Number++
		for k := range e.Versions {
			e.Versions[k] = e.Stamp + 1
		}
		e.Stamp += 2
		p.Run(st, e, r)
		if r.Err != nil {
			b.Fatal(r.Err)
		}
		p.Commit(st, r)
	}
}

func compileNodes(b *testing.B, nodes string) *Plan {
	b.Helper()
	g := parse(b, "graph: g\naccumulators: { a: {} }\nreactor: { when: any }\nnodes:\n"+nodes)
	p, diagnostics := Compile(g, inputsOf(g), nodetest.Nodes())
	if err := diagnostics.Err(); err != nil {
		b.Fatal(err)
	}
	return p
}

func counter(i int, inputs []boundary.Value) { inputs[0] = boundary.Int(int64(i)) }

func chain(n int) string {
	var s strings.Builder
	s.WriteString("  n0: { expr: a + 1 }\n")
	for i := range n - 1 {
		fmt.Fprintf(&s, "  n%d: { expr: n%d + 1 }\n", i+1, i)
	}
	return s.String()
}

func fanOut(n int) string {
	var s strings.Builder
	for i := range n {
		fmt.Fprintf(&s, "  n%d: { expr: a + %d }\n", i, i)
	}
	return s.String()
}

func BenchmarkOneNode(b *testing.B) { bench(b, compileNodes(b, chain(1)), counter) }

func BenchmarkDiamond(b *testing.B) {
	bench(b,
		compileNodes(b, "  top: { expr: a }\n  left: { expr: top * 2 }\n  right: { expr: top + 1 }\n  join: { expr: "+
			"left - right }\n"), counter)
}

// A loop of two nodes that agree after some 30 iterations.
func BenchmarkLoop(b *testing.B) {
	p := compileNodes(b, "  x: { expr: '(y ?? 0) / 2' }\n  y: { expr: a + x / 2 }\nloops: { l: { nodes: [x, y] } }\n")
	bench(b, p, counter)
}

func BenchmarkDelay(b *testing.B) {
	bench(b, compileNodes(b, "  total: { expr: '(total ?? 0) + a', delay: [total] }\n"), counter)
}

func BenchmarkChain1000(b *testing.B)  { bench(b, compileNodes(b, chain(1000)), counter) }
func BenchmarkFanOut1000(b *testing.B) { bench(b, compileNodes(b, fanOut(1000)), counter) }

// trivial is the cheapest evaluator: what remains is the engine's own cost.
type trivial struct{ in int }

func (n trivial) Eval(env *expression.Env) (boundary.Value, error) { return env.Values[n.in], nil }

func benchDispatch(b *testing.B, nodes string, in func(i int) int) {
	p := compileNodes(b, nodes)
	for i := range p.steps {
		p.steps[i].program = trivial{in(i)}
	}
	bench(b, p, counter)
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(p.steps)), "ns/node")
}

func BenchmarkDispatchChain1000(b *testing.B) {
	benchDispatch(b, chain(1000), func(i int) int { return i })
}

func BenchmarkDispatchFanOut1000(b *testing.B) {
	benchDispatch(b, fanOut(1000), func(int) int { return 0 })
}

// An epoch that the cutoff stops at the first of 1,000 nodes.
func BenchmarkNoChange1000(b *testing.B) {
	bench(b, compileNodes(b, chain(1000)), func(_ int, inputs []boundary.Value) { inputs[0] = boundary.Int(1) })
}

func BenchmarkMarketMaker(b *testing.B) {
	for _, full := range []bool{false, true} {
		b.Run(map[bool]string{false: "incremental", true: "full"}[full], func(b *testing.B) {
			p := compileMarketMaker(b)
			st, r := p.NewState(), &Result{}
			var ticks [3][8]boundary.Value
			for i, form := range []string{
				`{"bid":10%d.5,"ask":10%d.7,"symbol":"A"}`, `{"fair":10%d.2}`, `{"threshold":0.0%d}`,
			} {
				fields, _ := p.Reads(i)
				shape := boundary.NewShape(fields...)
				p.Bind(i, shape)
				for k := range ticks[i] {
					text := strings.ReplaceAll(form, "%d", fmt.Sprint(k+1))
					v, err := boundary.NewDecoder(shape, boundary.Limits{}).Decode([]byte(text))
					if err != nil {
						b.Fatal(err)
					}
					ticks[i][k] = v
				}
			}
			e := &Epoch{Inputs: []boundary.Value{ticks[0][0], ticks[1][0], ticks[2][0]}, Versions: []uint64{1, 2, 3},
				Stamp: 3,
				Now:   time.Unix(1, 0), FullRecompute: full}
			b.ReportAllocs()
			i, asking := 0, Asking{}
			for b.Loop() {
				i++
				e.Inputs[0], e.Versions[0] = ticks[0][i&7], e.Stamp+1
				e.Stamp += 2
				e.Number++
				if ok, _, err := p.GuardHolds(st, e, &asking); !ok {
					b.Fatal(err)
				}
				if p.Run(st, e, r); r.Err != nil {
					b.Fatal(r.Err)
				}
				p.Commit(st, r)
			}
		})
	}
}

func BenchmarkCompileChain1000(b *testing.B) {
	g := parse(b, "graph: g\naccumulators: { a: {} }\nreactor: { when: any }\nnodes:\n"+chain(1000))
	inputs := inputsOf(g)
	for b.Loop() {
		if _, diagnostics := Compile(g, inputs, nodetest.Nodes()); len(diagnostics) > 0 {
			b.Fatal(diagnostics)
		}
	}
}
