package accumulator

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/accumulator/window"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/spec"
)

// epochStart is the tests' beginning of time.
var epochStart = time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)

func at(d time.Duration) time.Time { return epochStart.Add(d) }

// expr is an expression as a declaration would hold it.
func expr(text string) spec.Expr { return spec.Expr{Text: text} }

func field(name, text string) spec.Field { return spec.Field{Name: name, Expr: expr(text)} }

// compile compiles a declaration that is right, and projects it for readers of the whole value.
func compile(t testing.TB, a spec.Accumulator, fields ...string) *Program {
	t.Helper()
	p := compileOnly(t, a)
	p.Project(fields, len(fields) == 0)
	return p
}

func compileOnly(t testing.TB, a spec.Accumulator) *Program {
	t.Helper()
	if a.Kind == "" {
		a.Kind = kindPassthrough
	}
	if a.Name == "" {
		a.Name = "ticks"
	}
	vars, err := boundary.FromAny(map[string]any{"least": 10})
	if err != nil {
		t.Fatal(err)
	}
	_, bench := t.(*testing.B)
	p, ds := Compile(&a, CompileOptions{
		Vars: vars, VarsType: expression.OfValue(vars), MaxEventBytes: 1000, Spoil: !bench,
	})
	if len(ds) > 0 {
		t.Fatal(ds)
	}
	return p
}

func newCore(t testing.TB, a spec.Accumulator) *Core {
	t.Helper()
	return NewCore(compile(t, a), Limits{})
}

// pulled is event n of a source, with the position after it.
func pulled(n int64, raw string) *boundary.Event {
	return &boundary.Event{Raw: []byte(raw), Pos: boundary.Position{Stream: "s", Offset: n}}
}

func pushed(raw string) *boundary.Event { return &boundary.Event{Raw: []byte(raw)} }

// take takes what there is, which must be something.
func take(t *testing.T, c *Core) *Handoff {
	t.Helper()
	h := &Handoff{}
	if !c.Drain(h) {
		t.Fatal("Drain is false, want a handoff")
	}
	checkBooks(t, h)
	return h
}

// checkBooks checks what holds of every single handoff.
func checkBooks(t *testing.T, h *Handoff) {
	t.Helper()
	for i := range h.Boundaries {
		if h.Boundaries[i].At.IsZero() || h.Boundaries[i].Size <= 0 {
			t.Errorf("boundary %d: at %v, size %d", i, h.Boundaries[i].At, h.Boundaries[i].Size)
		}
	}
	for _, l := range h.DeadLetters {
		if l.Accumulator == "" || l.Stage == "" || l.Code == "" || l.Reason == "" || l.Events != 1 || l.At.IsZero() {
			t.Errorf("incomplete dead letter %+v", l)
		}
	}
}

// values are the boundaries' values as JSON.
func values(h *Handoff) (out []string) {
	for i := range h.Boundaries {
		out = append(out, h.Boundaries[i].Value.String())
	}
	return out
}

// events is how many events the boundaries account for.
func events(h *Handoff) (n int64) {
	for i := range h.Boundaries {
		n += h.Boundaries[i].Events
	}
	return n
}

// encoded is a mark's state as a checkpoint keeps it.
func encoded(m Mark) []byte {
	if m.State == nil {
		return nil
	}
	return m.State.AppendBinary(nil)
}

func mustJSON(t *testing.T, text string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// change changes the window that an accumulator is.
func change(a *spec.Accumulator, by func(w *window.Declared)) {
	w := a.Config.(window.Declared)
	by(&w)
	a.Config = w
}

func keyed(a spec.Accumulator) spec.Accumulator {
	change(&a, func(w *window.Declared) { w.Key = []spec.Expr{expr("event.k")} })
	return a
}
