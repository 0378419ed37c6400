package graphd_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/graphd/graphd"
)

// scored is a graph around a registered node.
const scored = `graph: scored
accumulators: { a: { strategy: sequential }, b: { strategy: latest, default: { k: [1, 2] } } }
nodes:
  n: { go: { name: score }, inputs: [b, a]%s }
  m: { expr: '[n]' }
outputs:
  o: { from: m, sink: { drop: {} } }
`

// simulate runs the graph with a function as its node.
func simulate(t *testing.T, more string, f graphd.NodeFunc) *graphd.Simulation {
	t.Helper()
	r := graphd.Registry{Nodes: map[string]graphd.NodeFunc{"score": f}}
	d, err := r.Parse(fmt.Appendf(nil, scored, more), "")
	if err != nil {
		t.Fatal(err)
	}
	return d.Simulate()
}

func take(t *testing.T, s *graphd.Simulation, want ...any) {
	t.Helper()
	got, err := s.Take("o")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A node gets its inputs by name as plain Go values, and what it returns is a value, a struct
// too.
func TestNodeFunc(t *testing.T) {
	var seen []map[string]any
	s := simulate(t, "", func(in map[string]any) (any, error) {
		seen = append(seen, in)
		if in["a"] == "nothing" {
			return nil, nil
		}
		return struct {
			Got any            `json:"got"`
			N   map[string]int `json:"n"`
		}{in["a"], map[string]int{"x": 1}}, nil
	})
	if err := s.Push("a", 7, "nothing", map[string]any{"f": 1.5, "l": []any{true, nil}}); err != nil {
		t.Fatal(err)
	}
	b := map[string]any{"k": []any{1, 2}}
	want := []map[string]any{
		{"a": 7, "b": b}, {"a": "nothing", "b": b}, {"a": map[string]any{"f": 1.5, "l": []any{true, nil}}, "b": b},
	}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Error(diff)
	}
	n := map[string]any{"x": 1}
	take(t, s, []any{map[string]any{"got": 7, "n": n}}, []any{nil}, []any{
		map[string]any{"got": map[string]any{"f": 1.5, "l": []any{true, nil}}, "n": n},
	})
}

// A function gets the whole of an input, whatever expressions read of it.
func TestNodeFuncGetsAllFields(t *testing.T) {
	var seen any
	r := graphd.Registry{Nodes: map[string]graphd.NodeFunc{"score": func(in map[string]any) (any, error) {
		seen = in["a"]
		return 1, nil
	}}}
	d, err := r.Parse([]byte("graph: g\naccumulators: { a: {} }\nnodes: { n: { go: { name: score }, inputs: [a] }, "+
		"m: { expr: a.f } }\noutputs: { o: { from: m, sink: { drop: {} } } }\n"), "")
	if err != nil {
		t.Fatal(err)
	}
	event := map[string]any{"f": 1, "g": map[string]any{"h": "x"}}
	if err := d.Simulate().Push("a", event); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(event, seen); diff != "" {
		t.Error(diff)
	}
}

// M21: an error or a panic of the function is the node's.
func TestM21NodeFuncFails(t *testing.T) {
	bad := func(in map[string]any) (any, error) {
		switch in["a"] {
		case 1:
			return nil, errors.New("no score")
		case 2:
			panic("a bug")
		case 3:
			return math.NaN(), nil
		case 4:
			return make(chan int), nil
		}
		return "fine", nil
	}
	s := simulate(t, "", bad)
	if err := s.Push("a", 0, 1, 2, 3, 4, 5); err != nil {
		t.Fatal(err)
	}
	take(t, s, []any{"fine"}, []any{"fine"})
	if st := s.Status(); st.Epochs != 6 || st.DeadLetters != 4 || st.Health != "live" {
		t.Errorf("%+v", st)
	}
	s = simulate(t, ", on_error: last_good", bad)
	if err := s.Push("a", 0, 1, 2); err != nil {
		t.Fatal(err)
	}
	if st := s.Status(); st.Epochs != 3 || st.DeadLetters != 0 {
		t.Errorf("%+v", st)
	}
}

// M15, M16: a node with an absent input does not run, and one whose inputs have not changed
// does not run again.
func TestM16NodeFuncRunsWhenItIsDue(t *testing.T) {
	runs := 0
	r := graphd.Registry{Nodes: map[string]graphd.NodeFunc{"score": func(in map[string]any) (any, error) {
		runs++
		return in["a"], nil
	}}}
	d, err := r.Parse([]byte("graph: g\naccumulators: { a: {}, c: {} }\nnodes: { n: { go: { name: score }, inputs: "+
		"[a] }, m: { expr: '[n ?? nil, c ?? nil]' } }\noutputs: { o: { from: m, sink: { drop: {} } } }\n"), "")
	if err != nil {
		t.Fatal(err)
	}
	s := d.Simulate()
	for _, push := range []struct {
		name string
		x    any
		runs int
	}{{"c", 1, 0}, {"a", 5, 1}, {"c", 2, 1}, {"a", 5, 2}} {
		if err := s.Push(push.name, push.x); err != nil || runs != push.runs {
			t.Errorf("after %+v: %d runs, %v", push, runs, err)
		}
	}
	take(t, s, []any{nil, 1}, []any{5, 1}, []any{5, 2})
}

// What is not registered is a diagnostic with its place, and the plan of a graph with
// functions is the same each time.
func TestNotRegistered(t *testing.T) {
	doc := []byte("graph: g\naccumulators:\n  a: { source: { go: { name: s } } }\nnodes:\n  n: { go: { name: f }, " +
		"inputs: [a] }\noutputs:\n  o: { from: n, sink: { go: { name: k } } }\n")
	_, err := graphd.ParseDeclaration(doc, "g.yaml")
	var ds graphd.Diagnostics
	if !errors.As(err, &ds) || len(ds) != 3 {
		t.Fatalf("got %v", err)
	}
	for i, at := range []string{"g.yaml:3:18", "g.yaml:5:3", "g.yaml:7:25"} {
		if got := ds[i].String(); ds[i].Code != "not_registered" || !strings.HasPrefix(got, at) {
			t.Errorf("got %s, want it at %s", got, at)
		}
	}
}

// The commands of a simulation, and its refusals.
func TestSimulation(t *testing.T) {
	d, err := graphd.ParseDeclaration([]byte("graph: g\naccumulators: { a: { strategy: sequential, schema: { type: "+
		"integer } } }\nnodes: { n: { expr: a + 1 } }\noutputs: { o: { from: n, sink: { drop: {} } } }\n"), "")
	if err != nil {
		t.Fatal(err)
	}
	s := d.Simulate()
	check := func(err error, want string) {
		t.Helper()
		if got := fmt.Sprint(err); !strings.Contains(got, want) || want == "<nil>" && err != nil {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	check(s.Push("a", 1, "x", 2), "push event 1 to a: against_schema")
	take(t, s, 2, 3)
	check(s.Push("b", 1), `the graph g has no accumulator "b"; it has [a]`)
	if _, err := s.Take("p"); err == nil {
		t.Error("an output that is not there was taken")
	}
	check(s.Pause(), "<nil>")
	check(s.Push("a", 5, 6, 7), "<nil>")
	take(t, s)
	check(s.Step(1), "<nil>")
	take(t, s, 6)
	check(s.Resume(), "<nil>")
	take(t, s, 7, 8)
	check(s.FireWith(map[string]any{"a": 41}, false), "<nil>")
	take(t, s, 42)
	check(s.FireWith(map[string]any{"b": 41}, false), `no accumulator "b"`)
	check(s.Fire(), "<nil>")
	if st := s.Status(); st.Epochs != 7 || st.Paused || st.Health != "live" {
		t.Errorf("%+v", st)
	}
}

// A source that fails is started again behind what the graph has taken, a sink is asked again
// behind what it has taken, and what it refuses is a dead letter: each value once.
func TestRegisteredSourceAndSink(t *testing.T) {
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	var mu sync.Mutex
	var starts []int64
	var took []any
	refusals, all := 0, make(chan struct{})
	source := func(ctx context.Context, after int64, out *graphd.Events) error {
		mu.Lock()
		starts = append(starts, after)
		mu.Unlock()
		if err := out.Send(0, 1); err == nil {
			return errors.New("position 0 was taken")
		}
		for n := after + 1; n <= 10; n++ {
			if err := out.Send(n, n); err != nil {
				return err
			}
			if n == 4 {
				return errors.New("the line broke")
			}
		}
		<-ctx.Done()
		return nil
	}
	sink := func(_ context.Context, batch []graphd.Message) error {
		mu.Lock()
		defer mu.Unlock()
		for i, m := range batch {
			switch {
			case m.Value == 6:
				return &graphd.Refused{Index: i, Code: "no_six", Err: errors.New("not this one")}
			case m.Value == 8 && refusals == 0:
				refusals++
				return &graphd.Again{Index: i, Err: errors.New("later")}
			}
			if m.FiringID == "" || m.Stable || m.Key != nil || m.Output != "o" || m.Epoch == 0 {
				t.Errorf("%+v", m)
			}
			if took = append(took, m.Value); len(took) == 9 {
				close(all)
			}
		}
		return nil
	}
	d, err := graphd.New(ctx, graphd.Config{
		Store: "memory:", Listen: "127.0.0.1:0", Stdout: io.Discard,
		Registry: graphd.Registry{
			Sources: map[string]graphd.SourceFunc{"s": source}, Sinks: map[string]graphd.SinkFunc{"k": sink},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	<-d.Ready()
	err = d.Apply(ctx, []byte("graph: g\naccumulators: { a: { source: { go: { name: s } }, strategy: sequential } "+
		"}\nreactor: { restart: { base: 10ms } }\noutputs: { o: { from: a, sink: { go: { name: k } }, on_error: "+
		"dead_letter } }\n"))
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-all:
	case <-ctx.Done():
	}
	if err := d.Apply(ctx, []byte("graph: g\naccumulators: {}\n")); !errors.As(err, new(graphd.Diagnostics)) {
		t.Errorf("a broken declaration: %v", err)
	}
	if err := d.Push(ctx, "g", "b", 1); err == nil || !strings.Contains(err.Error(), "push to b of g") {
		t.Errorf("to no accumulator: %v", err)
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if diff := cmp.Diff([]int64{0, 4}, starts); diff != "" {
		t.Errorf("starts: %s", diff)
	}
	if diff := cmp.Diff([]any{1, 2, 3, 4, 5, 7, 8, 9, 10}, took); diff != "" {
		t.Errorf("took: %s", diff)
	}
}
