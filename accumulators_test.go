package graphd_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/graphd/graphd"
)

// streaks is a graph around a registered accumulator that hands over how many events of a kind came in
// a row, once there are enough.
const streaks = `graph: g
accumulators:
  a: { go: { name: streak, options: { least: 2 }, key: event.who } }
nodes: { n: { expr: '[a.who, a.value.kind, a.value.n]' } }
outputs: { o: { from: n, sink: { %s } } }
`

// streak is its state.
type streak struct {
	Kind string `json:"kind"`
	N    int    `json:"n"`
}

func streaking(options graphd.Options) (graphd.FoldFunc, error) {
	var want struct{ Least int }
	if err := options.Decode(&want); err != nil {
		return nil, err
	}
	if want.Least < 1 {
		return nil, errors.New("least must be above 0")
	}
	return func(state, event any) (graphd.Folded, error) {
		kind, _ := event.(map[string]any)["kind"].(string)
		next := streak{kind, 1}
		if was, ok := state.(map[string]any); ok && was["kind"] == kind {
			next.N = was["n"].(int) + 1
		}
		switch kind {
		case "":
			return graphd.Folded{}, errors.New("no kind")
		case "panic":
			panic("a bug")
		case "forget":
			return graphd.Folded{}, nil
		case "chan":
			return graphd.Folded{State: make(chan int)}, nil
		}
		return graphd.Folded{State: next, Value: next, Emit: next.N >= want.Least}, nil
	}, nil
}

func visit(who, kind string) map[string]any { return map[string]any{"who": who, "kind": kind} }

func registry(a graphd.Accumulator) *graphd.Registry {
	return &graphd.Registry{Accumulators: map[string]graphd.Accumulator{"streak": a}}
}

// M3: a registered accumulator has a state for each key; M5: an event that it fails for is a refused one, and
// leaves the state as it was.
func TestM3AccumulatorInGo(t *testing.T) {
	d, err := registry(graphd.Accumulator{New: streaking}).Parse(fmt.Appendf(nil, streaks, "drop: {}"), "")
	if err != nil {
		t.Fatal(err)
	}
	s := d.Simulate()
	if err := s.Push("a", visit("x", "k"), visit("y", "k"), visit("x", "k")); err != nil {
		t.Fatal(err)
	}
	take(t, s, []any{"x", "k", 2})
	for kind, code := range map[string]string{
		"": "error: no kind", "panic": "panic: a bug", "chan": "error: the state:",
	} {
		if err := s.Push("a", visit("y", kind)); err == nil || !strings.Contains(err.Error(), code) {
			t.Errorf("%q: %v", kind, err)
		}
	}
	if err := s.Push("a", visit("y", "k"), visit("x", "forget"), visit("x", "k"), visit("x", "k")); err != nil {
		t.Fatal(err)
	}
	take(t, s, []any{"y", "k", 2}, []any{"x", "k", 2})
}

// What a declaration says of a registered accumulator is read strictly, and every mistake has its place.
func TestAccumulatorMistakes(t *testing.T) {
	none := graphd.Accumulator{New: func(graphd.Options) (graphd.FoldFunc, error) {
		return func(_, event any) (graphd.Folded, error) { return graphd.Folded{}, nil }, nil
	}}
	broken := graphd.Accumulator{New: func(graphd.Options) (graphd.FoldFunc, error) { panic("a bug") }}
	for _, c := range []struct {
		a          graphd.Accumulator
		fold, want string
	}{
		{none, "name: other", `not_registered: this program has registered no accumulator "other"; it has streak`},
		{none, "name: streak, options: { least: 1 }", "bad_options: the options of streak: it has none"},
		{none, "name: streak, max_keys: 5", "max_keys"},
		{none, "name: streak, option: {}", "unknown_field"},
		{none, "options: {}", "missing_field"},
		{graphd.Accumulator{}, "name: streak", "bad_options"},
		{broken, "name: streak", "bad_options: the options of streak: New has panicked: a bug"},
		{graphd.Accumulator{New: streaking}, "name: streak", "least must be above 0"},
		{graphd.Accumulator{New: streaking}, "name: streak, options: { lest: 1 }", "lest"},
		{graphd.Accumulator{New: streaking}, "name: streak, options: { least: x }", "bad_options"},
	} {
		doc := "graph: g\naccumulators:\n  a: { go: { " + c.fold + " } }\n" +
			"outputs: { o: { from: a, sink: { drop: {} } } }\n"
		_, err := registry(c.a).Parse([]byte(doc), "g.yaml")
		var ds graphd.Diagnostics
		if !errors.As(err, &ds) || len(ds) != 1 || !strings.HasPrefix(ds[0].String(), "g.yaml:3:") ||
			!strings.Contains(ds[0].String(), c.want) {
			t.Errorf("%s: got %v, want %s", c.fold, err, c.want)
		}
	}
}

// M33: a restart goes on with the states. Those of an older version are migrated.
func TestAccumulatorStatesOfOtherVersions(t *testing.T) {
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	store := "sqlite:" + t.TempDir() + "/g.db"
	doc := fmt.Appendf(nil, streaks, "go: { name: k }")
	run := func(a graphd.Accumulator, want ...any) {
		t.Helper()
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		got := make(chan any, 10)
		r := registry(a)
		r.Sinks = map[string]graphd.SinkFunc{"k": func(_ context.Context, batch []graphd.Message) error {
			for _, m := range batch {
				got <- m.Value
			}
			return nil
		}}
		d, err := graphd.New(ctx, graphd.Config{
			Store: store, Listen: "127.0.0.1:0", Stdout: io.Discard, Registry: *r,
		})
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- d.Run(ctx) }()
		<-d.Ready()
		defer func() {
			stop()
			if err := <-done; err != nil {
				t.Error(err)
			}
		}()
		if err := errors.Join(d.Apply(ctx, doc), d.Push(ctx, "g", "a", visit("x", "k"))); err != nil {
			t.Fatal(err)
		}
		for _, w := range want {
			select {
			case v := <-got:
				if diff := cmp.Diff(w, v); diff != "" {
					t.Error(diff)
				}
			case <-ctx.Done():
				t.Error("nothing came")
			}
		}
	}
	steps := []struct {
		a    graphd.Accumulator
		want []any
	}{
		{graphd.Accumulator{New: streaking}, nil},
		{graphd.Accumulator{New: streaking}, []any{[]any{"x", "k", 2}}},
		{graphd.Accumulator{Version: 2, New: streaking, Migrate: func(version int, state any) (any, error) {
			was := state.(map[string]any)
			return streak{was["kind"].(string), was["n"].(int) + 10*version}, nil
		}}, []any{[]any{"x", "k", 13}}},
		{graphd.Accumulator{Version: 2, New: streaking}, []any{[]any{"x", "k", 14}}},
	}
	for _, s := range steps {
		run(s.a, s.want...)
	}
}

// Check finds folds that are not pure, and lets those be that are.
func TestAccumulatorCheck(t *testing.T) {
	events := []any{1, 2, "x", 3, 4, 5}
	options := map[string]any{"least": 2}
	good := graphd.Accumulator{New: streaking}
	visits := []any{visit("x", "k"), visit("x", "panic"), visit("x", "k"), visit("x", "forget")}
	if err := good.Check(options, visits...); err != nil {
		t.Error(err)
	}
	if err := good.Check(map[string]any{"lest": 1}, 1); err == nil || !strings.Contains(err.Error(), "bad_options") {
		t.Errorf("got %v", err)
	}
	remembers := graphd.Accumulator{New: func(graphd.Options) (graphd.FoldFunc, error) {
		n := 0
		return func(_, event any) (graphd.Folded, error) {
			n++
			return graphd.Folded{State: 1, Value: n, Emit: true}, nil
		}, nil
	}}
	if err := remembers.Check(nil, events...); err == nil || !strings.Contains(err.Error(),
		"event 1: it is accepted, hands over 2; after a restart: it is accepted, hands over 1") {
		t.Errorf("a fold that remembers: %v", err)
	}
	calls := 0
	chance := graphd.Accumulator{New: func(graphd.Options) (graphd.FoldFunc, error) {
		return func(_, event any) (graphd.Folded, error) {
			calls++
			return graphd.Folded{State: calls}, nil
		}, nil
	}}
	if err := chance.Check(nil, events...); err == nil || !strings.Contains(err.Error(),
		"event 0: after a restart the state becomes another") {
		t.Errorf("a fold that goes by chance: %v", err)
	}
}
