package boundary

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"
)

var testTime = time.Date(2026, 11, 20, 10, 0, 0, 123_000_000, time.FixedZone("", 3600))

// kinds are values of every kind, built and decoded, each with its JSON.
func kinds(t testing.TB) map[string]Value {
	shape := NewShape("b", "a", "gone")
	return map[string]Value{
		"absent":         {},
		"null":           Null(),
		"true":           Bool(true),
		"false":          Bool(false),
		"int":            Int(-42),
		"least int":      Int(math.MinInt64),
		"float":          Float(0.1),
		"whole float":    Float(3),
		"negative zero":  Float(math.Copysign(0, -1)),
		"string":         String("a\"\\\n\u2028é"),
		"empty string":   String(""),
		"time":           Time(testTime),
		"time ns":        Time(testTime.Add(1)),
		"duration":       Duration(90 * time.Second),
		"list":           List([]Value{Int(1), {}, String("x"), List(nil)}),
		"empty list":     List(nil),
		"object":         Object(shape, []Value{Time(testTime), List([]Value{Null()}), {}}),
		"empty object":   Object(NewShape(), nil),
		"document":       decode(t, shape, `{"a":[1,{"z":1,"y":2}],"b":"\u0041","c":1.50}`),
		"whole in slots": decode(t, shape, `{ "b" : {"x":1}, "a":[ ] }`),
		"no slots":       decode(t, nil, `{"b":"x","a":[]}`),
		"piece":          decode(t, nil, `{"b":{"x":1,"d":"\n"},"a":[]}`).Field("b"),
		"list piece":     decode(t, nil, `[[1,2.5,null]]`).Index(0),
	}
}

func TestJSON(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"absent": "null", "null": "null", "true": "true", "false": "false", "int": "-42",
		"least int": "-9223372036854775808",
		"float":     "0.1", "whole float": "3", "negative zero": "0", "string": "\"a\\\"\\\\\\n\u2028é\"",
		"empty string": `""`,
		"time":         `"2026-11-20T09:00:00.123Z"`, "time ns": `"2026-11-20T09:00:00.123000001Z"`,
		"duration": `"1m30s"`,
		"list":     `[1,null,"x",[]]`, "empty list": "[]", "object": `{"a":[null],"b":"2026-11-20T09:00:00.123Z"}`,
		"empty object": "{}",
		"document":     `{"a":[1,{"y":2,"z":1}],"b":"A","c":1.5}`, "whole in slots": `{"a":[],"b":{"x":1}}`,
		"no slots": `{"a":[],"b":"x"}`,
		"piece":    `{"d":"\n","x":1}`, "list piece": "[1,2.5,null]",
	}
	for name, v := range kinds(t) {
		if got := v.String(); got != want[name] {
			t.Errorf("%s: got %s, want %s", name, got, want[name])
		}
		std, err := json.Marshal(v)
		if err != nil || !json.Valid(std) {
			t.Errorf("%s: json.Marshal: %s, %v", name, std, err)
		}
	}
}

// Integral floats have the digits of the equal int, which encoding/json rounds.
func TestWholeFloats(t *testing.T) {
	t.Parallel()
	for _, i := range []int64{0, 1, -1, 1 << 53, 1<<53 + 2, 1 << 62, math.MinInt64, -(1<<62 + 1<<12)} {
		if got, want := Float(float64(i)).String(), Int(i).String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// M21: what is no number does not come to be.
func TestNotFinite(t *testing.T) {
	t.Parallel()
	for _, f := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if v := Float(f); !v.IsNull() {
			t.Errorf("Float(%v) is %v", f, v)
		}
		for _, x := range []any{f, float32(f), []any{1, f}, map[string]any{"a": f}, json.Number(fmt.Sprint(f))} {
			if v, err := FromAny(x); err == nil || !v.IsAbsent() {
				t.Errorf("FromAny(%v) is %v, %v", x, v, err)
			}
		}
		if v, ok := ParseNumber(fmt.Sprint(f)); ok {
			t.Errorf("ParseNumber(%v) is %v", f, v)
		}
		b := Float(1).AppendBinary(nil)
		bits := math.Float64bits(f)
		for i := range 8 {
			b[1+i] = byte(bits >> (8 * i))
		}
		if v, _, err := DecodeBinary(b); err == nil {
			t.Errorf("DecodeBinary(%v) is %v", f, v)
		}
	}
}

func TestAccessors(t *testing.T) {
	t.Parallel()
	type answers struct {
		Bool, Int, Float, String, Time, Duration bool
		Len                                      int
	}
	tests := map[string]answers{
		"absent": {}, "null": {}, "true": {Bool: true}, "int": {Int: true, Float: true}, "float": {Float: true},
		"whole float": {Float: true}, "string": {String: true, Len: len("a\"\\\n\u2028é")},
		"empty string": {String: true},
		"time":         {Time: true}, "duration": {Duration: true}, "list": {Len: 4}, "object": {Len: 2},
		"document":       {Len: 3},
		"piece":          {Len: 2},
		"whole in slots": {Len: 2}, "list piece": {Len: 3},
	}
	all := kinds(t)
	for name, want := range tests {
		v := all[name]
		var got answers
		_, got.Bool = v.AsBool()
		_, got.Int = v.AsInt()
		_, got.Float = v.AsFloat()
		_, got.String = v.AsString()
		_, got.Time = v.AsTime()
		_, got.Duration = v.AsDuration()
		got.Len = v.Len()
		if got != want {
			t.Errorf("%s: got %+v, want %+v", name, got, want)
		}
		if !v.Field("nothing").IsAbsent() || !v.Index(99).IsAbsent() || !v.Index(-1).IsAbsent() {
			t.Errorf("%s has what it has not", name)
		}
	}
	if f, _ := Int(math.MaxInt64).AsFloat(); f != 1<<63 {
		t.Errorf("got %v", f)
	}
	if got, _ := all["time"].AsTime(); !got.Equal(testTime) || got.Location() != time.UTC {
		t.Errorf("got %v, want %v", got, testTime)
	}
	far := time.Date(3000, 1, 1, 0, 0, 0, 0, time.UTC)
	last, _ := Time(far).AsTime()
	first, _ := Time(time.Time{}).AsTime()
	if last.Year() != 2262 || first.Year() != 1677 {
		t.Errorf("got %v and %v", first, last)
	}
}

func TestShape(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, smallShape, smallShape + 1, 100} {
		var names []string
		for i := range n {
			names = append(names, fmt.Sprint("f", (i*37)%101))
		}
		s := NewShape(names...)
		slots := make([]Value, n)
		for i, name := range names {
			if at, ok := s.Slot(name); !ok || at != i || s.Name(i) != name {
				t.Fatalf("%s is at %d, %v, want %d", name, at, ok, i)
			}
			slots[i] = Int(int64(i))
		}
		if _, ok := s.Slot("other"); ok || s.Len() != n {
			t.Fatalf("a shape of %d names has one more", n)
		}
		v := Object(s, slots)
		w := decode(t, NewShape("f0", "zz"), v.String())
		for i, name := range names {
			for _, got := range []Value{v.Slot(s, i), w.Slot(s, i), v.Field(name), w.Field(name)} {
				if !Equal(got, Int(int64(i))) {
					t.Fatalf("%s: got %v, want %d", name, got, i)
				}
			}
		}
		if got := slices.Collect(maps.Keys(maps.Collect(v.Fields()))); len(got) != n {
			t.Fatalf("got the fields %v", got)
		}
	}
}

func TestFields(t *testing.T) {
	t.Parallel()
	const doc = `{"b":1,"\u0061":2,"c":[3],"d":null}`
	for _, v := range []Value{decode(t, nil, doc), decode(t, NewShape("c", "a"), doc)} {
		var got []string
		for name, f := range v.Fields() {
			got = append(got, name+f.String())
			if name == "c" {
				break
			}
		}
		if want := []string{"b1", "a2", "c[3]"}; !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	for item := range List([]Value{Int(1), Int(2)}).Items() {
		if !Equal(item, Int(1)) {
			t.Errorf("got %v", item)
		}
		break
	}
}

func TestAny(t *testing.T) {
	t.Parallel()
	in := map[string]any{
		"nil": nil, "bool": true, "int": 1, "float": 1.5, "string": "s", "time": testTime.UTC(),
		"duration": time.Second,
		"list":     []any{1, []any{}}, "object": map[string]any{"a": 1},
	}
	v, err := FromAny(in)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(in, v.Any()); diff != "" {
		t.Error(diff)
	}
	for _, x := range []any{int8(7), int16(7), int32(7), int64(7), uint(7), uint8(7), uint16(7), uint32(7), uint64(7),
		float32(7), 7.0, json.Number("7"), Int(7)} {
		if v, err := FromAny(x); err != nil || !Equal(v, Int(7)) {
			t.Errorf("%T: got %v, %v", x, v, err)
		}
	}
	for _, x := range []any{
		uint64(math.MaxUint64), uint(1<<63 + 1), json.Number("18446744073709551615"),
		firstTime.Add(-1), lastTime.Add(1),
	} {
		if v, err := FromAny(x); err == nil {
			t.Errorf("%v has silently become %v", x, v)
		}
	}
	if v, err := FromAny(uint64(9223372036854776000)); err != nil || v.Kind() != KindFloat {
		t.Errorf("got %v, %v", v, err)
	}
	if v, err := FromAny([]Value{Int(1), {}}); err != nil || v.String() != "[1,null]" {
		t.Errorf("got %v, %v", v, err)
	}
	for x, want := range map[any]string{
		struct{}{}: "struct {}", complex(1, 1): "complex128", json.Number("1x"): "1x", json.Number(""): `""`,
	} {
		_, err := FromAny(map[string]any{"a": []any{1, x}})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), `"a": [1]: `) {
			t.Errorf("%v: got %v", x, err)
		}
	}
	cycle := map[string]any{}
	cycle["again"] = cycle
	if _, err := FromAny(cycle); err == nil {
		t.Error("a cycle was accepted")
	}
}

// What recursion over values relies on: deeper than MaxDepth there is nothing.
func TestDepth(t *testing.T) {
	t.Parallel()
	s := NewShape("a")
	v := Int(1)
	for i := range MaxDepth {
		if i%2 == 0 {
			v = List([]Value{v})
		} else {
			v = Object(s, []Value{v})
		}
	}
	w, _, err := DecodeBinary(v.AppendBinary(nil))
	if err != nil || v.Depth() != MaxDepth || w.Depth() != MaxDepth || !Equal(v, w) || v.Size() == 0 ||
		v.Compact().String() != v.String() {
		t.Fatalf("got depth %d and %d, %v", v.Depth(), w.Depth(), err)
	}
	mustPanic(t, "a deeper list", func() { List([]Value{v}) })
	mustPanic(t, "a deeper object", func() { Object(s, []Value{v}) })
	if _, err := FromAny([]any{v}); err == nil {
		t.Error("FromAny made a deeper list")
	}
	if _, err := FromAny([]Value{v}); err == nil {
		t.Error("FromAny made a deeper list")
	}
	deeper := append([]byte{tagList, 1}, v.AppendBinary(nil)...)
	if _, _, err := DecodeBinary(deeper); err == nil {
		t.Error("DecodeBinary made a deeper list")
	}
}

func mustPanic(t *testing.T, what string, f func()) {
	t.Helper()
	defer func() {
		if recover() == nil {
			t.Errorf("%s was made", what)
		}
	}()
	f()
}

func TestMisuse(t *testing.T) {
	t.Parallel()
	mustPanic(t, "a shape with a name twice", func() { NewShape("a", "b", "a") })
	mustPanic(t, "an object with a slot too few", func() { Object(NewShape("a", "b"), []Value{Null()}) })
}

func TestSize(t *testing.T) {
	t.Parallel()
	if got := unsafe.Sizeof(Value{}); got != 24 {
		t.Errorf("a value has %d bytes, want 24", got)
	}
	small, large := strings.Repeat("x", 10), strings.Repeat("x", 10_000)
	for _, v := range []Value{
		String(large), List([]Value{String(large)}), Object(NewShape("a"), []Value{String(large)}),
		decode(t, NewShape("a"), `{"a":"`+large+`"}`), decode(t, nil, `["`+large+`"]`),
	} {
		if got := v.Size(); got < 10_000 || got > 10_200 {
			t.Errorf("%v: got a size of %d", v.Kind(), got)
		}
	}
	if got := decode(t, NewShape("a"), `{"a":"`+small+`"}`).Size(); got > 120 {
		t.Errorf("got a size of %d", got)
	}
}

// Values are read by many at once; the race detector would see anything filled in late.
func TestConcurrentReads(t *testing.T) {
	t.Parallel()
	all := kinds(t)
	shape := NewShape("a", "x")
	want := map[string]string{}
	for name, v := range all {
		want[name] = v.String()
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for name, v := range all {
				w, _, err := DecodeBinary(v.AppendBinary(nil))
				if err != nil || !Equal(v, w) || v.String() != want[name] || v.Compact().String() != want[name] {
					t.Errorf("%s: got %v, %v", name, w, err)
				}
				_, _, _ = v.Slot(shape, 0), v.Any(), v.Len()
			}
		})
	}
	wg.Wait()
}

// The generation of a stream, and what tells streams of one partition apart, are none of its
// partition's name.
func TestPartition(t *testing.T) {
	t.Parallel()
	for stream, want := range map[string]string{
		"": "", "orders/0": "orders/0", "orders/0#mH9c": "orders/0", "rows~3f#n,~": "rows", "a#b~c": "a",
	} {
		if got := Partition(stream); got != want {
			t.Errorf("%q: got %q, want %q", stream, got, want)
		}
	}
}
