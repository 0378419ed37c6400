package pump

import (
	"testing"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/spec"
)

// The kinds that the tests use; "" is a passthrough.
const (
	kindBatch = "batch"
	kindState = "state"
)

// compile compiles a declaration that is right, and projects it for readers of the whole value.
func compile(t testing.TB, a spec.Accumulator, fields ...string) *accumulator.Program {
	t.Helper()
	if a.Kind == "" {
		a.Kind = "passthrough"
	}
	a.Name = "ticks"
	vars, err := boundary.FromAny(map[string]any{"least": 10})
	if err != nil {
		t.Fatal(err)
	}
	_, bench := t.(*testing.B)
	p, ds := accumulator.Compile(&a, accumulator.CompileOptions{
		Vars: vars, VarsType: expression.OfValue(vars), MaxEventBytes: 1000, Spoil: !bench,
	})
	if len(ds) > 0 {
		t.Fatal(ds)
	}
	p.Project(fields, len(fields) == 0)
	return p
}

func newCore(t testing.TB, a spec.Accumulator) *accumulator.Core {
	t.Helper()
	return accumulator.NewCore(compile(t, a), accumulator.Limits{})
}

// expr is an expression as a declaration would hold it.
func expr(text string) spec.Expr { return spec.Expr{Text: text} }

// pulled is event n of a source, with the position after it.
func pulled(n int64, raw string) *boundary.Event {
	return &boundary.Event{Raw: []byte(raw), Pos: boundary.Position{Stream: "s", Offset: n}}
}

func pushed(raw string) *boundary.Event { return &boundary.Event{Raw: []byte(raw)} }

// encoded is a mark's state as a checkpoint keeps it.
func encoded(m accumulator.Mark) []byte {
	if m.State == nil {
		return nil
	}
	return m.State.AppendBinary(nil)
}
