package folding

import (
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/kind"
	"github.com/graphd/graphd/internal/spec"
)

// formOf is a Form of names and expressions in turn.
func formOf(pairs ...string) (f Form) {
	for i := 0; i < len(pairs); i += 2 {
		f.Fields = append(f.Fields, spec.Field{Name: pairs[i], Expr: spec.Expr{Text: pairs[i+1]}})
	}
	return f
}

func one(text string) Form { return Form{Expr: spec.Expr{Text: text}} }

// compiled is a declaration at a site of its own; event is the type of events.
func compiled(t testing.TB, c Declared, event expression.Type) (*fold.Program, spec.Diagnostics) {
	t.Helper()
	if c.MaxKeys == 0 {
		c.MaxKeys = DefaultMaxKeys
	}
	if c.MaxBytes == 0 {
		c.MaxBytes = DefaultMaxBytes
	}
	vars, err := boundary.FromAny(map[string]any{"step": 2})
	if err != nil {
		t.Fatal(err)
	}
	return c.Compile(&fold.Site{
		Place: fold.Place{Place: kind.Place{Vars: vars}, Accumulator: &spec.Accumulator{Name: "a"}},
		Scope: expression.Scope{Names: []expression.Name{
			{Name: "event", Type: event}, {Name: "meta"}, {Name: "vars", Type: expression.OfValue(vars)},
		}},
		Emitted: event, MaxBytes: 1000,
	})
}

// driver gives events to a fold as an accumulator does.
type driver struct {
	p *fold.Program
	f *Folding
	n int64
}

func drive(t testing.TB, c Declared) *driver {
	t.Helper()
	p, ds := compiled(t, c, expression.Any())
	if len(ds) > 0 {
		t.Fatal(ds)
	}
	return &driver{p: p, f: p.New().(*Folding)}
}

// add folds an event whose fields come in turn with their values; its key is that of the declaration.
func (d *driver) add(t testing.TB, event map[string]any) (value string, b *boundary.Boundary, bad *fold.BadEvent) {
	t.Helper()
	v, err := boundary.FromAny(event)
	if err != nil {
		t.Fatal(err)
	}
	d.n++
	env := &expression.Env{Values: []boundary.Value{v, boundary.Null(), boundary.Object(boundary.NewShape(), nil)}}
	in := &fold.Input{
		Value: v, Number: d.n, Facts: &fold.Facts{Env: env},
		Event: &boundary.Event{Value: v, Pos: boundary.Position{Stream: "s", Offset: d.n}},
	}
	parts := make([]boundary.Value, len(d.p.Keys))
	for i, x := range d.p.Keys {
		if parts[i], err = x.Eval(env); err != nil {
			t.Fatal(err)
		}
	}
	if in.Facts.Key = boundary.List(parts); len(parts) == 1 {
		in.Facts.Key = parts[0]
	}
	out, said := d.f.Add(time.Unix(0, 0), in, nil)
	switch {
	case said == fold.Refused:
		return "", nil, in.Bad
	case said != fold.Folded || len(out) > 1:
		t.Fatalf("the fold says %v with %d boundaries", said, len(out))
	case len(out) == 0:
		return "", nil, nil
	}
	return out[0].Value.String(), &out[0], nil
}

// restored goes on from a state as a checkpoint keeps it: in one piece, or in parts.
func (d *driver) restored(t testing.TB, parted bool) {
	t.Helper()
	state := d.f.State().(*handle)
	data := state.AppendBinary(nil)
	if parted {
		pages := map[string][]byte{}
		for p := range state.Parts() {
			pages[p.Name] = p.Append(nil)
		}
		if data = state.AppendHead(nil); len(pages) > 0 {
			data = fold.Join(data, pages)
		}
	}
	f := d.p.New().(*Folding)
	s, err := f.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	f.Resume(s)
	d.f = f
}

func fieldsOf(v boundary.Value) (names []string) {
	for name := range v.Fields() {
		names = append(names, name)
	}
	return names
}

func shapeNames(s *boundary.Shape) string {
	names := make([]string, s.Len())
	for i := range names {
		names[i] = s.Name(i)
	}
	return strings.Join(names, " ")
}
