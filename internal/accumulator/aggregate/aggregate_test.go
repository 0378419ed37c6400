package aggregate

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
)

// scopes are those of a window over events of any type.
func scopes() (inner, outer expression.Scope, env *expression.Env) {
	vars := boundary.Object(boundary.NewShape("q"), []boundary.Value{boundary.Float(0.9)})
	names := []expression.Name{{Name: "event"}, {Name: "meta"}, {Name: "vars", Type: expression.OfValue(vars)}}
	return expression.Scope{Names: names}, expression.Scope{Names: names[2:]}, &expression.Env{
		Values: []boundary.Value{{}, {}, vars},
	}
}

// fold computes text over events of increasing time, given as values of event.
func fold(t *testing.T, text string, events ...any) (boundary.Value, error) {
	t.Helper()
	inner, outer, env := scopes()
	var c Calls
	r, err := c.Compile(text, inner, outer, env, 2)
	if err != nil {
		t.Fatal(err)
	}
	cells := make([]Cell, c.Len())
	for i, e := range events {
		env.Values[0] = value(t, e)
		args := make([]boundary.Value, len(c.Args()))
		for k, x := range c.Args() {
			if args[k], err = x.Eval(env); err != nil {
				t.Fatal(err)
			}
		}
		if text := c.Check(args); text != "" {
			return boundary.Value{}, errors.New(text)
		}
		c.Add(cells, int64(i), args)
	}
	kept := c.Append(nil, cells)
	again := make([]Cell, c.Len())
	if rest, err := c.Decode(kept, again); err != nil || len(rest) > 0 || !bytes.Equal(c.Append(nil, again), kept) {
		t.Errorf("%s: what was kept is read as something else: %v, %d bytes left", text, err, len(rest))
	}
	return c.Eval(r, again, env, env.Values[2:3])
}

func value(t *testing.T, x any) boundary.Value {
	t.Helper()
	v, err := boundary.FromAny(x)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// M3: what each function makes of numbers, of nulls and of nothing.
func TestM3Functions(t *testing.T) {
	t.Parallel()
	big := math.MaxInt64
	for _, c := range []struct {
		text   string
		events []any
		want   string // JSON, or the error's text
	}{
		{"count()", []any{1, nil, "x"}, "3"},
		{"count() + 1", nil, "1"},
		{"sum(event)", []any{1, nil, 2}, "3"},
		{"sum(event)", nil, "0"},
		{"sum(event)", []any{1, 0.5}, "1.5"},
		{"sum(event)", []any{big, 1, -2}, "9223372036854775806"}, // no intermediate overflows
		{"sum(event)", []any{big, 1}, "sum: the sum does not fit an int"},
		{"sum(event)", []any{-big, -3}, "sum: the sum does not fit an int"},
		{"sum(event)", []any{1e308, 1e308}, "sum: the result is not a finite number"},
		{"sum(event)", []any{1e16, 1.0, -1e16}, "1"}, // what rounding took is given back
		{"sum(event)", []any{"x"}, "sum needs numbers, got string"},
		{"mean(event)", []any{1, 2, nil}, "1.5"},
		{"mean(event)", []any{big, big}, "9223372036854776000"},
		{"mean(event)", []any{nil}, "null"},
		{"mean(event)", []any{-1, 0.5}, "-0.25"},
		{"max(event) - min(event)", []any{3, 7, nil, 5}, "4"},
		{"min(event)", []any{2.5, 2}, "2"},
		{"min(event)", []any{"b", "a"}, `"a"`},
		{"max(event)", []any{"b", 3, 1e300}, `"b"`}, // of mixed kinds the kind decides
		{"max(event)", []any{true}, "max needs numbers, strings, times or durations, got bool"},
		{
			"max_by(event.a, event.b)", []any{map[string]any{"a": 1, "b": 5}, map[string]any{"a": 2, "b": 5},
				map[string]any{"a": 3, "b": nil}}, "1",
		},
		{"min_by(event, event.b).a", []any{map[string]any{"a": 1, "b": 5}, map[string]any{"a": 2, "b": 4}}, "2"},
		{
			"max_by(event.a, event.b)", []any{
				map[string]any{"b": true},
			}, "max_by needs numbers, strings, times or durations to go by, got bool",
		},
		{"first(event)", []any{nil, 1}, "null"},
		{"last(event)", []any{1, nil}, "null"},
		{"[first(event), last(event)]", []any{1, 2, 3}, "[1,3]"},
		{"stddev(event)", []any{2, 4, 4, 4, 5, 5, 7, 9}, "2.138089935299395"},
		{"stddev(event)", []any{2}, "null"},
		{"stddev(event) ?? 0", nil, "0"},
		{"distinct(event)", []any{1, 1.0, "1", nil, []any{1}, []any{1}}, "3"},
		{"count_distinct(event)", []any{1, 1.0, "1", nil, []any{1}, []any{1}}, "3"},
		{"count_distinct(event)", nil, "0"},
		{"count_distinct(event, 3)", []any{1, 2, 1, 3, 2}, "3"},
		{"count_distinct(event, 2)", []any{1, 2, 1, 3, 2}, "count_distinct: there are more than 2 different values; " +
			"let its second argument be larger, up to 1000000, or take distinct, which estimates"},
		{"collect(event, 2)", []any{3, nil, 1}, "[3,null]"},
		{"len(collect(event, 9))", nil, "0"},
		{"top(event, event, 2)", []any{3, 9, nil, 1, 7.5}, "[9,7.5]"},
		{"top(event, event, 2)", []any{nil}, "[]"},
		{"top(event, event, 2)", nil, "[]"},
		{"top(event.a, event.b, 3)", []any{map[string]any{"a": 1, "b": 5}, map[string]any{"a": nil, "b": 7},
			map[string]any{"a": 3, "b": 5}, map[string]any{"a": 4, "b": 5}}, "[null,1,3]"}, // of equal ones the first
		{
			"top(event, event, 2)", []any{true}, "top needs numbers, strings, times or durations to go by, got bool",
		},
		{"quantile(event, vars.q)", []any{5}, "5"},
		{"quantile(event, 1)", []any{5, 1e9}, "1000000000"},
		{"::max(max(event), vars.q)", []any{0.5}, "0.9"},
	} {
		v, err := fold(t, c.text, c.events...)
		got := v.String()
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s of %v: got %s, want %s", c.text, c.events, got, c.want)
		}
	}
}

func TestCompileMistakes(t *testing.T) {
	t.Parallel()
	inner, outer, env := scopes()
	for text, want := range map[string]struct {
		code   string
		offset int
	}{
		"1 + sum()":                  {"wrong_arguments", 4},
		"count(event)":               {"wrong_arguments", 0},
		"sum(max(event.x))":          {"not_allowed", 4},
		"event.x + 1":                {"unknown_name", 0},
		"sum(event.x) + evnt":        {"unknown_name", 15},
		"sum(evnt.x)":                {"unknown_name", 4},
		"quantile(event.x, 2)":       {"invalid_argument", 0},
		"quantile(event.x, event.q)": {"invalid_argument", 0},
		"collect(event, 0)":          {"invalid_argument", 0},
		"collect(event, 99999)":      {"invalid_argument", 0},
		"sum('text')":                {"type_mismatch", 0},
		"sum(now())":                 {"not_allowed", 4},
		"count() + 'a'":              {"type_mismatch", 8},
		"$0 + count()":               {"not_allowed", 0},
		"count(":                     {"expression_syntax", 6},
		"top(event.x, 1)":            {"wrong_arguments", 0},
		"count_distinct(event.x, 0)": {"invalid_argument", 0},
		"count_distinct(1, 1000001)": {"invalid_argument", 0},
		"top(event.x, 1, 0)":         {"invalid_argument", 0},
		"top(event.x, 1, 1001)":      {"invalid_argument", 0},
		"top(event.x, 1, event.k)":   {"invalid_argument", 0},
		"top(event.x, true, 3)":      {"type_mismatch", 0},
	} {
		var c Calls
		_, err := c.Compile(text, inner, outer, env, 2)
		var mistake *expression.Error
		if !errors.As(err, &mistake) || mistake.Code != want.code || mistake.Offset != want.offset {
			t.Errorf("%s: got %+v, want %+v", text, err, want)
		}
	}
	var c Calls
	for _, text := range []string{"mean(event.x)", "mean(event.x) + max(event.x)", "count()"} {
		if _, err := c.Compile(text, inner, outer, env, 2); err != nil {
			t.Fatal(err)
		}
	}
	if c.Len() != 3 || len(c.Args()) != 1 {
		t.Errorf("%d calls and %d arguments, want each once: 3 and 1", c.Len(), len(c.Args()))
	}
}

// quantile is within its accuracy, distinct exact while there are few and near afterwards;
// both do not depend on the order and are the same bytes for the same values.
func TestSketches(t *testing.T) {
	t.Parallel()
	inner, outer, env := scopes()
	var c Calls
	q, err := c.Compile("[quantile(event, 0.5), quantile(event, 0.99), quantile(event, 0)]", inner, outer, env, 2)
	if err != nil {
		t.Fatal(err)
	}
	d, err := c.Compile("distinct(event)", inner, outer, env, 2)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(9, 9))
	for _, n := range []int{1, 100, fewExact, fewExact + 1, 50_000} {
		xs := make([]float64, n)
		for i := range xs {
			xs[i] = math.Exp(r.NormFloat64()*3) * float64(1-2*r.IntN(2))
		}
		take := func() []Cell {
			cells := make([]Cell, c.Len())
			for i, x := range xs {
				c.Add(cells, int64(i), []boundary.Value{boundary.Float(x)})
			}
			return cells
		}
		cells := take()
		r.Shuffle(n, func(i, j int) { xs[i], xs[j] = xs[j], xs[i] })
		if other := take(); n <= fewExact && !bytes.Equal(c.Append(nil, cells), c.Append(nil, other)) {
			t.Errorf("%d values: the bytes depend on the order", n)
		}
		slices.Sort(xs)
		got, err := c.Eval(q, cells, env, outerOf(t))
		if err != nil {
			t.Fatal(err)
		}
		for i, at := range []float64{0.5, 0.99, 0} {
			x, _ := got.Index(i).AsFloat()
			want := xs[nearestRank(fmt.Sprint(at), n)]
			if math.Abs(x-want) > Accuracy*math.Abs(want)*1.0001 {
				t.Errorf("%d values: quantile %v is %v, want %v", n, at, x, want)
			}
		}
		count, err := c.Eval(d, cells, env, outerOf(t))
		if err != nil {
			t.Fatal(err)
		}
		k, _ := count.AsInt()
		if off := math.Abs(float64(k)-float64(n)) / float64(n); n <= fewExact && off > 0 || off > 0.03 {
			t.Errorf("%d values: %d are distinct", n, k)
		}
	}
}

// distinct counts exactly up to what was asked for, also from a checkpoint, and no further.
func TestDistinctExactly(t *testing.T) {
	t.Parallel()
	inner, outer, env := scopes()
	for _, text := range []string{
		"distinct(event, 0)", "distinct(event, 10001)", "distinct(event, 1.5)", "distinct(event, event)",
	} {
		if _, err := new(Calls).Compile(text, inner, outer, env, 2); err == nil {
			t.Errorf("%s was taken", text)
		}
	}
	var c Calls
	r, err := c.Compile("[distinct(event, 10000), distinct(event), distinct(event, 10)]", inner, outer, env, 2)
	if err != nil {
		t.Fatal(err)
	}
	cells := make([]Cell, c.Len())
	for i := range int64(MaxExact + 1) {
		for range 2 {
			c.Add(cells, i, []boundary.Value{boundary.Int(i)})
		}
		if i%1000 != 999 && i < MaxExact {
			continue
		}
		kept := c.Append(nil, cells)
		cells = make([]Cell, c.Len())
		if _, err := c.Decode(kept, cells); err != nil {
			t.Fatal(err)
		}
		got, err := c.Eval(r, cells, env, outerOf(t))
		if err != nil {
			t.Fatal(err)
		}
		exactly, _ := got.Index(0).AsInt()
		if off := math.Abs(float64(exactly-i-1)) / float64(i+1); i < MaxExact && off > 0 || off > 0.03 {
			t.Errorf("%d values: %d are distinct", i+1, exactly)
		}
	}
}

// A clone and what it was made of do not see each other's events.
func TestCloneIsApart(t *testing.T) {
	t.Parallel()
	inner, outer, env := scopes()
	var c Calls
	for _, text := range []string{
		"count()", "sum(event)", "distinct(event)", "quantile(event, 0.5)", "collect(event, 10)",
		"max_by(event, event)", "stddev(event)", "last(event)", "top(event, event, 4)", "count_distinct(event)",
	} {
		if _, err := c.Compile(text, inner, outer, env, 2); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range []int{3, 1000} {
		cells := make([]Cell, c.Len())
		add := func(cells []Cell, from, to int) {
			for i := from; i < to; i++ {
				c.Add(cells, int64(i), []boundary.Value{boundary.Int(int64(i))})
			}
		}
		add(cells, 0, n)
		before := c.Append(nil, cells)
		clone := Clone(cells)
		add(clone, n, 2*n)
		if !bytes.Equal(c.Append(nil, cells), before) {
			t.Errorf("%d: adding to a clone changed the original", n)
		}
		after := c.Append(nil, clone)
		add(cells, n, 2*n)
		if !bytes.Equal(c.Append(nil, cells), after) {
			t.Errorf("%d: a clone does not go on as the original does", n)
		}
	}
}

// FuzzDecode: no bytes make Decode panic or run away, and what it reads it writes again.
func FuzzDecode(f *testing.F) {
	inner, outer, env := scopes()
	var c Calls
	for _, text := range []string{"sum(event)", "distinct(event)", "quantile(event, 0.5)", "collect(event, 3)",
		"max_by(event, event)", "top(event, event, 3)", "count_distinct(event)"} {
		if _, err := c.Compile(text, inner, outer, env, 2); err != nil {
			f.Fatal(err)
		}
	}
	cells := make([]Cell, c.Len())
	for i := range 600 {
		if i == 2 || i == 599 {
			f.Add(c.Append(nil, cells))
		}
		c.Add(cells, int64(i), []boundary.Value{boundary.Int(int64(i))})
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		cells := make([]Cell, c.Len())
		if _, err := c.Decode(data, cells); err != nil {
			return
		}
		c.Add(cells, 1, []boundary.Value{boundary.Int(1)})
		for k := range cells {
			_, _ = c.value(k, &cells[k])
		}
	})
}

// outerOf are the values of the outer scope: vars.
func outerOf(t *testing.T) []boundary.Value {
	t.Helper()
	return []boundary.Value{value(t, map[string]any{"q": 0.9})}
}

// nearestRank is the index of the least of n sorted values that at least q of them do not
// exceed, computed exactly.
func nearestRank(q string, n int) int {
	x, _ := new(big.Rat).SetString(q)
	x.Mul(x, big.NewRat(int64(n), 1))
	rank := new(big.Int).Div(new(big.Int).Add(x.Num(), new(big.Int).Sub(x.Denom(), big.NewInt(1))), x.Denom())
	return int(max(rank.Int64(), 1)) - 1
}

// quantile goes by the nearest rank whatever the signs of the values, and its answer for
// negated values is no other rule; beyond the sketch's range the extremes are exact.
func TestQuantileRank(t *testing.T) {
	t.Parallel()
	sets := [][]float64{
		{-10, -20}, {10, 20}, {-1, 1}, {-3, -2, -1}, {-2, -1, 0, 1, 2}, {0, 0, 0, -5}, {1e308, 1.5e308, -1.5e308}, {-7},
	}
	seven := make([]float64, 100)
	for i := range seven {
		seven[i] = float64(i - 50)
	}
	sets = append(sets, seven)
	for _, xs := range sets {
		for _, q := range []string{"0", "0.01", "0.07", "0.25", "0.5", "0.75", "0.99", "1"} {
			inner, outer, env := scopes()
			var c Calls
			r, err := c.Compile("quantile(event, "+q+")", inner, outer, env, 2)
			if err != nil {
				t.Fatal(err)
			}
			cells := make([]Cell, 1)
			for i, x := range xs {
				c.Add(cells, int64(i), []boundary.Value{boundary.Float(x)})
			}
			v, err := c.Eval(r, cells, env, outerOf(t))
			if err != nil {
				t.Fatal(err)
			}
			sorted := slices.Sorted(slices.Values(xs))
			got, _ := v.AsFloat()
			if want := sorted[nearestRank(q, len(xs))]; math.Abs(got-want) > Accuracy*math.Abs(want)*1.0001 {
				t.Errorf("quantile %s of %v is %v, want %v", q, xs, got, want)
			}
		}
	}
}
