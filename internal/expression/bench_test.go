package expression

import (
	"testing"

	"github.com/graphd/graphd/internal/boundary"
)

// edgeText is the expression that the figures in docs/decisions are about.
const edgeText = `(book.bid+book.ask)/2 - price.mid > threshold ? "buy" : "none"`

func edgeScope() Scope {
	number := Of(boundary.KindFloat)
	return Scope{Names: []Name{
		{"book", ObjectOf(map[string]Type{"bid": number, "ask": number}, false)},
		{"price", ObjectOf(map[string]Type{"mid": number}, false)},
		{"threshold", number},
	}}
}

func edgeValues() (values []boundary.Value, shapes []*boundary.Shape) {
	book, price := boundary.NewShape("bid", "ask"), boundary.NewShape("mid")
	return []boundary.Value{
		boundary.Object(book, []boundary.Value{boundary.Float(101.5), boundary.Float(102.5)}),
		boundary.Object(price, []boundary.Value{boundary.Float(101.25)}),
		boundary.Float(0.05),
	}, []*boundary.Shape{book, price}
}

func BenchmarkEval(b *testing.B) {
	values, shapes := edgeValues()
	for _, bench := range []struct{ name, text string }{
		{"edge", edgeText},
		{"field", `book.bid`},
		{"mid", `(book.bid + book.ask) / 2`},
		{"condition", `book.ask - book.bid > 0.015`},
		{"guard", `book.bid < book.ask && price.mid > 0`},
		{"object", `{"mid": price.mid, "spread": book.ask - book.bid}`},
		{"abs", `abs(price.mid - book.bid) > threshold`},
		{"max", `max(book.bid, book.ask, 3)`},
	} {
		b.Run(bench.name, func(b *testing.B) {
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
