package boundary

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestEqual(t *testing.T) {
	t.Parallel()
	ab, ba := NewShape("a", "b"), NewShape("b", "a")
	many := func(order ...string) string { return "{" + strings.Join(order, ",") + "}" }
	tests := []struct {
		name string
		a, b Value
		want bool
	}{
		{"absent", Value{}, Value{}, true},
		{"absent and null", Value{}, Null(), false},
		{"null", Null(), Null(), true},
		{"false and null", Bool(false), Null(), false},
		{"false and 0", Bool(false), Int(0), false},
		{"true and false", Bool(true), Bool(false), false},
		{"1 and 1.0", Int(1), Float(1), true}, // M21
		{"0 and -0.0", Int(0), Float(math.Copysign(0, -1)), true},
		{"0.0 and -0.0", Float(0), Float(math.Copysign(0, -1)), true},
		{"1 and 1.5", Int(1), Float(1.5), false},
		{"2^53+1 and its float", Int(1<<53 + 1), Float(1 << 53), false},
		{"2^53 and its float", Int(1 << 53), Float(1 << 53), true},
		{"greatest int and its float", Int(math.MaxInt64), Float(math.MaxInt64), false},
		{"least int and its float", Int(math.MinInt64), Float(math.MinInt64), true},
		{"int and huge float", Int(math.MinInt64), Float(1e300), false},
		{"string and number", String("1"), Int(1), false},
		{"strings", String("a"), decode(t, nil, `"\u0061"`), true},
		{"prefix", String("a"), String("ab"), false},
		{"time and int", Time(time.Unix(0, 5)), Int(5), false},
		{"time and duration", Time(time.Unix(0, 5)), Duration(5), false},
		{"time and its text", Time(testTime), String("2026-11-20T09:00:00.123Z"), false},
		{"times", Time(testTime), Time(testTime.UTC()), true},
		{"list and document", List([]Value{Int(1), Float(2)}), decode(t, nil, "[ 1.0, 2 ]"), true},
		{"shorter list", List([]Value{Int(1)}), decode(t, nil, "[1,2]"), false},
		{"longer list", List([]Value{Int(1), Int(2)}), decode(t, nil, "[1]"), false},
		{"empty list and object", List(nil), Object(NewShape(), nil), false},
		{"built in other orders", Object(ab, []Value{Int(1), Int(2)}), Object(ba, []Value{Int(2), Int(1)}), true},
		{"built, one less", Object(ab, []Value{Int(1), {}}), Object(NewShape("a"), []Value{Int(1)}), true},
		{"built, missing and null", Object(ab, []Value{Int(1), {}}), Object(ab, []Value{Int(1), Null()}), false},
		{"documents in other orders", decode(t, ab, `{"a":1,"b":2,"c":3}`), decode(t, ba, `{"c":3,"b":2,"a":1}`), true},
		{
			"same shape, rest in another order", decode(t, ab, `{"a":1,"x":1,"y":2}`),
			decode(t, ab, `{"y":2,"x":1,"a":1}`), true,
		},
		{"same shape, rest differs", decode(t, ab, `{"a":1,"x":1}`), decode(t, ab, `{"a":1,"x":2}`), false},
		{"same shape, one more", decode(t, ab, `{"a":1}`), decode(t, ab, `{"a":1,"x":2}`), false},
		{"same shape, slot differs", decode(t, ab, `{"a":1,"x":1}`), decode(t, ab, `{"a":2,"x":1}`), false},
		{"written otherwise", decode(t, ab, `{"a":1,"x":[1,"\u0061"]}`), decode(t, ab, `{"a":1.0, "x":[1.0,"a"]}`),
			true},
		{"document and built", decode(t, nil, `{"b":2,"a":1}`), Object(ab, []Value{Int(1), Int(2)}), true},
		{"document and built, one more", decode(t, nil, `{"b":2,"a":1,"c":0}`), Object(ab, []Value{Int(1), Int(2)}),
			false},
		{"other names", decode(t, nil, `{"a":1,"b":2}`), decode(t, nil, `{"a":1,"c":2}`), false},
		{"escaped names", decode(t, nil, `{"a":1,"\u0062":2}`), decode(t, nil, `{"b":2,"\u0061":1}`), true},
		{
			"many fields", decode(t, nil, many(`"a":1`, `"b":2`, `"c":3`, `"d":4`, `"e":5`, `"f":6`, `"g":7`, `"h":8`,
				`"i":9`)),
			decode(t, nil, many(`"i":9`, `"h":8`, `"g":7`, `"f":6`, `"e":5`, `"d":4`, `"c":3`, `"b":2`, `"a":1`)), true,
		},
		{
			"many fields, one differs", decode(t, nil, many(`"a":1`, `"b":2`, `"c":3`, `"d":4`, `"e":5`, `"f":6`,
				`"g":7`, `"h":8`, `"i":9`)),
			decode(t, nil, many(`"i":9`, `"h":8`, `"g":7`, `"f":6`, `"e":5`, `"d":4`, `"c":3`, `"b":2`, `"a":0`)),
			false,
		},
	}
	for _, tt := range tests {
		for _, c := range []struct{ a, b Value }{
			{tt.a, tt.b}, {tt.b, tt.a}, {tt.a.Compact(), tt.b}, {List([]Value{tt.a}), List([]Value{tt.b})},
			{Object(ab, []Value{tt.a, {}}), Object(ab, []Value{tt.b, {}})},
		} {
			if got := Equal(c.a, c.b); got != tt.want {
				t.Errorf("%s: %v and %v: got %v, want %v", tt.name, c.a, c.b, got, tt.want)
			}
		}
		// Equal values have one canonical JSON, and so one key.
		if tt.want && (tt.a.String() != tt.b.String() || KeyOf(tt.a, tt.b) != KeyOf(tt.b, tt.a)) {
			t.Errorf("%s: %v and %v are equal and written differently", tt.name, tt.a, tt.b)
		}
	}
}

// Objects with many keys in different orders are compared without looking each up in the other.
func TestEqualManyKeys(t *testing.T) {
	t.Parallel()
	const n = 30_000
	forth, back := make([]string, n), make([]string, n)
	for i := range n {
		forth[i] = `"` + strings.Repeat("k", i%7) + string(rune('A'+i%26)) + Int(int64(i)).String() + `":0`
		back[n-1-i] = forth[i]
	}
	v := decode(t, NewShape("x"), "{"+strings.Join(forth, ",")+"}")
	w := decode(t, NewShape("x"), "{"+strings.Join(back, ",")+"}")
	if !Equal(v, w) || v.String() != w.String() {
		t.Fatal("the order of keys made a difference")
	}
}
