package builtin_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/compile"
	"github.com/graphd/graphd/internal/sink"
	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/virtual"
)

const tallyGraph = `graph: tallies
vars: { limit: 10 }
accumulators:
  a:
    time: event.at
    emit: { x: event.v + 1 }
    tally: { key: event.k, add: event.x, until: sum >= vars.limit, spill: rest }
reactor: { when: { any: [a, rest] } }
nodes:
  mean: { expr: a.sum / a.n }
outputs:
  sums: { from: a, sink: { drop: {} } }
  means: { from: mean, sink: { drop: {} } }
  rest: { from: rest, sink: { stdout: {} } }
`

// TestAccumulatorKindIsItsFolderAndOneLine: a new kind of accumulator is decoded, described in the
// JSON Schema, hashed, compared, checked, linted, run, sealed and restored, and all that knows of it
// beside its own code is the list. The field MoreAccumulators is that one line.
func TestAccumulatorKindIsItsFolderAndOneLine(t *testing.T) {
	t.Parallel()
	kinds := &builtin.Kinds{MoreAccumulators: []builtin.Accumulator{tallyKind()}}
	one := parsed(t, kinds, tallyGraph)
	with := func(old, new string) string { return strings.Replace(tallyGraph, old, new, 1) }

	t.Run("decode", func(t *testing.T) {
		a := &one.Spec.Accumulators[0]
		c, ok := a.Config.(tally)
		if a.Kind != "tally" || !ok || c.Add.Text != "event.x" || c.Most != 100 || a.Strategy != "sequential" {
			t.Errorf("got %+v", a)
		}
		own := &one.Spec.Accumulators[1]
		if own.Name != "rest" || own.Owner != "a" || own.Strategy != "sequential" {
			t.Errorf("its own input is %+v", own)
		}
		latest := parsed(t, kinds, with("emit:", "strategy: latest\n    emit:"))
		if got := latest.Spec.Accumulators[0].Strategy; got != "latest" {
			t.Errorf("the strategy that is declared became %q", got)
		}
	})
	t.Run("mistakes", func(t *testing.T) { wrongTallies(t, kinds) })
	t.Run("schema", func(t *testing.T) {
		var schema struct {
			Defs map[string]struct {
				Description string
				AllOf       []any
				Properties  map[string]any
			} `json:"$defs"`
		}
		if err := json.Unmarshal(kinds.Schema(), &schema); err != nil {
			t.Fatal(err)
		}
		all, own := schema.Defs["accumulator"], schema.Defs["tally"]
		if all.Properties["tally"] == nil || own.Properties["add"] == nil || len(all.AllOf) != 28 ||
			!strings.Contains(all.Description, "batch, state, window, join, fold, table, go and tally") {
			t.Errorf("the schema does not have the kind: %v, %v", all, own)
		}
	})
	t.Run("hash, difference and identity", func(t *testing.T) {
		everyField(t, spec.AccumulatorConfig(tally{}), func(g *spec.Graph, c spec.AccumulatorConfig) {
			g.Accumulators[0].Kind, g.Accumulators[0].Config = "tally", c
		})
		for change, want := range map[string]struct {
			diff    string
			dropped int
		}{
			"spill: rest, note: x": {`changed accumulators.a.tally.note: "" → "x"`, 0},
			"spill: rest, most: 5": {"changed accumulators.a.tally.most: 100 → 5", 0},
		} {
			other := parsed(t, kinds, with("spill: rest", change))
			_, dropped := compile.Split(compile.Changes(one, other))
			if diff := spec.Diff(one.Spec, other.Spec); !slices.Equal(diff, []string{want.diff}) ||
				len(dropped) != want.dropped {
				t.Errorf("%s: got %q, dropped %q", change, diff, dropped)
			}
		}
		other := parsed(t, kinds, with("add: event.x", "add: event.x + 0"))
		if _, dropped := compile.Split(compile.Changes(one, other)); len(dropped) != 1 ||
			!strings.HasPrefix(dropped[0], "accumulator a:") {
			t.Errorf("another tally is the same: dropped %q", dropped)
		}
	})
	t.Run("lint", func(t *testing.T) {
		found := compile.Lint(parsed(t, kinds, with("sum >= vars.limit", "false")))
		if len(found) != 1 || found[0].Code != "endless_tally" || found[0].Line != 7 {
			t.Errorf("lint finds %v", found)
		}
	})
	t.Run("run, seal and restore", func(t *testing.T) { runTally(t, one) })
	t.Run("terms", func(t *testing.T) { // what the fold evaluates itself reads all that others do
		u := parsed(t, kinds, with("sum >= vars.limit", `'meta.key == "now" && event.x == 2'`))
		g, got := tallyRun(virtual.New(u, time.Unix(0, 0), nil))
		ev := boundary.Event{Raw: []byte(`{"at":1,"k":"p","v":1}`), Meta: &boundary.Meta{Key: "now"}}
		if g.Add(0, &ev, true); g.Quiesce() != nil || len(*got) != 2 {
			t.Errorf("got %q", *got)
		}
	})
	t.Run("keys", func(t *testing.T) {
		keyed := strings.NewReplacer(", spill: rest", "", "\n  rest: { from: rest, sink: { stdout: {} } }", "",
			"[a, rest]", "[a]", "reactor:", "  b: { key: event.k }\nreactor:").Replace(tallyGraph)
		u := parsed(t, kinds, keyed)
		got := tallyOf(t, u, `{"at":1,"k":"p","v":20}`, `{"at":2,"k":"q","v":9}`)
		if want := []string{
			`"p" sums {"at":"1970-01-01T00:00:00.001Z","key":"p","n":1,"sum":21}`, `"p" means 21`,
			`"q" sums {"at":"1970-01-01T00:00:00.002Z","key":"q","n":1,"sum":10}`, `"q" means 10`,
		}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// wrongTallies are told at their places, by the kind and by what asks it.
func wrongTallies(t *testing.T, kinds *builtin.Kinds) {
	t.Helper()
	for _, c := range []struct{ old, bad, want string }{
		{"until:", "untli:", `7:42: unknown_field: tally has no field "untli"; `},
		{"key: event.k, ", "", "7:5: missing_field: tally needs the field key; add it"},
		{"spill: rest", "most: 0", "7:74: out_of_range: "},
		{"spill: rest", "most: 13", "7:5: unlucky: 13 brings bad luck"},
		{"spill: rest", "spill: a", "7:75: duplicate_name: \"a\" is an accumulator already; spilt events go to "},
		{"sum >= vars.limit", "sums >= 1", `7:49: unknown_name: `},
		{"sum >= vars.limit", "event.v > 1", `7:55: unknown_field: `}, // it reads what emit has made
		{"sum >= vars.limit", "sum", `7:49: type_mismatch: `},
		{"time: event.at", "global: false", "4:3: missing_field: a tally needs the field time; add it"},
		{"emit:", "key: event.k\n    emit:", `6:5: conflict: "a" is a tally, and what it hands over is of many ` +
			"events: group them by tally.key, "},
		{"tally:", "batch: { size: 1 }\n    tally:", "8:5: several_kinds: "},
		{"{ any: [a, rest] }", "all", "7:75: no_trigger: when: all would wait for a spilt event before it fires; "},
		{"reactor:", "  b: { key: '[1, 2]' }\nreactor:", "8:13: type_mismatch: "},
		{"reactor:", "  b: { key: [event.k, event.l] }\nreactor:", "4:3: key_parts: the key of the tally has 1 parts"},
	} {
		_, diags := kinds.Parse([]byte(strings.Replace(tallyGraph, c.old, c.bad, 1)), "x")
		if !slices.ContainsFunc(diags, func(d spec.Diagnostic) bool {
			return strings.HasPrefix(d.String(), "x:"+c.want)
		}) {
			t.Errorf("%s: got %v, want %s", c.bad, diags, c.want)
		}
	}
}

// runTally: what is sealed between any two events goes on as if nothing had been, and each group
// is a cell of its own.
func runTally(t *testing.T, u *compile.Unit) {
	t.Helper()
	events := []string{
		`{"at":1,"k":"p","v":3}`, `{"at":2,"k":"q","v":8}`, `{"at":3,"k":"p","v":200}`, `{"at":4,"k":"p","v":"no"}`,
		`{"at":5,"k":"p","v":5}`, `{"k":"p","v":5}`, `{"at":6,"k":"q","v":1}`, `{"at":7,"k":"p","v":1}`,
	}
	want := []string{
		`null rest {"x":201}`,
		`null sums {"at":"1970-01-01T00:00:00.005Z","key":"p","n":2,"sum":10}`, `null means 5`,
		`null sums {"at":"1970-01-01T00:00:00.006Z","key":"q","n":2,"sum":11}`, `null means 5.5`,
	}
	if got := tallyOf(t, u, events...); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for cut := range events {
		g, got := tallyRun(virtual.New(u, time.Unix(0, 0), nil))
		feedTally(t, g, events[:cut]...)
		cp, err := g.Seal()
		if err != nil {
			t.Fatal(err)
		}
		cells := 0
		for _, c := range cp.Cells {
			if strings.HasPrefix(c.Name, `a/"`) {
				cells++
			}
		}
		if cut == 2 && cells != 2 {
			t.Errorf("%d groups have cells of their own, want 2: %v", cells, cp.Cells)
		}
		restored, _, err := virtual.Restore(u, cp, nil)
		if err != nil {
			t.Fatal(err)
		}
		g, more := tallyRun(restored)
		feedTally(t, g, events[cut:]...)
		if all := slices.Concat(*got, *more); !slices.Equal(all, want) {
			t.Errorf("sealed before event %d: got %q, want %q", cut, all, want)
		}
		books := g.Core().Look().Inputs[0].Books
		if books.Received != 8 || books.Filtered != 1 || books.DeadLettered != 2 || books.Queued != 1 {
			t.Errorf("sealed before event %d: the books are %+v", cut, books)
		}
	}
}

// tallyOf is what a graph puts out for events of its first input.
func tallyOf(t *testing.T, u *compile.Unit, events ...string) []string {
	t.Helper()
	g, got := tallyRun(virtual.New(u, time.Unix(0, 0), nil))
	feedTally(t, g, events...)
	return *got
}

// tallyRun collects what a graph puts out.
func tallyRun(g *virtual.Graph) (_ *virtual.Graph, got *[]string) {
	got = new([]string)
	g.Release = func(batch []sink.Message) error {
		for i := range batch {
			m := &batch[i]
			*got = append(*got, fmt.Sprintf("%s %s %s", m.Key.Value(), m.Output, m.Value))
		}
		return nil
	}
	return g, got
}

func feedTally(t *testing.T, g *virtual.Graph, events ...string) {
	t.Helper()
	for i, raw := range events {
		ev := boundary.Event{Raw: []byte(raw), Pos: boundary.Position{Stream: "s", Offset: int64(i) + 1}}
		g.Add(0, &ev, true)
		if err := g.Step(); err != nil {
			t.Fatal(err)
		}
	}
	if err := g.Quiesce(); err != nil {
		t.Fatal(err)
	}
}
