package expression

import (
	"testing"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/vm"

	"github.com/graphd/graphd/internal/boundary"
)

// edgeText is the expression that the figures are about: two inputs, four
// reads, three operations, a choice.
const edgeText = `(book.bid+book.ask)/2 - price.mid > threshold ? "buy" : "none"`

func edgeScope() Scope {
	number := Of(boundary.KindFloat)
	return Scope{Names: []Name{
		{"book", ObjectOf(map[string]Type{"bid": number, "ask": number}, false)},
		{"price", ObjectOf(map[string]Type{"mid": number}, false)},
		{"threshold", number},
		{"ticks", ListOf(number)},
	}}
}

func edgeValues() (values []boundary.Value, shapes []*boundary.Shape) {
	book, price := boundary.NewShape("bid", "ask"), boundary.NewShape("mid")
	ticks := make([]boundary.Value, 100)
	for i := range ticks {
		ticks[i] = boundary.Float(float64(i) / 2)
	}
	return []boundary.Value{
		boundary.Object(book, []boundary.Value{boundary.Float(101.5), boundary.Float(102.5)}),
		boundary.Object(price, []boundary.Value{boundary.Float(101.25)}),
		boundary.Float(0.05),
		boundary.List(ticks),
	}, []*boundary.Shape{book, price}
}

func BenchmarkEval(b *testing.B) {
	for _, bench := range []struct{ name, text string }{
		{"edge", edgeText},
		{"field", `book.bid`},
		{"mid", `(book.bid + book.ask) / 2`},
		{"condition", `book.ask - book.bid > 0.015`},
		{"guard", `book.bid < book.ask && price.mid > 0`},
		{"object", `{"mid": price.mid, "spread": book.ask - book.bid}`},
		{"abs", `abs(price.mid - book.bid) > threshold`},
		{"mixed", `book.bid * 2 > 100`},
		{"max", `max(book.bid, book.ask, 3)`},
		{"sum100", `sum(ticks, # * 2)`},
	} {
		b.Run(bench.name, func(b *testing.B) {
			values, shapes := edgeValues()
			p, err := Compile(bench.text, edgeScope())
			if err != nil {
				b.Fatal(err)
			}
			for i, s := range shapes {
				p.Bind(i, s)
			}
			env := &Env{Values: values}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.Eval(env); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkFloor is what the same costs when written in Go: over values, and over plain floats.
func BenchmarkFloor(b *testing.B) {
	values, shapes := edgeValues()
	b.Run("values", func(b *testing.B) {
		for b.Loop() {
			bid, ok1 := values[0].Slot(shapes[0], 0).AsFloat()
			ask, ok2 := values[0].Slot(shapes[0], 1).AsFloat()
			mid, ok3 := values[1].Slot(shapes[1], 0).AsFloat()
			threshold, ok4 := values[2].AsFloat()
			if !ok1 || !ok2 || !ok3 || !ok4 {
				b.Fatal("no number")
			}
			out := boundary.String("none")
			if (bid+ask)/2-mid > threshold {
				out = boundary.String("buy")
			}
			if out.IsAbsent() {
				b.Fatal("no value")
			}
		}
	})
}

// BenchmarkLibraryVM is expr-lang's own machine on the same expression and values.
func BenchmarkLibraryVM(b *testing.B) {
	env := map[string]any{
		"book": map[string]any{"bid": 101.5, "ask": 102.5}, "price": map[string]any{"mid": 101.25}, "threshold": 0.05,
	}
	p, err := expr.Compile(edgeText, expr.Env(env))
	if err != nil {
		b.Fatal(err)
	}
	machine := vm.VM{}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := machine.Run(p, env); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCompile(b *testing.B) {
	scope := edgeScope()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Compile(edgeText, scope); err != nil {
			b.Fatal(err)
		}
	}
}
