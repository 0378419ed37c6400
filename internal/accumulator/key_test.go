package accumulator

import (
	"strconv"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/spec"
)

// keyedProgram compiles an accumulator of a graph with a reactor's key.
func keyedProgram(t *testing.T, a spec.Accumulator, plain bool, keys ...string) (*Program, spec.Diagnostics) {
	t.Helper()
	if a.Kind == "" {
		a.Kind = kindPassthrough
	}
	a.Name = "ticks"
	o := CompileOptions{}
	for _, k := range keys {
		o.Keys = append(o.Keys, spec.Expr{Text: k, Pos: spec.Pos{Line: 1, Column: 1}})
	}
	p, ds := Compile(&a, o)
	if p != nil && !plain {
		p.Project([]string{"bid"}, false)
	}
	return p, ds
}

// M13: each boundary gets its key: from its fields by the reactor's, from the event by the
// accumulator's own, in place of it; a composite one from several; equal values make equal
// keys. Projected or not, the key is the same.
func TestM13KeysOfBoundaries(t *testing.T) {
	t.Parallel()
	meta := &boundary.Meta{Key: "m"}
	for _, test := range []struct {
		name string
		acc  spec.Accumulator
		keys []string
		raw  string
		want string // the key, or the code of the refusal
	}{
		{"field", spec.Accumulator{}, []string{"symbol"}, `{"symbol":"A","bid":1}`, `"A"`},
		{"int", spec.Accumulator{}, []string{"symbol"}, `{"symbol":7}`, `7`},
		{"whole float", spec.Accumulator{}, []string{"symbol"}, `{"symbol":7.0}`, `7`},
		{"bool", spec.Accumulator{}, []string{"symbol"}, `{"symbol":true}`, `true`},
		{"escapes", spec.Accumulator{}, []string{"symbol"}, `{"symbol":"a\u0062\""}`, `"ab\""`},
		{"expression", spec.Accumulator{}, []string{"lower(symbol) + '-x'"}, `{"symbol":"AB"}`, `"ab-x"`},
		{"field like a function", spec.Accumulator{}, []string{"date + upper(len)"}, `{"date":"d","len":"l"}`, `"dL"`},
		{"composite", spec.Accumulator{}, []string{"symbol", "side"}, `{"symbol":"A","side":2}`, `["A",2]`},
		{"emitted field", spec.Accumulator{Emit: []spec.Field{field("s", "event.symbol")}}, []string{"s"},
			`{"symbol":"A"}`, `"A"`},
		{"emitted whole", spec.Accumulator{EmitExpr: expr("{s: event.symbol}")}, []string{"s"}, `{"symbol":"A"}`,
			`"A"`},
		{"own", spec.Accumulator{Keys: []spec.Expr{expr("event.sym"), expr("meta.key")}}, []string{"symbol", "side"},
			`{"sym":"A"}`, `["A","m"]`},
		{
			"own, of what emit drops", spec.Accumulator{
				Keys: []spec.Expr{expr("event.sym")}, Emit: []spec.Field{field("x", "1")},
			}, nil, `{"sym":"A"}`, `"A"`,
		},
		{"a time", spec.Accumulator{Emit: []spec.Field{field("s", "date(event.at)")}}, []string{"s"},
			`{"at":"2026-01-02T03:04:05Z"}`, `"2026-01-02T03:04:05.000Z"`},
		{"missing", spec.Accumulator{}, []string{"symbol"}, `{"bid":1}`, "key_missing"},
		{"null", spec.Accumulator{}, []string{"symbol"}, `{"symbol":null}`, "key_missing"},
		{"missing part", spec.Accumulator{}, []string{"symbol", "side"}, `{"symbol":"A"}`, "key_missing"},
		{"not an object", spec.Accumulator{}, []string{"symbol"}, `5`, "key_missing"},
		{"fraction", spec.Accumulator{}, []string{"symbol"}, `{"symbol":1.5}`, "bad_key"},
		{"object", spec.Accumulator{}, []string{"symbol"}, `{"symbol":{}}`, "bad_key"},
		{"too long", spec.Accumulator{}, []string{"symbol"}, `{"symbol":"` + strings.Repeat("x", 1100) + `"}`,
			"bad_key"},
		{"fails", spec.Accumulator{}, []string{"1 / symbol"}, `{"symbol":0}`, "not_finite"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			for _, plain := range []bool{false, true} {
				p, ds := keyedProgram(t, test.acc, plain, test.keys...)
				if len(ds) > 0 {
					t.Fatal(ds)
				}
				for _, pulled := range []bool{false, true} {
					c := NewCore(p, Limits{})
					o := c.Add(at(0), &boundary.Event{Raw: []byte(test.raw), Meta: meta}, pulled)
					h := take(t, c)
					switch {
					case len(h.Boundaries) == 1:
						if got := string(h.Boundaries[0].Key); got != test.want {
							t.Errorf("got key %s, want %s", got, test.want)
						}
					case o.Code != test.want || o.Stage != "key":
						t.Errorf("got %+v, want %s", o, test.want)
					case pulled && (o.Status != DeadLettered || h.DeadLetters[0].Code != test.want ||
						string(h.DeadLetters[0].Payload) != test.raw):
						t.Errorf("pulled: got %+v, %+v", o, h.DeadLetters)
					case !pulled && (o.Status != Rejected || len(h.DeadLetters) > 0):
						t.Errorf("pushed: got %+v, %+v", o, h.DeadLetters)
					}
				}
			}
		})
	}
}

// M13: an event without a key is told which value it lacks, and a key that is written as for the event, how it is.
func TestM13MissingKeySaysWhich(t *testing.T) {
	t.Parallel()
	for keys, want := range map[[2]string]string{
		{"symbol", "side"}:     "there is no key: side is missing or null",
		{"symbol", "event.id"}: "are handed over by their bare names: write id",
	} {
		p, ds := keyedProgram(t, spec.Accumulator{}, false, keys[:]...)
		if len(ds) > 0 {
			t.Fatal(ds)
		}
		o := NewCore(p, Limits{}).Add(at(0), pushed(`{"symbol":"A"}`), false)
		if o.Code != "key_missing" || !strings.HasSuffix(o.Detail, want) {
			t.Errorf("%q: got %+v, want %q", keys, o, want)
		}
	}
}

// M13: a key over fields that there cannot be, or of a kind that is none, is a mistake.
func TestM13KeyMistakes(t *testing.T) {
	t.Parallel()
	shaped := spec.Accumulator{Emit: []spec.Field{field("symbol", "'x'"), field("list", "[1]")}}
	for text, want := range map[string]string{
		"symbl":    expression.CodeUnknownName,
		"list":     expression.CodeTypeMismatch,
		"symbol +": expression.CodeSyntax,
		"now()":    expression.CodeNotAllowed,
	} {
		_, ds := keyedProgram(t, shaped, false, text)
		if len(ds) != 1 || ds[0].Code != want {
			t.Errorf("%s: got %v, want %s", text, ds, want)
		}
	}
	if _, ds := keyedProgram(t, shaped, false, "symbl"); ds[0].Suggest != "symbol" {
		t.Errorf("got the suggestion %q", ds[0].Suggest)
	}
}

// Keys made lately are used again: most events need no memory for theirs.
func TestKeysAreUsedAgain(t *testing.T) {
	p, _ := keyedProgram(t, spec.Accumulator{}, false, "symbol")
	k := newKeyer(p.key)
	v, err := boundary.FromAny(map[string]any{"symbol": "AAPL"})
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() {
		if key, bad := k.ofBoundary(v); key != `"AAPL"` || bad != nil {
			t.Fatal(key, bad)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// M13: the short way to the key of a text tells one that has to be escaped from one that looks like it does then.
func TestM13KeysOfTextsAreKept(t *testing.T) {
	p, ds := keyedProgram(t, spec.Accumulator{}, true, "k")
	if err := ds.Err(); err != nil {
		t.Fatal(err)
	}
	k, clashes := newKeyer(p.key), 0
	for n := range 10_000 {
		escaped := "k" + strconv.Itoa(n) + string(rune(n%32))
		key := boundary.KeyOf(boundary.String(escaped))
		looks := string(key[1 : len(key)-1])
		if recentPlace(escaped) != recentPlace(looks) {
			continue
		}
		clashes++
		for _, text := range []string{escaped, looks, looks, escaped, "k", "k", "\xff", "\xff"} {
			k.parts[0] = boundary.String(text)
			got, bad := k.key()
			want := boundary.KeyOf(boundary.String(text))
			if bad != nil || got != want || string(k.bytes()) != string(want) {
				t.Fatalf("the key of %q is %s (%s), want %s: %v", text, got, k.bytes(), want, bad)
			}
		}
	}
	if clashes == 0 {
		t.Error("no two texts had the same place")
	}
}
