package expression

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/boundary"
)

// Reads go through the slots of a bound shape, and values of other shapes,
// documents among them, are read all the same.
func TestBind(t *testing.T) {
	t.Parallel()
	shape := boundary.NewShape("ask", "bid")
	other := boundary.NewShape("bid", "x")
	decoder := boundary.NewDecoder(shape, boundary.Limits{})
	decoded, err := decoder.Decode([]byte(`{"x":[1,{"y":5}],"bid":1.5,"size":3,"ask":2}`))
	if err != nil {
		t.Fatal(err)
	}
	values := []boundary.Value{
		boundary.Object(shape, []boundary.Value{boundary.Int(2), boundary.Float(1.5)}),
		boundary.Object(other, []boundary.Value{boundary.Float(1.5), {}}),
		decoded,
		boundary.Object(shape, make([]boundary.Value, 2)),
		boundary.Null(),
		{},
		boundary.Int(1),
	}
	scope := Scope{Names: []Name{{"book", Any()}, {"unread", Any()}}}
	for text, wants := range map[string][]string{
		`book.bid`:      {"1.5", "1.5", "1.5", "null", "!type_error", "!absent", "!type_error"},
		`book.bid + 1`:  {"2.5", "2.5", "2.5", "!type_error", "!type_error", "!absent", "!type_error"},
		`book?.bid`:     {"1.5", "1.5", "1.5", "null", "null", "null", "!type_error"},
		`book.bid ?? 7`: {"1.5", "1.5", "1.5", "7", "!type_error", "7", "!type_error"},
		`book.size`:     {"null", "null", "3", "null", "!type_error", "!absent", "!type_error"},
		`book.x?.[1].y`: {"null", "null", "5", "null", "!type_error", "!absent", "!type_error"},
		`book.x.y`: {"!type_error", "!type_error", "!type_error", "!type_error", "!type_error", "!absent",
			"!type_error"},
		`book["b"+"id"]`: {"1.5", "1.5", "1.5", "null", "!type_error", "!absent", "!type_error"},
	} {
		for _, bind := range []*boundary.Shape{nil, shape, other, boundary.NewShape("nothing")} {
			p, err := Compile(text, scope)
			if err != nil {
				t.Fatal(err)
			}
			if bind != nil {
				p.Bind(0, bind)
			}
			for i, v := range values {
				got, err := p.Eval(&Env{Values: []boundary.Value{v, {}}})
				out := string(got.AppendJSON(nil))
				if err != nil {
					out = codeOf(err)
				}
				if out != wants[i] {
					t.Errorf("%s of value %d: got %s, want %s", text, i, out, wants[i])
				}
			}
		}
	}
}

// A shape can be bound after another one.
func TestBindAgain(t *testing.T) {
	t.Parallel()
	p, err := Compile(`book.bid`, Scope{Names: []Name{{"book", Any()}}})
	if err != nil {
		t.Fatal(err)
	}
	first, second := boundary.NewShape("ask", "bid"), boundary.NewShape("ask")
	p.Bind(0, first)
	p.Bind(0, second)
	v := boundary.Object(second, []boundary.Value{boundary.Int(2)})
	if got, err := p.Eval(&Env{Values: []boundary.Value{v}}); err != nil || !got.IsNull() {
		t.Errorf("got %v, %v, want null", got, err)
	}
}

// What one evaluation may do is not used up by those before it.
func TestWorkIsPerEvaluation(t *testing.T) {
	t.Parallel()
	// Looking at a long string again and again is counted as work without being much.
	p, err := Compile(`all(1..100, not hasPrefix(long, "x"))`, Scope{Names: []Name{{"long", Any()}}})
	if err != nil {
		t.Fatal(err)
	}
	env := &Env{Values: []boundary.Value{boundary.String(strings.Repeat("a", 8<<20))}}
	for i := range 3 {
		if _, err := p.Eval(env); err != nil {
			t.Fatalf("evaluation %d: %v", i, err)
		}
	}
	for i := range 3 {
		if _, err := p.EvalBool(env); err != nil {
			t.Fatalf("evaluation %d: %v", i, err)
		}
	}
}

// Errors say what happened where.
func TestEvalErrors(t *testing.T) {
	t.Parallel()
	w := worldOf(t, false)
	for _, row := range []struct{ text, at, want string }{
		{`1 + null`, "+", "cannot compute int + null; use ?? to give null a default"},
		{`obj.nope.x`, "x", "cannot read x of null; use ?.x to read it as null"},
		{`i + i / zero`, "/", "division by zero: 7 / 0"},
		{`big + 1`, "+", "the result is too large: 9223372036854775807 + 1"},
		{`s > 1`, ">", "cannot compute string > int"},
		{`upper(i)`, "upper", "upper needs string, got int"},
		{`list[7]`, "7", "index 7 is out of range: the list has 3 elements"},
		{`no or i`, "i", "a side of or must be bool, got int"},
		{`i ? 1 : 2`, "i", "a condition must be bool, got int"},
		{`filter(list, i)`, "i", "the predicate of filter must be bool, got int"},
		{`sum(s)`, "sum", "sum needs a list, got string"},
		{`max(1, yes)`, "max", "max needs number or string or time or duration or list, got bool"},
		{`"é" + i`, "+", "cannot compute string + int"},
		{`t.Hour(i)`, "Hour", "Hour needs string, got int"},
	} {
		p, err := Compile(row.text, w.scope)
		if err != nil {
			t.Errorf("%s: %v", row.text, err)
			continue
		}
		_, err = p.Eval(w.env())
		ee, ok := errors.AsType[*EvalError](err)
		if !ok || ee.Text != row.want || ee.Offset != strings.LastIndex(row.text, row.at) || err.Error() != ee.Text {
			t.Errorf("%s\n got %v at %d\nwant %s at %d", row.text, err, ee.Offset, row.want,
				strings.LastIndex(row.text, row.at))
		}
	}
}

// An Env goes from one program to the next, whatever became of the last evaluation.
func TestEnvIsReused(t *testing.T) {
	t.Parallel()
	w := worldOf(t, false)
	env := w.env()
	for round := range 2 {
		for _, row := range semantics {
			if strings.HasPrefix(row.want, "!limit") {
				continue
			}
			p, err := Compile(row.text, w.scope)
			if err != nil {
				continue
			}
			v, err := p.Eval(env)
			want := w.outcome(row.text)
			if got := codeOf(err); err != nil && got != want ||
				err == nil && strings.TrimSuffix(want, ".0") != string(v.AppendJSON(nil)) {
				t.Fatalf("round %d: %s: got %v %v, want %s", round, row.text, v, err, want)
			}
		}
	}
}

// A program is used by many goroutines at once.
func TestEvalConcurrently(t *testing.T) {
	t.Parallel()
	w := worldOf(t, false)
	p, err := Compile(`let x = i * 2; string(sum(items, .p * .q) + x) + upper(s) + t.Format("15", "Asia/Tokyo")`,
		w.scope)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			env := w.env()
			for range 200 {
				if v, err := p.Eval(env); err != nil || v.String() != `"25.5HÉLLO21"` {
					t.Errorf("got %v, %v", v, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// now() is what the Env says, constant within an evaluation (M20).
func TestClock(t *testing.T) {
	t.Parallel()
	p, err := Compile(`now()`, Scope{Clock: true})
	if err != nil {
		t.Fatal(err)
	}
	env := &Env{}
	for _, at := range []time.Time{noon, noon.Add(time.Hour)} {
		env.Now = at
		v, err := p.Eval(env)
		if got, ok := v.AsTime(); err != nil || !ok || !got.Equal(at) {
			t.Errorf("got %v, %v, want %v", v, err, at)
		}
	}
}

func TestTooFewValues(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`b`, `true`, `b and true`} {
		p, err := Compile(text, Scope{Names: []Name{{"a", Any()}, {"b", Any()}}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Eval(&Env{Values: make([]boundary.Value, 1)}); err == nil {
			t.Errorf("%s: evaluated with too few values", text)
		}
		if _, err := p.EvalBool(&Env{Values: make([]boundary.Value, 1)}); err == nil {
			t.Errorf("%s: evaluated with too few values", text)
		}
	}
}

// Scalars cost no allocation.
func TestAllocations(t *testing.T) {
	values, shapes := edgeValues()
	for _, text := range []string{
		edgeText, `book.bid`, `(book.bid + book.ask) / 2`, `abs(book.bid - 3) > threshold and price.mid < 200`,
		`max(book.bid, 2, price.mid)`,
		`let m = (book.bid + book.ask) / 2; m * m`, `price.mid ?? 1`, `book.bid in [1.0, 101.5]`,
		`round(price.mid) == 101`, `price?.mid > 1 ? nil : 2`,
	} {
		p, err := Compile(text, edgeScope())
		if err != nil {
			t.Fatal(err)
		}
		for i, s := range shapes {
			p.Bind(i, s)
		}
		env := &Env{Values: values}
		if n := testing.AllocsPerRun(100, func() {
			if _, err := p.Eval(env); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", text, n)
		}
	}
}

// Every function of the table is in the semantics, so that none goes untested.
func TestEveryFunctionIsTested(t *testing.T) {
	t.Parallel()
	all := ""
	for _, row := range semantics {
		all += row.text + "\n"
	}
	for text := range memoryOracles {
		all += text + "\n"
	}
	for _, name := range Functions() {
		if !strings.Contains(all, name+"(") {
			t.Errorf("no row of the semantics calls %s", name)
		}
	}
}

// Every function refuses kinds that it is not made for, and never panics.
func TestFunctionsOnEverything(t *testing.T) {
	t.Parallel()
	w := worldOf(t, false)
	names := []string{"i", "small", "big", "f", "huge", "s", "yes", "null", "list", "words", "empty", "obj", "items",
		"t", "d"}
	seconds := []string{"i", "s", "list"}
	if !testing.Short() {
		seconds = names
	}
	for _, f := range Functions() {
		for _, a := range names {
			texts := []string{fmt.Sprintf("%s(%s)", f, a)}
			for _, b := range seconds {
				texts = append(texts, fmt.Sprintf("%s(%s, %s)", f, a, b), fmt.Sprintf("%s(%s, %s, %s)", f, a, b, b))
			}
			if f[0] == '.' {
				texts = []string{a + f + "()", a + f + "(d)", a + f + "(s)", a + f + "(i, i, i)"}
			}
			for _, text := range texts {
				p, err := Compile(text, w.scope)
				if err != nil {
					continue
				}
				if v, err := p.Eval(w.env()); err == nil && v.IsAbsent() {
					t.Errorf("%s: no value and no error", text)
				}
			}
		}
	}
}
