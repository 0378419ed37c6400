package accumulator

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/accumulator/batch"
	"github.com/graphd/graphd/internal/accumulator/state"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/spec"
)

func TestCompileMistakes(t *testing.T) {
	t.Parallel()
	closed := mustJSON(t, `{"type":"object","properties":{"bid":{"type":"number"},"name":{"type":"string"}},`+
		`"additionalProperties":false}`)
	for name, c := range map[string]struct {
		a    spec.Accumulator
		want []string // code and column
	}{
		"syntax": {spec.Accumulator{Where: expr("event.bid >")}, []string{"expression_syntax"}},
		"unknown field": {
			spec.Accumulator{Schema: closed, Where: expr("event.bit > 1")}, []string{"unknown_field"},
		},
		"where is a number": {spec.Accumulator{Schema: closed, Where: expr("event.bid")}, []string{"type_mismatch"}},
		"a node in where":   {spec.Accumulator{Where: expr("mid > 1")}, []string{"unknown_name"}},
		"clock":             {spec.Accumulator{Where: expr("now() == now()")}, []string{"not_allowed"}},
		"unknown meta":      {spec.Accumulator{Where: expr("meta.broker == 'a'")}, []string{"unknown_field"}},
		"unknown var":       {spec.Accumulator{Where: expr("vars.most > 1")}, []string{"unknown_field"}},
		"every field of emit": {
			spec.Accumulator{Emit: []spec.Field{field("a", "1 +"), field("b", "event.x"), field("c", "nope")}},
			[]string{"expression_syntax", "unknown_name"},
		},
		"emit as one":    {spec.Accumulator{EmitExpr: expr("nope")}, []string{"unknown_name"}},
		"time of a bool": {spec.Accumulator{Time: expr("event.bid > 1")}, []string{"type_mismatch"}},
		"time and zone": {
			spec.Accumulator{Time: expr("event.t"), Timezone: "Mars/Olympus"}, []string{"invalid_value"},
		},
		"time unit": {spec.Accumulator{Time: expr("event.t"), TimeUnit: "h"}, []string{"invalid_value"}},
		"schema":    {spec.Accumulator{Schema: mustJSON(t, `{"type":"objekt"}`)}, []string{"schema_invalid"}},
		"remote schema": {spec.Accumulator{Schema: mustJSON(t, `{"$ref":"https://example.com/s.json"}`)},
			[]string{"schema_invalid"}},
		"file schema": {
			spec.Accumulator{Schema: mustJSON(t, `{"$ref":"/etc/passwd"}`)}, []string{"schema_invalid"},
		},
		"relative schema": {
			spec.Accumulator{Schema: mustJSON(t, `{"$ref":"other.json"}`)}, []string{"schema_invalid"},
		},
		"missing definition": {
			spec.Accumulator{Schema: mustJSON(t, `{"$ref":"#/$defs/x"}`)}, []string{"schema_invalid"},
		},
		"kind": {spec.Accumulator{Kind: "sessions"}, []string{"not_yet_supported"}},
		"all at once": {spec.Accumulator{Where: expr("nope"), Time: expr("nope"), EmitExpr: expr("nope")},
			[]string{"unknown_name", "unknown_name", "unknown_name"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.a.Kind == "" {
				c.a.Kind = kindPassthrough
			}
			p, ds := Compile(&c.a, CompileOptions{})
			var got []string
			for _, d := range ds {
				got = append(got, d.Code)
				if d.Text == "" || strings.Contains(d.Text, "\n") {
					t.Errorf("text %q", d.Text)
				}
			}
			if !slices.Equal(got, c.want) || p != nil {
				t.Errorf("got %v (%v), want %v", got, ds, c.want)
			}
		})
	}
}

// A mistake is told at its place in the document.
func TestCompileTellsThePlace(t *testing.T) {
	t.Parallel()
	at := spec.Pos{Line: 7, Column: 12, Path: "accumulators.ticks.where"}
	a := spec.Accumulator{Kind: kindPassthrough, Where: spec.Expr{Text: "1 > 2 && evnt.a", Pos: at}}
	_, ds := Compile(&a, CompileOptions{})
	if len(ds) != 1 || ds[0].Line != 7 || ds[0].Column != 12+9 || ds[0].Path != at.Path || ds[0].Suggest != "event" {
		t.Errorf("got %+v", ds)
	}
}

func TestType(t *testing.T) {
	t.Parallel()
	schema := mustJSON(t, `{"type":"object","properties":{"bid":{"type":"number"}},"additionalProperties":false}`)
	for _, c := range []struct {
		a    spec.Accumulator
		want string
	}{
		{spec.Accumulator{}, "any"},
		{spec.Accumulator{Schema: schema}, "{bid: float}"},
		{spec.Accumulator{Schema: schema, Emit: []spec.Field{field("x", "event.bid * 2"), field("ok", "true")}},
			"{ok: bool, x: float}"},
		{spec.Accumulator{Schema: schema, Kind: "batch", Config: batch.Declared{Size: 1}}, "list of {bid: float}"},
		{spec.Accumulator{Kind: "state", Config: state.Declared{Keep: 2}, EmitExpr: expr("'a'")}, "list of string"},
	} {
		if got := compileOnly(t, c.a).Type().String(); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

// Only what something reads is decoded into slots.
func TestProject(t *testing.T) {
	t.Parallel()
	names := func(s *boundary.Shape) string {
		if s == nil {
			return "none"
		}
		var out []string
		for i := range s.Len() {
			out = append(out, s.Name(i))
		}
		slices.Sort(out)
		return fmt.Sprint(out)
	}
	emit := []spec.Field{field("mid", "(event.bid+event.ask)/2"), field("s", "event.symbol")}
	for name, c := range map[string]struct {
		a              spec.Accumulator
		fields         []string
		decoded, bound string
	}{
		"nothing is read": {spec.Accumulator{}, nil, "none", "none"},
		"downstream":      {spec.Accumulator{}, []string{"a", "b"}, "[a b]", "[a b]"},
		"downstream and where": {spec.Accumulator{Where: expr("event.c.d > 1 && event.a > 2")}, []string{"a"}, "[a c]",
			"[a c]"},
		"emit": {spec.Accumulator{Emit: emit, Where: expr("event.bid>0")}, []string{"mid"},
			"[ask bid symbol]", "[mid s]"},
		"emit as one": {spec.Accumulator{EmitExpr: expr("event.x")}, []string{"a"}, "[x]", "none"},
		"batch": {spec.Accumulator{Kind: "batch", Config: batch.Declared{Size: 2}, Where: expr("event.x > 1")},
			[]string{"a"}, "[x]", "none"},
		"event time": {spec.Accumulator{Time: expr("event.ts")}, nil, "[ts]", "[ts]"},
		"checked by the schema": {spec.Accumulator{Schema: mustJSON(t, `{"properties":{"x":{"type":"string"}}}`)}, nil,
			"[x]", "[x]"},
	} {
		p := compileOnly(t, c.a)
		if got := names(p.Project(c.fields, false)); got != c.bound {
			t.Errorf("%s: bound %s, want %s", name, got, c.bound)
		}
		if got := names(p.eventShape); got != c.decoded {
			t.Errorf("%s: decoded %s, want %s", name, got, c.decoded)
		}
	}
}

// Formats are asserted, and a schema may refer within itself.
func TestFullSchema(t *testing.T) {
	t.Parallel()
	a := spec.Accumulator{
		Schema: mustJSON(t,
			`{"$defs":{"at":{"type":"string","format":"date-time"}},"properties":{"at":{"$ref":"#/$defs/at"}}}`),
	}
	c := newCore(t, a)
	if o := c.Add(at(0), pushed(`{"at":"2026-01-01T00:00:00Z"}`), false); o.Status != Accepted {
		t.Errorf("got %+v", o)
	}
	o := c.Add(at(0), pushed(`{"at":"yesterday"}`), false)
	if o.Code != "against_schema" || !strings.HasPrefix(o.Detail, "at: ") {
		t.Errorf("got %+v", o)
	}
}

// A field of emit whose text the parser has refused already is no fault of the program.
func TestCompileWithoutAnExpression(t *testing.T) {
	t.Parallel()
	a := spec.Accumulator{Name: "a", Kind: kindPassthrough, Emit: []spec.Field{field("n", "event.n"), {Name: "broken"}}}
	if p, ds := Compile(&a, CompileOptions{MaxEventBytes: 1000}); p == nil || len(ds) > 0 {
		t.Errorf("got %v, %v", p, ds)
	}
}
