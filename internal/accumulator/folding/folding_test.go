package folding

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/spec"
)

// plainly is what a fold is, without any of what makes it fast or lasting.
type plainly struct {
	most  int
	keys  map[int]*plainState
	order []int // the least recently used first
}

type plainState struct {
	n, total, open int
	first          int64
}

// add is the fold of TestFoldIsWhatItIsPlainly: it returns what is handed over, and of how many events, and how many
// are forgotten with their key, and evicted.
func (p *plainly) add(number int64, k, x int) (value string, events int, first int64, forgotten, evicted int) {
	s := p.keys[k]
	if s == nil {
		s = &plainState{}
	}
	if s.open++; s.open == 1 {
		s.first = number
	}
	forgets := x == 0 || x == 1
	if forgets {
		s.n, s.total = 0, 0
	} else {
		s.n, s.total = s.n+1, s.total+x
	}
	if x%3 == 0 {
		value = fmt.Sprintf(`{"k":%d,"key":%d,"value":{"n":%d,"total":%d}}`, k, k, s.n, s.total)
		if forgets {
			value = fmt.Sprintf(`{"k":%d,"key":%d,"value":null}`, k, k)
		}
		events, s.open = s.open, 0
	}
	p.order = slices.DeleteFunc(p.order, func(o int) bool { return o == k })
	if forgets {
		delete(p.keys, k)
		return value, events, s.first, s.open, 0
	}
	p.keys[k], p.order = s, append(p.order, k)
	for len(p.order) > p.most {
		evicted += p.keys[p.order[0]].open
		delete(p.keys, p.order[0])
		p.order = p.order[1:]
	}
	return value, events, s.first, 0, evicted
}

func (p *plainly) open() (n int64) {
	for s := range maps.Values(p.keys) {
		n += int64(s.open)
	}
	return n
}

// M3, M28, M42: over any events, and across restarts and steps back at any point, a fold hands over what it is
// plainly, of as many events, and forgets what was used least recently.
func TestFoldIsWhatItIsPlainly(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		most := rapid.SampledFrom([]int{1, 2, 40, 3000}).Draw(rt, "max_keys")
		keys := rapid.SampledFrom([]int{1, 3, 50, 3000}).Draw(rt, "keys")
		d := drive(t, Declared{
			Init: formOf("n", "0", "total", "0"), Key: []spec.Expr{{Text: "event.k"}}, MaxKeys: most,
			Step:     one("event.x == 0 or event.x == 1 ? nil : {n: state.n + 1, total: state.total + event.x}"),
			EmitWhen: spec.Expr{Text: "event.x % 3 == 0"},
		})
		p := &plainly{most: most, keys: map[int]*plainState{}}
		var refused int
		for number := range rapid.IntRange(1, 300).Draw(rt, "events") {
			k, x := rapid.IntRange(0, keys-1).Draw(rt, "k"), rapid.IntRange(-4, 9).Draw(rt, "x")
			switch rapid.IntRange(0, 30).Draw(rt, "before") {
			case 0:
				d.restored(t, false)
			case 1:
				d.restored(t, true)
			case 2: // a push that is taken back
				s := d.f.State()
				for i := range 40 {
					d.add(t, map[string]any{"k": k + i, "x": i})
				}
				d.n -= 40
				d.f.Resume(s)
			case 3:
				if _, _, bad := d.add(t, map[string]any{"k": k, "x": "no number"}); bad == nil || bad.Stage != stage {
					rt.Fatalf("the event is refused with %v", bad)
				}
				refused++
			}
			got, b, bad := d.add(t, map[string]any{"k": k, "x": x})
			want, events, first, forgotten, evicted := p.add(d.n, k, x)
			lost := int64(0)
			for _, f := range d.f.failures.Take() {
				lost += f.Events
			}
			switch {
			case d.f.failures.Forgotten() != int64(forgotten):
				rt.Fatalf("event %d: want %d forgotten with their key", number, forgotten)
			case bad != nil || got != want || lost != int64(evicted) || d.f.Open() != p.open():
				rt.Fatalf("event %d: got %q (%v), %d evicted, %d open, want %q, %d, %d",
					number, got, bad, lost, d.f.Open(), want, evicted, p.open())
			case b != nil && (b.Events != int64(events) || b.First.Offset != first || b.Last.Offset != d.n):
				rt.Fatalf("event %d: %d events from %v to %v, want %d from %d to %d",
					number, b.Events, b.First, b.Last, events, first, d.n)
			}
		}
	})
}

// M28: what a checkpoint has is not changed by what comes after it, and of many keys it writes the pages alone
// that have changed.
func TestStateIsKeptByThePage(t *testing.T) {
	t.Parallel()
	d := drive(t, Declared{Init: one("0"), Key: []spec.Expr{{Text: "event.k"}}, Step: one("state + 1")})
	const keys = 5000
	for k := range keys {
		d.add(t, map[string]any{"k": k})
	}
	before := d.f.State().(*handle)
	text := string(before.AppendBinary(nil))
	for _, k := range []int{7, 8, 4000} {
		d.add(t, map[string]any{"k": k})
	}
	after := d.f.State().(*handle)
	same := map[string]any{}
	for p := range before.Parts() {
		same[p.Name] = p.Same
	}
	var changed []string
	for p := range after.Parts() {
		if same[p.Name] != p.Same {
			changed = append(changed, p.Name)
		}
	}
	if !slices.Equal(changed, []string{"0", "125"}) || len(same) != (keys+pageCells-1)/pageCells {
		t.Errorf("of %d pages %q are written again", len(same), changed)
	}
	if string(before.AppendBinary(nil)) != text {
		t.Error("a checkpoint was changed by what came after it")
	}
	if got, _, _ := d.add(t, map[string]any{"k": 7}); got != `{"k":7,"key":7,"value":3}` {
		t.Errorf("got %s", got)
	}
}

// M28, M35: a fold that goes on from a state that another one has made, as that of an input that is started again does,
// leaves the state as it was, however often each of them has handed its own over; and what it changes are other pages.
func TestM35AnotherFoldLeavesTheState(t *testing.T) {
	t.Parallel()
	for made := range 4 {
		for again := range 4 {
			d := drive(t, Declared{Init: one("0"), Key: []spec.Expr{{Text: "event.k"}}, Step: one("state + 1")})
			for k := range 40 {
				d.add(t, map[string]any{"k": k})
			}
			for range made {
				d.f.State()
				d.add(t, map[string]any{"k": 1})
			}
			before := d.f.State().(*handle)
			text := string(before.AppendBinary(nil))
			had := map[any]string{}
			for p := range before.Parts() {
				had[p.Same] = string(p.Append(nil))
			}
			d.f = d.p.New().(*Folding)
			for range again {
				d.f.State()
			}
			d.f.Resume(before)
			d.add(t, map[string]any{"k": 1})
			d.add(t, map[string]any{"k": 99})
			if got := string(before.AppendBinary(nil)); got != text {
				t.Errorf("after %d and %d: the state of before was changed", made, again)
			}
			for p := range d.f.State().(*handle).Parts() {
				if was, there := had[p.Same]; there && was != string(p.Append(nil)) {
					t.Errorf("after %d and %d: page %s was changed, and is said to be the same", made, again, p.Name)
				}
			}
		}
	}
}

// M3: a null state is none, however what is handed over is written: what reads a state that is not there
// hands nothing over, and keeps no key.
func TestNullStateIsNone(t *testing.T) {
	t.Parallel()
	step := one("event.x == 0 ? nil : {n: (state?.n ?? 0) + event.x}")
	key := []spec.Expr{{Text: "event.k"}}
	for _, c := range []struct {
		name string
		d    Declared
		want string // with the event that makes the state null
	}{
		{"nothing said", Declared{Key: key, Step: step}, `{"k":"a","key":"a","value":null}`},
		{"a condition on the state", Declared{Key: key, Step: step, EmitWhen: spec.Expr{Text: "state.n > 3"}}, ""},
		{"a result of the state", Declared{Key: key, Step: step, Result: one("state.n")}, ""},
		{"fields of the state", Declared{Key: key, Step: step, Result: formOf("n", "state.n")}, ""},
		{"one that knows", Declared{Key: key, Step: step, EmitWhen: spec.Expr{Text: "state == nil"},
			Result: formOf("left", "event.x")}, `{"k":"a","key":"a","left":0}`},
	} {
		d := drive(t, c.d)
		d.add(t, map[string]any{"k": "a", "x": 5})
		got, _, bad := d.add(t, map[string]any{"k": "a", "x": 0})
		if bad != nil || got != c.want || d.f.cells.n != 0 || d.f.Open() != 0 {
			t.Errorf("%s: got %q (%v), %d keys and %d open events", c.name, got, bad, d.f.cells.n, d.f.Open())
		}
	}
}

// M3: what is handed over, by how it is declared.
func TestWhatIsHandedOver(t *testing.T) {
	t.Parallel()
	key := []spec.Expr{{Text: "event.k"}}
	event := map[string]any{"k": "a", "l": 3, "x": 5}
	for _, c := range []struct {
		name string
		d    Declared
		want string
	}{
		{"a state", Declared{Step: one("(state ?? 0) + event.x")}, "5"},
		{"fields of a state", Declared{Init: formOf("n", "1"), Step: formOf("n", "state.n + event.x")}, `{"n":6}`},
		{"a result", Declared{Init: one("1"), Step: one("state + event.x"), Result: one("[state, event.k]")},
			`[6,"a"]`},
		{"under a key", Declared{Key: key, Step: one("event.x")}, `{"k":"a","key":"a","value":5}`},
		{"fields under a key", Declared{Key: key, Step: formOf("n", "event.x")}, `{"k":"a","key":"a","n":5}`},
		{"a result under a key", Declared{Key: key, Step: formOf("n", "event.x"), Result: one("state.n")},
			`{"k":"a","key":"a","value":5}`},
		{"fields of a result",
			Declared{Key: key, Step: one("event.x"), Result: formOf("n", "state", "twice", "2 * state")},
			`{"k":"a","key":"a","n":5,"twice":10}`},
		{"several parts", Declared{Key: []spec.Expr{{Text: "event.k"}, {Text: "event.l % 2"}}, Step: one("event.x")},
			`{"k":"a","key":["a",1],"value":5}`},
		{"a key named value", Declared{Key: []spec.Expr{{Text: "event.value"}}, Step: one("1")},
			`{"key":"v","value":1}`},
		{"vars", Declared{Init: one("vars.step"), Step: one("state + event.x")}, "7"},
	} {
		d := drive(t, c.d)
		event["value"] = "v"
		got, b, bad := d.add(t, event)
		if bad != nil || got != c.want || b.Events != 1 {
			t.Errorf("%s: got %s (%v), want %s", c.name, got, bad, c.want)
		}
		if names := strings.Join(fieldsOf(b.Value), " "); d.p.Shape != nil && names != shapeNames(d.p.Shape) {
			t.Errorf("%s: the fields are %s, the shape says %s", c.name, names, shapeNames(d.p.Shape))
		}
		if err := d.p.Type.Accepts(b.Value); err != nil {
			t.Errorf("%s: %s is not of the type %s: %v", c.name, got, d.p.Type, err)
		}
	}
}

// M47: a mistake is found where it stands, also one that only the type of the state shows.
func TestMistakesInAFold(t *testing.T) {
	t.Parallel()
	event := expression.ObjectOf(map[string]expression.Type{"x": expression.Of(boundary.KindInt)}, false)
	counter := formOf("n", "0")
	for _, c := range []struct {
		d    Declared
		want string
	}{
		{Declared{Step: one("event.y")}, "unknown_field"},
		{Declared{Init: counter, Step: formOf("n", "state.m + 1")}, "unknown_field"},
		{Declared{Init: counter, Step: formOf("n", "1"), EmitWhen: spec.Expr{Text: "state.m > 1"}}, "unknown_field"},
		{Declared{Init: counter, Step: formOf("n", "1"), EmitWhen: spec.Expr{Text: "state.n + 1"}}, "type_mismatch"},
		{Declared{Init: counter, Step: formOf("n", "1"), Result: formOf("x", "state.m")}, "unknown_field"},
		{Declared{Init: one("1 / 0"), Step: one("1")}, "not_finite"},
		{Declared{Init: one("event.x"), Step: one("1")}, "unknown_name"},
		{Declared{Step: one("now()")}, "not_allowed"},
		{Declared{Key: []spec.Expr{{Text: "event.x"}}, Step: formOf("x", "1")}, "duplicate_field"},
		{Declared{Key: []spec.Expr{{Text: "event.x"}}, Step: one("1"), Result: formOf("key", "1")}, "duplicate_field"},
		{Declared{Init: one("repeat('x', 2000)"), Step: one("1")}, "limit_exceeded"},
		{Declared{Step: one("state.y"), EmitWhen: spec.Expr{Text: "events"}}, "unknown_name"},
		// What a state may be is more than the first one.
		{Declared{Init: one("0"), Step: one(`event.x > 3 ? "full" : 1`), Result: one(`state == "full"`)}, ""},
		{Declared{Init: formOf("last", "nil"), Step: formOf("last", "event.x"), Result: one("(state.last ?? 0) + 1")},
			""},
		{Declared{Init: one("[]"), Step: one("concat(state, [event.x])[-3:]"), Result: one("sum(state)")}, ""},
	} {
		_, ds := compiled(t, c.d, event)
		if c.want == "" && len(ds) > 0 || c.want != "" && (len(ds) != 1 || ds[0].Code != c.want) {
			t.Errorf("%+v: %v, want %q", c.d, ds, c.want)
		}
	}
}

// M35: an event that cannot be folded leaves everything as it was, whichever expression fails.
func TestRefusedEventChangesNothing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		d    Declared
		want string
	}{
		{Declared{Step: one("(state ?? 0) + event.x")}, "fold: type_error: step: "},
		{Declared{Init: formOf("n", "0"), Step: formOf("n", "state.n + event.x")}, "fold: type_error: step.n: "},
		{Declared{Step: one("1"), EmitWhen: spec.Expr{Text: "event.x"}}, "fold: type_error: emit_when: "},
		{Declared{Step: one("1"), Result: formOf("n", "1 + event.x")}, "fold: type_error: result.n: "},
		{Declared{Step: one("1"), Result: one("1 + event.x")}, "fold: type_error: result: "},
		{Declared{Step: one("event.long ?? 1")}, "fold: limit_exceeded: step: the state would have 2"},
		{Declared{Step: formOf("in", "event.deep ?? 1")}, "fold: limit_exceeded: step: the state would be nested"},
	} {
		d := drive(t, c.d)
		if c.d.EmitWhen.IsZero() {
			d.add(t, map[string]any{"x": 1})
		}
		before := string(d.f.State().AppendBinary(nil))
		deep := any(1)
		for range 1001 {
			deep = []any{deep}
		}
		bad := map[string]any{"x": "no"}
		if strings.Contains(c.d.Step.Expr.Text, "long") {
			bad["long"] = strings.Repeat("x", 2000)
		} else if c.d.Step.Fields != nil && strings.Contains(c.d.Step.Fields[0].Expr.Text, "deep") {
			bad["deep"] = deep
		}
		_, _, why := d.add(t, bad)
		if why == nil || !strings.HasPrefix(why.Error(), c.want) {
			t.Errorf("%+v: refused with %v, want %s", c.d, why, c.want)
		}
		if string(d.f.State().AppendBinary(nil)) != before || d.f.Open() != 0 {
			t.Errorf("%+v: the event has changed the state", c.d)
		}
	}
}

// M42: states that are too many bytes together are evicted like too many keys, whatever is restored.
func TestStatesAreBoundedInBytes(t *testing.T) {
	t.Parallel()
	d := drive(t, Declared{
		Key: []spec.Expr{{Text: "event.k"}}, Step: one("event.s"), MaxBytes: 1000, EmitWhen: spec.Expr{Text: "false"},
	})
	evicted := []string(nil)
	for i, size := range []int{300, 300, 300, 20, 500, 10} {
		d.restored(t, i%2 == 0)
		d.add(t, map[string]any{"k": i, "s": strings.Repeat("x", size)})
		for _, f := range d.f.failures.Take() {
			evicted = append(evicted, fmt.Sprintf("%d %v %s %d", i, f.Value.Field("key"), f.Bad.Code, f.Last.Offset))
		}
		if d.f.bytes > 1000 {
			t.Errorf("%d bytes are kept", d.f.bytes)
		}
	}
	if want := []string{"4 0 key_evicted 1", "4 1 key_evicted 2"}; !slices.Equal(evicted, want) {
		t.Errorf("evicted %q, want %q", evicted, want)
	}
	if d.f.Open() != 4 {
		t.Errorf("%d events are open, want 4", d.f.Open())
	}
	if count, most, gone := d.f.State().(fold.Keyed).Keys(); count != 4 || most != DefaultMaxKeys || gone != 2 {
		t.Errorf("%d keys of at most %d, %d evicted", count, most, gone)
	}
}

// A state of another kind, or a damaged one, is told.
func TestDamagedStateIsTold(t *testing.T) {
	t.Parallel()
	d := drive(t, Declared{Key: []spec.Expr{{Text: "event.k"}}, Step: one("event.k")})
	for k := range 100 {
		d.add(t, map[string]any{"k": k})
	}
	data := d.f.State().AppendBinary(nil)
	for cut := range data {
		if _, err := d.f.Decode(data[:cut]); err == nil && cut > 0 {
			t.Fatalf("%d bytes of %d are a state", cut, len(data))
		}
	}
	for _, bad := range []string{"W\x02", "F\x01\x02\x00\x02\x03\x03", string(data) + "x"} {
		if _, err := d.f.Decode([]byte(bad)); err == nil {
			t.Errorf("%.20q is a state", bad)
		}
	}
}
