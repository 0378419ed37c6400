package builtin_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/source/kafka"
	"github.com/graphd/graphd/internal/spec"
)

// uncounted are the fields that take no part in a declaration's hash, by their path without
// indexes, and why.
var uncounted = map[string]string{
	"File":                      "where a declaration stands is not what it says",
	"Tenant":                    "whose a declaration is stands beside it in the store, and never changes",
	"Hash":                      "it is the hash",
	"VarsUnread":                "a declaration with mistakes is never run",
	"Unsure":                    "a declaration with mistakes is never run",
	"Accumulators.StrategyFrom": "the strategy counts, whoever says it",
	"Accumulators.Owner":        "it follows from the owner's configuration, which counts",
	"Accumulators.JoinedBy":     "it follows from the join's configuration, which counts",
}

// Every field of a declaration, and of the configuration of every kind, moves the hash: a
// change that apply would not see goes unnoticed for ever (fault 1 was Kafka's).
func TestEveryFieldMovesTheHash(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	tried := 0
	for _, g := range wholeGraphs(t) {
		w := walker{hash: g.Fingerprint, moved: map[string]bool{}, seen: map[string]bool{}}
		w.walk(reflect.ValueOf(g).Elem(), "")
		for path := range w.seen {
			tried++
			switch _, excepted := uncounted[path]; {
			case excepted && w.moved[path]:
				t.Errorf("%s moves the hash: take it off the list", path)
			case !excepted && !w.moved[path]:
				t.Errorf("%s takes no part in the hash: a graph that differs in it alone would not be updated", path)
			}
			used[path] = true
		}
	}
	for path := range uncounted {
		if !used[path] {
			t.Errorf("there is no field %s: take it off the list", path)
		}
	}
	if tried < 70 {
		t.Errorf("only %d fields were tried", tried)
	}
}

// The same for the configuration of every kind.
func TestEveryFieldOfEveryKindMovesTheHash(t *testing.T) {
	t.Parallel()
	kinds := new(builtin.Kinds).Declared()
	for _, k := range kinds.Sources {
		t.Run("source "+k.Name(), func(t *testing.T) {
			t.Parallel()
			everyField(t, k.Default(), func(g *spec.Graph, c spec.SourceConfig) {
				g.Accumulators[0].Source = spec.Source{Kind: k.Name(), Config: c}
			})
		})
	}
	for _, k := range kinds.Accumulators {
		t.Run("accumulator "+k.Name(), func(t *testing.T) {
			t.Parallel()
			everyField(t, k.Default(), func(g *spec.Graph, c spec.AccumulatorConfig) {
				g.Accumulators[0].Kind, g.Accumulators[0].Config = k.Name(), c
			})
		})
	}
	for _, k := range kinds.Nodes {
		if !k.Built() {
			continue
		}
		t.Run("node "+k.Name(), func(t *testing.T) {
			t.Parallel()
			everyField(t, k.Default(), func(g *spec.Graph, c spec.NodeConfig) {
				g.Nodes = []spec.Node{{Name: "n", Kind: k.Name(), Config: c}}
			})
		})
	}
	for _, k := range kinds.Sinks {
		t.Run("sink "+k.Name(), func(t *testing.T) {
			t.Parallel()
			everyField(t, k.Default(), func(g *spec.Graph, c spec.SinkConfig) {
				g.Outputs[0].Sink = spec.Sink{Kind: k.Name(), Config: c}
			})
		})
	}
}

// variants are configurations in which fields count that otherwise do not.
var variants = map[reflect.Type][]func(reflect.Value){
	reflect.TypeFor[kafka.Declared](): {
		func(v reflect.Value) { v.Addr().Interface().(*kafka.Declared).Start.At = "timestamp" },
		func(v reflect.Value) { v.Addr().Interface().(*kafka.Declared).Start.At = "offsets" },
	},
}

// everyField changes every field of a kind's configuration, alone and with all others set, in
// a graph that put places it into.
func everyField[C any](t *testing.T, config C, put func(*spec.Graph, C)) {
	t.Helper()
	typ := reflect.TypeOf(config)
	moved, seen := map[string]bool{}, map[string]bool{}
	for _, vary := range append([]func(reflect.Value){func(reflect.Value) {}}, variants[typ]...) {
		for _, full := range []bool{false, true} {
			c := reflect.New(typ).Elem()
			c.Set(reflect.ValueOf(config))
			if full {
				fill(c)
			}
			vary(c)
			hash := func() string {
				g := smallGraph()
				put(g, c.Interface().(C))
				return g.Fingerprint()
			}
			w := walker{hash: hash, moved: moved, seen: seen}
			w.walk(c, "")
		}
	}
	for path := range seen {
		if !moved[path] {
			t.Errorf("%s takes no part in the hash", path)
		}
	}
}

func smallGraph() *spec.Graph {
	return &spec.Graph{Name: "g", Reactor: &spec.Reactor{}, Accumulators: []spec.Accumulator{{Name: "a"}},
		Outputs: []spec.Output{{Name: "o"}}}
}

// walker changes the fields of a value one after the other, and looks whether a hash moves.
type walker struct {
	hash        func() string
	moved, seen map[string]bool // by path
}

// walk goes through a value that can be set. Places in the document are no fields of meaning.
func (w *walker) walk(v reflect.Value, path string) {
	switch {
	case v.Type() == reflect.TypeFor[spec.Pos]() || v.Kind() == reflect.Interface && v.Type().NumMethod() > 0:
	case v.Type() == reflect.TypeFor[spec.Expr]():
		w.walk(v.FieldByName("Text"), path)
	case v.Kind() == reflect.Struct && v.Type() != reflect.TypeFor[time.Time]():
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				w.walk(v.Field(i), strings.TrimPrefix(path+"."+f.Name, "."))
			}
		}
	case v.Kind() == reflect.Pointer && !v.IsNil() && v.Elem().Kind() == reflect.Struct:
		w.walk(v.Elem(), path)
		if v.Type() != reflect.TypeFor[*spec.Reactor]() { // there is always one
			w.change(v, path, reflect.Zero(v.Type()))
		}
	case v.Kind() == reflect.Array:
		for i := range v.Len() {
			w.walk(v.Index(i), path)
		}
	case v.Kind() == reflect.Slice && v.Len() > 0:
		for i := range v.Len() {
			w.walk(v.Index(i), path)
		}
		w.change(v, path, v.Slice(0, v.Len()-1))
	default:
		w.change(v, path, other(v))
	}
}

// change sets a value, looks at the hash, and takes the change back.
func (w *walker) change(v reflect.Value, path string, to reflect.Value) {
	before, was := w.hash(), reflect.New(v.Type()).Elem()
	was.Set(v)
	v.Set(to)
	w.seen[path] = true
	w.moved[path] = w.moved[path] || w.hash() != before
	v.Set(was)
}

// other is another value of the same type.
func other(v reflect.Value) reflect.Value {
	to := reflect.New(v.Type()).Elem()
	switch v.Kind() {
	case reflect.String:
		to.SetString(v.String() + "x")
	case reflect.Bool:
		to.SetBool(!v.Bool())
	case reflect.Int, reflect.Int64:
		to.SetInt(v.Int() + 1)
	case reflect.Float64:
		to.SetFloat(v.Float() + 1)
	case reflect.Pointer:
		to.Set(reflect.New(v.Type().Elem()))
		fill(to.Elem())
	case reflect.Slice:
		to.Set(reflect.Append(v, filled(v.Type().Elem())))
	case reflect.Map:
		to.Set(reflect.MakeMap(v.Type()))
		to.SetMapIndex(filled(v.Type().Key()), filled(v.Type().Elem()))
	case reflect.Interface:
		to.Set(reflect.ValueOf(fmt.Sprintf("not %v", v)))
	default:
		if at, ok := v.Interface().(time.Time); ok {
			return reflect.ValueOf(at.Add(time.Hour))
		}
		panic("no other value is known of a " + v.Type().String())
	}
	return to
}

func filled(typ reflect.Type) reflect.Value {
	v := reflect.New(typ).Elem()
	fill(v)
	return v
}

// fill gives every field a value that is not its zero.
func fill(v reflect.Value) {
	if v.Kind() == reflect.Struct && v.Type() != reflect.TypeFor[time.Time]() {
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i))
			}
		}
		return
	}
	if v.Kind() == reflect.Array {
		for i := range v.Len() {
			fill(v.Index(i))
		}
	} else if v.IsZero() {
		v.Set(other(v))
	}
}

// wholeGraphs are declarations in which every field of a declaration counts.
func wholeGraphs(t *testing.T) (list []*spec.Graph) {
	t.Helper()
	for _, text := range []string{everyPart} {
		g, diags := spec.Parse([]byte(text), new(builtin.Kinds).Declared(), spec.Options{})
		if len(diags) > 0 {
			t.Fatal(diags)
		}
		list = append(list, g)
	}
	return slices.Clip(list)
}

const everyPart = `
graph: g
description: all there is
vars: { limit: 3, names: [a, b] }
accumulators:
  plain:
    schema: schema.json
    where: event.x > 1
    emit: { x: event.x }
    time: event.at
    time_unit: s
    timezone: Europe/Zurich
    key: event.k
    default: { x: 1 }
    sync_group: together
    strategy: sequential
  shaped: { schema: { type: object }, emit: event.x, key: event.k, sync_group: together }
  several: { batch: { size: 3, interval: 1s, flush: epoch }, global: true }
  newest: { state: { keep: 4 }, global: true }
  folded:
    time: event.at
    window:
      hopping: { size: 1m, every: 10s }
      lateness: 1s
      idle: 1s
      late: stragglers
      early: 1s
      key: event.k
      aggregate: { n: count() }
  kept:
    time: event.at
    window: { tumbling: 1m, late: update, retain: 1m, key: event.k, aggregate: { n: count() } }
  own:
    fold:
      init: { n: vars.limit }
      step: { n: state.n + 1 }
      emit_when: state.n > 3
      result: state.n
      key: [event.k, event.l]
      max_keys: 5
      max_bytes: 5000
reactor:
  when: { any: [plain, shaped, folded] }
  key: k
  ttl: 1m
  guard: plain.x > 0
  debounce: 1s
  rate_limit: 1s
  every: 1s
  max_wait: 1s
nodes:
  sum: { expr: plain.x + 1, event: true }
  pick: { route: { high: sum > 1, low: true } }
  after: { expr: sum, after: pick.high }
  called: { go: { name: f }, inputs: [sum] }
outputs:
  out: { from: sum, sink: { http: { url: "http://h/" } }, delivery: outbox, retry: { base: 1s, max: 2s } }
`
