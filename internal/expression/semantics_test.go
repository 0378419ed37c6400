package expression

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/boundary"
)

// world is the scope and the values that the tables below talk about.
type world struct {
	scope  Scope
	values []boundary.Value
	fresh  func(name string) bool // nil: nothing is
}

var noon = time.Date(2026, 11, 20, 12, 30, 15, 0, time.UTC)

func worldOf(t testing.TB, typed bool) *world {
	t.Helper()
	w := &world{scope: Scope{Clock: true, Rand: true, Epoch: true, Iteration: true}}
	w.scope.Arrives = func(name int) bool { return w.scope.Names[name].Name != "big" }
	w.fresh = func(name string) bool { return name == "i" || name == "gone" }
	add := func(name string, x any) {
		v, err := boundary.FromAny(x)
		if err != nil {
			t.Fatal(err)
		}
		typ := Any()
		if typed {
			typ = OfValue(v)
		}
		w.scope.Names = append(w.scope.Names, Name{name, typ})
		w.values = append(w.values, v)
	}
	add("i", 7)
	add("j", -3)
	add("zero", 0)
	add("f", 2.5)
	add("whole", 7.0)
	add("big", math.MaxInt64)
	add("small", math.MinInt64)
	add("huge", math.MaxFloat64)
	add("s", "héllo")
	add("yes", true)
	add("no", false)
	add("null", nil)
	add("list", []any{1, 2, 3})
	add("words", []any{"b", "a", "c"})
	add("empty", []any{})
	add("obj", map[string]any{"a": 1, "b": map[string]any{"c": "deep", "l": []any{10, 20}}, "n": nil, "name": "a"})
	add("items", []any{
		map[string]any{"p": 1.5, "q": 2, "k": "x"},
		map[string]any{"p": 2, "q": 4, "k": "y"},
		map[string]any{"p": 0.5, "q": 1, "k": "x"},
	})
	add("t", noon)
	add("later", noon.Add(90*time.Minute))
	add("d", 90*time.Second)
	w.scope.Names = append(w.scope.Names, Name{"gone", Any()})
	w.values = append(w.values, boundary.Value{})
	return w
}

func (w *world) env() *Env {
	env := &Env{Values: w.values, Now: noon, Epoch: 42, Iteration: 3, Cause: "criteria",
		Rand: func() float64 { return 0.25 }}
	for _, n := range w.scope.Names {
		env.Fresh = append(env.Fresh, w.fresh != nil && w.fresh(n.Name))
	}
	return env
}

// outcome is the result as canonical JSON, or "!" and the code of the error.
// A string is shown as it is, a float that is integral with ".0".
func (w *world) outcome(text string) string {
	p, err := Compile(text, w.scope)
	if ce, ok := errors.AsType[*Error](err); ok {
		return "!" + ce.Code
	}
	v, err := p.Eval(w.env())
	if errors.Is(err, ErrAbsent) {
		return "!absent"
	}
	if ee, ok := errors.AsType[*EvalError](err); ok {
		return "!" + ee.Code
	}
	out := string(v.AppendJSON(nil))
	if v.Kind() == boundary.KindFloat && !strings.ContainsAny(out, ".e") {
		out += ".0"
	}
	return out
}

// semantics are the rules of docs/expressions.md, one line each. M21 is the rule of numbers.
var semantics = []struct{ text, want string }{
	// literals
	{`1`, `1`}, {`1.0`, `1.0`}, {`1e3`, `1000.0`}, {`0x1F`, `31`}, {`1_000`, `1000`}, {`"a\nb"`, `"a\nb"`},
	{`'single'`, `"single"`}, {"`raw\\n`", `"raw\\n"`}, {`nil`, `null`}, {`true`, `true`}, {`[]`, `[]`}, {`{}`, `{}`},
	{`1e999`, `!expression_syntax`}, {`9223372036854775808`, `!expression_syntax`}, {`// comment` + "\n1", `1`},

	// M21: integers stay integers
	{`i + 1`, `8`}, {`i - 10`, `-3`}, {`i * j`, `-21`}, {`-i`, `-7`}, {`+i`, `7`}, {`i % 4`, `3`}, {`j % 2`, `-1`},
	{`i / 2`, `3.5`}, {`6 / 2`, `3.0`}, {`2 ** 3`, `8.0`}, {`2 ^ -1`, `0.5`}, {`i + f`, `9.5`}, {`f - i`, `-4.5`},
	{`whole + 1`, `8.0`},
	{`1 + 2 * 3`, `7`}, {`(1 + 2) * 3`, `9`}, {`-2 ** 2`, `-4.0`}, {`7 - 2 - 1`, `4`},
	// M21: not finite
	{`big + 1`, `!not_finite`}, {`small - 1`, `!not_finite`}, {`big * 2`, `!not_finite`}, {`-small`, `!not_finite`},
	{`small * -1`, `!not_finite`},
	{`i / zero`, `!not_finite`}, {`i / 0.0`, `!not_finite`}, {`zero / zero`, `!not_finite`},
	{`i % zero`, `!not_finite`}, {`small % -1`, `0`},
	{`huge * 10`, `!not_finite`}, {`huge + huge`, `!not_finite`}, {`10 ** 400`, `!not_finite`},
	{`(-8) ** 0.5`, `!not_finite`}, {`big + 0`, `9223372036854775807`},
	{`abs(small)`, `!not_finite`}, {`int(1e300)`, `!not_finite`}, {`1 / 0`, `!not_finite`},
	{`false ? 1 / zero : 2`, `2`},

	// arithmetic on what is no number
	{`null + 1`, `!type_error`}, {`1 + null`, `!type_error`}, {`yes + 1`, `!type_error`}, {`s + 1`, `!type_error`},
	{`1 + s`, `!type_error`},
	{`s - s`, `!type_error`}, {`list + 1`, `!type_error`}, {`obj * 2`, `!type_error`}, {`-s`, `!type_error`},
	{`-null`, `!type_error`}, {`+s`, `!type_error`},
	{`f % 2`, `!type_error`}, {`whole % 2`, `!type_error`}, {`null ** 2`, `!type_error`},
	{`s + "!"`, `"héllo!"`}, {`"a" + "b" + "c"`, `"abc"`}, {`"n=" + string(i)`, `"n=7"`},

	// order
	{`i > 6`, `true`}, {`i < f`, `false`}, {`i >= whole`, `true`}, {`i <= 7.0`, `true`}, {`s < "i"`, `true`},
	{`"a" < "b"`, `true`},
	{`big > 9223372036854775806`, `true`}, {`big < 9.3e18`, `true`}, {`9007199254740993 > 9007199254740992.0`, `true`},
	{`null > 1`, `!type_error`}, {`1 > null`, `!type_error`}, {`s > 1`, `!type_error`}, {`yes > no`, `!type_error`},
	{`list < list`, `!type_error`},
	{`1 < i < 10`, `true`}, {`1 < i < 5`, `false`},

	// equality works on everything
	{`1 == 1.0`, `true`}, {`i == whole`, `true`}, {`i != 8`, `true`}, {`s == "héllo"`, `true`}, {`s != "x"`, `true`},
	{`"héllo" == s`, `true`},
	{`null == nil`, `true`}, {`i == nil`, `false`}, {`obj.nope == nil`, `true`}, {`s == i`, `false`},
	{`null == 0`, `false`}, {`yes == 1`, `false`},
	{`list == [1, 2.0, 3]`, `true`}, {`list != [1, 2]`, `true`}, {`{a: 1, b: 2} == {b: 2.0, a: 1}`, `true`},
	{`{a: 1} == {a: 2}`, `false`},
	{`9007199254740993 == 9007199254740992.0`, `false`}, {`t == t`, `true`}, {`t == string(t)`, `false`},

	// logic
	{`yes and no`, `false`}, {`yes && yes`, `true`}, {`no or yes`, `true`}, {`no || no`, `false`}, {`not no`, `true`},
	{`!yes`, `false`},
	{`no and gone`, `false`}, {`yes or gone`, `true`}, {`yes and gone`, `!absent`}, {`gone and no`, `!absent`},
	{`no and null`, `false`}, {`yes and null`, `!type_error`}, {`i and yes`, `!type_error`}, {`not i`, `!type_error`},
	{`not null`, `!type_error`}, {`null or yes`, `!type_error`},
	{`yes ? 1 : gone`, `1`}, {`no ? gone : 2`, `2`}, {`yes ? gone : 1`, `!absent`}, {`null ? 1 : 2`, `!type_error`},
	{`i ? 1 : 2`, `!type_error`},
	{`if yes { 1 } else { 2 }`, `1`}, {`if no { 1 } else if yes { 2 } else { 3 }`, `2`}, {`no ?: 5`, `5`},

	// absence (M15)
	{`gone`, `!absent`}, {`gone.x`, `!absent`}, {`gone + 1`, `!absent`}, {`1 + gone`, `!absent`},
	{`[1, gone]`, `!absent`}, {`{a: gone}`, `!absent`},
	{`map(items, {"a": .p})`, `[{"a":1.5},{"a":2},{"a":0.5}]`}, {`map(list, {a: #, "b": # + 1})[1].b`, `3`},
	{`map(list, {})`, `[{},{},{}]`}, {`map(words, {(#): #index})[2].c`, `2`}, {`map(list, { # + 1 })`, `[2,3,4]`},
	{`words | map({w: #}) | len()`, `3`}, {`map(items, {let q = .q; {"q": q}})[1].q`, `4`},
	{`map(list, {a: map(list, {b: #})})[0].a[2].b`, `3`}, {`first(map(list, {"ä{": #}))`, `{"ä{":1}`},
	{`filter(map(list, {x: #}), {.x > 1}) | len()`, `2`}, {`map(list, {a: #}`, `!expression_syntax`},
	{`gone == nil`, `true`}, {`gone != nil`, `false`}, {`nil == gone`, `true`}, {`nil != i`, `true`},
	{`gone.x.y == nil`, `true`}, {`gone[0].x != nil`, `false`}, {`gone?.x == nil`, `true`},
	{`(gone ?? gone) == nil`, `true`},
	{`gone + 1 == nil`, `!absent`}, {`gone == null`, `!absent`}, {`gone == gone`, `!absent`}, {`gone == i`, `!absent`},
	{`(gone == nil) == true`, `true`}, {`len(gone) == nil`, `!absent`}, {`let x = gone; x == nil`, `!absent`},
	{`obj.n == nil`, `true`}, {`obj.nope.x == nil`, `!type_error`}, {`map([1, nil], # == nil)`, `[false,true]`},
	{`fresh(i)`, `true`}, {`fresh(j)`, `false`}, {`fresh(gone)`, `true`}, {`fresh(gone) and gone == nil`, `true`},
	{`fresh(i + 1)`, `!not_allowed`}, {`fresh(obj.a)`, `!not_allowed`}, {`fresh(big)`, `!not_allowed`},
	{`let x = i; fresh(x)`, `!not_allowed`}, {`fresh()`, `!wrong_arguments`}, {`fresh(nope)`, `!unknown_name`},
	{`any(list, fresh(j))`, `false`}, {`cause()`, `"criteria"`}, {`cause(1)`, `!wrong_arguments`},
	{`cause() == "force" ? 1 : 2`, `2`},
	{`gone?.x`, `null`}, {`gone?.x.y`, `null`}, {`gone?.["x"]`, `null`}, {`gone ?? 5`, `5`},
	{`gone.x ?? 5`, `5`}, {`gone.x.y ?? 5`, `5`},
	{`gone[0] ?? 5`, `5`}, {`gone ?? gone ?? 6`, `6`}, {`gone ?? gone`, `!absent`}, {`(gone ?? nil) ?? 7`, `7`},
	{`(gone + 1) ?? 5`, `!absent`}, {`i ?? gone`, `7`},
	{`len(gone)`, `!absent`}, {`len(gone ?? [])`, `0`}, {`gone?.x ?? 3`, `3`}, {`let x = gone; 1`, `!absent`},
	{`let x = gone ?? 1; x`, `1`}, {`string(gone)`, `!absent`},
	{`filter(gone, true)`, `!absent`}, {`map(list, gone)`, `!absent`}, {`map(empty, gone)`, `[]`},
	{`gone?.Hour()`, `null`}, {`list[gone]`, `!absent`},

	// null and missing fields
	{`obj.a`, `1`}, {`obj.nope`, `null`}, {`obj.n`, `null`}, {`obj.nope.x`, `!type_error`}, {`obj.nope?.x`, `null`},
	{`obj.nope?.x.y.z`, `null`}, {`obj.nope?.x[0]`, `null`},
	{`obj.b.c`, `"deep"`}, {`obj.b?.c`, `"deep"`}, {`obj["a"]`, `1`}, {`obj["no"+"pe"]`, `null`},
	{`obj[obj.name]`, `1`}, {`obj?.["a"]`, `1`}, {`obj.b.nope`, `null`},
	{`null.x`, `!type_error`}, {`null?.x`, `null`}, {`i.x`, `!type_error`}, {`s.x`, `!type_error`},
	{`list.x`, `!type_error`}, {`null["x"]`, `!type_error`}, {`i?.x`, `!type_error`},
	{`null ?? 4`, `4`}, {`obj.nope ?? 4`, `4`}, {`zero ?? 4`, `0`}, {`no ?? true`, `false`},
	{`null.x ?? 4`, `!type_error`}, {`null?.x ?? 4`, `4`},

	// elements and slices
	{`list[0]`, `1`}, {`list[-1]`, `3`}, {`list[3]`, `!index_out_of_range`}, {`list[-4]`, `!index_out_of_range`},
	{`empty[0]`, `!index_out_of_range`}, {`list[f]`, `!type_error`},
	{`list["a"]`, `!type_error`}, {`obj[0]`, `!type_error`}, {`s[0]`, `!type_error`}, {`i[0]`, `!type_error`},
	{`obj.b.l[1]`, `20`}, {`list[i - 6]`, `2`},
	{`list[1:]`, `[2,3]`}, {`list[:2]`, `[1,2]`}, {`list[1:2]`, `[2]`}, {`list[:-1]`, `[1,2]`}, {`list[-2:]`, `[2,3]`},
	{`list[2:1]`, `[]`}, {`list[5:9]`, `[]`}, {`list[:]`, `[1,2,3]`},
	{`s[0:2]`, `"hé"`}, {`s[-2:]`, `"lo"`}, {`null[1:2]`, `!type_error`}, {`list["a":]`, `!type_error`},
	{`i[1:]`, `!type_error`},
	{`[1, "a", nil, [2]]`, `[1,"a",null,[2]]`}, {`{"b": 1, a: {c: i}}`, `{"a":{"c":7},"b":1}`},
	{`{(s): 1}`, `{"héllo":1}`}, {`{(i): 1}`, `!type_error`}, {`{a: 1, a: 2}`, `!duplicate_field`},
	{`{a: 1, (obj.name): i}`, `{"a":7}`}, {`{1: 2}`, `{"1":2}`},
	{`1..4`, `[1,2,3,4]`}, {`3..1`, `[]`}, {`i..8`, `[7,8]`}, {`f..8`, `!type_error`}, {
		`1..1000000000`, `!limit_exceeded`,
	}, {`small..big`, `!limit_exceeded`}, {`big..big`, `[9223372036854775807]`},

	// in, contains and the like
	{`2 in list`, `true`}, {`2.0 in list`, `true`}, {`5 in list`, `false`}, {`5 not in list`, `true`},
	{`"a" in obj`, `true`}, {`"zz" in obj`, `false`}, {`"n" in obj`, `true`}, {`1 in obj`, `!type_error`},
	{`1 in null`, `false`}, {`"a" in s`, `!type_error`}, {`nil in [nil]`, `true`}, {`i in [1, 7]`, `true`},
	{`s contains "ll"`, `true`}, {`s startsWith "hé"`, `true`}, {`s endsWith "x"`, `false`},
	{`s not contains "z"`, `true`}, {`null contains "a"`, `false`}, {`s contains null`, `false`},
	{`i contains "a"`, `!type_error`},
	{`s matches "^h.l+o$"`, `true`}, {`s matches "l{3}"`, `false`}, {`null matches "a"`, `false`},
	{`i matches "a"`, `!type_error`}, {`s matches "("`, `!invalid_argument`}, {`s matches words[0]`, `false`},
	{`s matches (s + "(")`, `!invalid_argument`},

	// numbers' functions
	{`abs(j)`, `3`}, {`abs(-2.5)`, `2.5`}, {`abs(null)`, `!type_error`}, {`floor(f)`, `2.0`}, {`ceil(f)`, `3.0`},
	{`round(f)`, `3.0`}, {`round(-2.5)`, `-3.0`}, {`floor(i)`, `7.0`}, {`floor(s)`, `!type_error`},
	{`min(3, 1, 2)`, `1`}, {`max(1, 2.5)`, `2.5`}, {`max(list)`, `3`}, {`min(list, 0)`, `0`}, {`max(empty)`, `null`},
	{`max(1, 1.0)`, `1`}, {`min(null)`, `!type_error`}, {`min(1, null)`, `!type_error`}, {`max("a", "b")`, `"b"`},
	{`max(1, "a")`, `!type_error`}, {`max(t, later) == later`, `true`}, {`max([null, 2])`, `!type_error`},
	{`max([[1]])`, `!type_error`},
	{`mean(list)`, `2.0`}, {`mean(empty)`, `null`}, {`median(1, 3, 2)`, `2.0`}, {`median([4, 1])`, `2.5`},
	{`mean(words)`, `!type_error`}, {`mean([huge, huge])`, `!not_finite`},
	{`int(2.9)`, `2`}, {`int(-2.9)`, `-2`}, {`int("12")`, `12`}, {`int("1.5")`, `!invalid_argument`},
	{`int(yes)`, `!type_error`}, {`float(i)`, `7.0`}, {`float("1.5")`, `1.5`}, {`float("NaN")`, `!invalid_argument`},
	{`float("inf")`, `!invalid_argument`}, {`float(null)`, `!type_error`},
	{`bitand(6, 3)`, `2`}, {`bitor(6, 3)`, `7`}, {`bitxor(6, 3)`, `5`}, {`bitnand(6, 3)`, `4`}, {`bitnot(0)`, `-1`},
	{`bitshl(1, 4)`, `16`}, {`bitshl(1, 64)`, `0`}, {`bitshr(-8, 1)`, `-4`}, {`bitushr(-1, 63)`, `1`},
	{`bitshl(1, j)`, `!invalid_argument`}, {`bitand(f, 1)`, `!type_error`},

	// texts
	{`len(s)`, `5`}, {`len(list)`, `3`}, {`len(obj)`, `4`}, {`len(i)`, `!type_error`}, {`len(null)`, `!type_error`},
	{`upper(s)`, `"HÉLLO"`}, {`lower("AB")`, `"ab"`}, {`upper(null)`, `!type_error`}, {`upper(1)`, `!type_mismatch`},
	{`trim("  a ")`, `"a"`}, {`trim("xax", "x")`, `"a"`}, {`trimPrefix("abc", "a")`, `"bc"`},
	{`trimSuffix("abc", "c")`, `"ab"`}, {`split("a,b,c", ",")`, `["a","b","c"]`}, {
		`split("a,b,c", ",", 2)`, `["a","b,c"]`,
	}, {`splitAfter("a,b", ",")`, `["a,","b"]`},
	{`replace("aXbX", "X", "-")`, `"a-b-"`}, {`replace("aXbX", "X", "-", 1)`, `"a-bX"`}, {
		`repeat("ab", 3)`, `"ababab"`,
	}, {`repeat("ab", -1)`, `!invalid_argument`}, {`repeat(s, 1000000000)`, `!limit_exceeded`},
	{`repeat("", big)`, `""`}, {`join(words, "-")`, `"b-a-c"`}, {`join(words)`, `"bac"`}, {
		`join(list, ",")`, `!type_error`,
	},
	{`indexOf("héllo", "l")`, `2`}, {`lastIndexOf("héllo", "l")`, `3`}, {`indexOf(s, "z")`, `-1`},
	{`captures("k=v; x=y", "(\\w)=(\\w)")`, `["k=v","k","v"]`}, {`captures("a", "(b)|a")`, `["a",null]`},
	{`captures("a", "b")`, `null`}, {`map(["a1", "b", "c22"], captures(#, "[0-9]+")?.[0])`, `["1",null,"22"]`},
	{`"k=v" | captures("=(.)")`, `["=v","v"]`}, {`captures(nil, "")`, `null`},
	{`hasPrefix(s, "h")`, `true`}, {`hasSuffix(s, "o")`, `true`}, {`s | upper() | trim("H")`, `"ÉLLO"`},
	{`::upper(s)`, `"HÉLLO"`},
	{`string(1)`, `"1"`}, {`string(1.0)`, `"1"`}, {`string(f)`, `"2.5"`}, {`string(nil)`, `"null"`},
	{`string(s)`, `"héllo"`}, {`string({b: 1, a: [true]})`, `"{\"a\":[true],\"b\":1}"`}, {
		`string(t)`, `"2026-11-20T12:30:15.000Z"`,
	}, {`string(d)`, `"1m30s"`},
	{`toJSON({b: 1.0, a: "x"})`, `"{\"a\":\"x\",\"b\":1}"`}, {`fromJSON("{\"a\":[1,2.5]}").a[1]`, `2.5`},
	{`fromJSON("{")`, `!invalid_argument`}, {`fromJSON("{\"a\":1,\"a\":2}")`, `!invalid_argument`},
	{`toBase64("hi")`, `"aGk="`}, {`fromBase64("aGk=")`, `"hi"`}, {`fromBase64("?")`, `!invalid_argument`},
	{`type(1)`, `"int"`}, {`type(1.5)`, `"float"`}, {`type(nil)`, `"null"`}, {`type(list)`, `"list"`},
	{`type(obj)`, `"object"`}, {`type(t)`, `"time"`}, {`type(d)`, `"duration"`},

	// lists and objects
	{`first(list)`, `1`}, {`last(list)`, `3`}, {`first(empty)`, `null`}, {`last(empty)`, `null`},
	{`first(null)`, `!type_error`}, {`take(list, 2)`, `[1,2]`}, {`take(list, 9)`, `[1,2,3]`}, {`take(list, -1)`, `[]`},
	{`reverse(list)`, `[3,2,1]`}, {`concat(list, [4])`, `[1,2,3,4]`}, {`concat(list, 1)`, `!type_mismatch`},
	{`concat(list, i)`, `!type_error`},
	{`flatten([1, [2, [3, []]]])`, `[1,2,3]`}, {
		`uniq([1, 1.0, "1", 2, 1, [1], [1.0], nil, nil, {a: 1, b: 2}, {b: 2, a: 1}])`,
		`[1,"1",2,[1],null,{"a":1,"b":2}]`,
	}, {`sort([3, 1.5, 2])`, `[1.5,2,3]`}, {`sort(words, "desc")`, `["c","b","a"]`}, {`sort([1, "a"])`, `!type_error`},
	{`sort(words, "up")`, `!invalid_argument`}, {`sort([])`, `[]`}, {`sort([null, 1])`, `!type_error`},
	{`keys(obj)`, `["a","b","n","name"]`}, {`values({b: 1, a: 2})`, `[2,1]`}, {
		`toPairs({b: 1, a: 2})`, `[["a",2],["b",1]]`,
	}, {`fromPairs([["x", 1], ["y", 2]])`, `{"x":1,"y":2}`}, {`fromPairs([[1, 2]])`, `!type_error`},
	{`fromPairs([1])`, `!type_error`}, {`keys(list)`, `!type_error`},
	{`get(obj, "a")`, `1`}, {`get(obj, "zz")`, `null`}, {`get(list, 9)`, `null`}, {`get(list, -1)`, `3`},
	{`get(null, "a")`, `null`}, {`get(list, -9)`, `null`}, {`get(i, "a")`, `!type_error`},

	// predicates
	{`filter(list, # > 1)`, `[2,3]`}, {`filter(items, .k == "x")`, `[{"k":"x","p":1.5,"q":2},{"k":"x","p":0.5,"q":1}]`},
	{`map(list, # * 2)`, `[2,4,6]`}, {`map(items, .q)`, `[2,4,1]`}, {`map(list, #index)`, `[0,1,2]`},
	{`map(list, {let x = #; x + 1})`, `[2,3,4]`},
	{`sum(list)`, `6`}, {`sum(items, .p * .q)`, `11.5`}, {`sum(empty)`, `0`}, {`sum(words)`, `!type_error`},
	{`sum([big, 1])`, `!not_finite`}, {`sum([1, null])`, `!type_error`}, {
		`sum([d, d * 2]) == duration("4m30s")`, `true`,
	}, {`sum([d, 1])`, `!type_error`}, {`sum([1, d])`, `!type_error`}, {`sum([1, 2.5])`, `3.5`},
	{`all(list, # > 0)`, `true`}, {`all(empty, false)`, `true`}, {`any(list, # == 2)`, `true`},
	{`any(empty, true)`, `false`}, {`none(list, # > 5)`, `true`}, {`one(list, # == 2)`, `true`},
	{`one(list, # > 1)`, `false`}, {`count(list, # > 1)`, `2`}, {`count([true, false, true])`, `2`},
	{`count(list)`, `!type_error`},
	{`find(list, # > 1)`, `2`}, {`findLast(list, # > 1)`, `3`}, {`findIndex(list, # > 1)`, `1`},
	{`findLastIndex(list, # > 1)`, `2`}, {`find(list, # > 9)`, `null`}, {`findIndex(list, # > 9)`, `null`},
	{`any(list, gone)`, `!absent`}, {`all(list, #)`, `!type_error`}, {`filter(list, null)`, `!type_error`},
	{`any([1, 2], # / zero > 1)`, `!not_finite`},
	{`reduce(list, #acc + #, 10)`, `16`}, {`reduce(list, #acc * #)`, `6`}, {`reduce(empty, #acc + #, 1)`, `1`},
	{`reduce(empty, #acc + #)`, `!invalid_argument`}, {`reduce(list, #acc + #index, 0)`, `3`},
	{`reduce(list, #acc + sum(map(list, #)), 0)`, `18`},
	{`groupBy(items, .k)["x"][1].q`, `1`}, {`keys(groupBy(list, # % 2))`, `["0","1"]`}, {
		`groupBy([null], #)`, `!type_error`,
	}, {`groupBy(empty, #)`, `{}`}, {`sortBy(items, .q)[0].q`, `1`}, {`map(sortBy(items, .p, "desc"), .q)`, `[4,2,1]`},
	{`sortBy(items, .p, "x")`, `!invalid_argument`}, {`map(sortBy([{a: 1, b: 1}, {a: 0, b: 2}, {a: 1, b: 3}], .a), .b)`,
		`[2,1,3]`},
	{`filter(null, true)`, `!type_error`}, {`map(s, #)`, `!type_error`}, {`sum(obj)`, `!type_error`},
	{`map(list, map(list, #))[2][0]`, `1`}, {`map([1, 2], {let outer = #; sum([10, 20], # * outer)})`, `[30,60]`},
	{`len(filter(1..100, # % 7 == 0))`, `14`},

	// variables
	{`let x = i; x + 1`, `8`}, {`let x = 2; let y = x * 3; y - x`, `4`}, {`let x = gone?.y; x == nil`, `true`},
	{`1; 2`, `2`}, {`gone; 2`, `!absent`}, {`let a = [i, i]; let b = [a, a]; b[1][0]`, `7`},

	// times
	{`later - t == duration("1h30m")`, `true`}, {`t + d == t.Add(d)`, `true`}, {`d + t > t`, `true`},
	{`t - d < t`, `true`}, {`d + d == 2 * d`, `true`}, {`d * 2 == duration("3m")`, `true`},
	{`d * 0.5 == duration("45s")`, `true`}, {`d - d == duration("0s")`, `true`}, {`-d`, `!type_error`},
	{`d * -1 < d`, `true`}, {`t + t`, `!type_error`}, {`d - t`, `!type_error`}, {`d * d`, `!type_error`},
	{`t > d`, `!type_error`}, {`t + 1`, `!type_error`}, {`d / 2`, `!type_error`}, {`d * big`, `!not_finite`},
	{`d * huge`, `!not_finite`},
	{`t.Hour()`, `12`}, {`t.Hour("America/New_York")`, `7`}, {`t.Month()`, `11`}, {`t.Weekday()`, `5`},
	{`t.Year() + 1`, `2027`}, {`t.Unix()`, `1795177815`}, {`t.Format("2006-01-02")`, `"2026-11-20"`},
	{`t.Format("15:04", "Asia/Tokyo")`, `"21:30"`}, {`t.Truncate(duration("1h"))`, `"2026-11-20T12:00:00.000Z"`},
	{`t.AddDate(0, 1, -20)`, `"2026-11-30T12:30:15.000Z"`}, {`t.AddDate(1000, 0, 0)`, `!not_finite`},
	{`t.Before(later)`, `true`}, {`later.Sub(t).Minutes()`, `90.0`},
	{`t.After(later)`, `false`}, {`t.Equal(t)`, `true`}, {`t.Minute()`, `30`}, {`t.Second()`, `15`},
	{`t.Nanosecond()`, `0`}, {`t.YearDay()`, `324`}, {`t.UnixMilli()`, `1795177815000`}, {
		`t.UnixMicro()`, `1795177815000000`,
	}, {`t.UnixNano()`, `1795177815000000000`}, {`t.Round(duration("1h"))`, `"2026-11-20T13:00:00.000Z"`},
	{`d.Round(duration("1m")) == duration("2m")`, `true`}, {`d.Truncate(duration("1m")) == duration("1m")`, `true`},
	{`d.Microseconds()`, `90000000`}, {`d.Nanoseconds()`, `90000000000`},
	{`d.Seconds()`, `90.0`}, {`d.Milliseconds()`, `90000`}, {`d.String()`, `"1m30s"`}, {`(d * -1).Abs() == d`, `true`},
	{`t.Hour("Local")`, `!invalid_argument`}, {`t.Hour("Nowhere/Land")`, `!invalid_argument`},
	{`i.Hour()`, `!type_error`}, {`null.Hour()`, `!type_error`}, {`null?.Hour()`, `null`}, {`t.Hours()`, `!type_error`},
	{`date("2026-11-20") < t`, `true`}, {`date("20.11.2026", "02.01.2006").Day()`, `20`}, {
		`date("2026-11-20 08:00", "2006-01-02 15:04", "Europe/Paris")`, `"2026-11-20T07:00:00.000Z"`,
	}, {`date("nonsense")`, `!invalid_argument`}, {`date("0001-01-01")`, `!not_finite`},
	{`date("2026-11-20t08:00:00.5z")`, `"2026-11-20T08:00:00.500Z"`},
	{`date("2300-01-01T00:00:00Z")`, `!not_finite`},
	{`date("2026-11-20T08:00:00.1234567899Z").Nanosecond()`, `123456789`},
	{`date("2016-12-31T23:59:60Z")`, `!invalid_argument`},
	{`date("2026-01-01", "2006-01-02", "Local")`, `!invalid_argument`},
	{`duration("5 minutes")`, `!invalid_argument`}, {`duration(i)`, `!type_error`},
	{`now() == t`, `true`}, {`epoch()`, `42`}, {`iteration()`, `3`}, {`iteration(1)`, `!wrong_arguments`},
	{`rand()`, `0.25`}, {`now() - duration("1h") < now()`, `true`},
}

func TestSemantics(t *testing.T) {
	t.Parallel()
	w := worldOf(t, false)
	for _, row := range semantics {
		if got := w.outcome(row.text); got != row.want {
			t.Errorf("%s\n got %s\nwant %s", row.text, got, row.want)
		}
	}
	t.Logf("%d rows", len(semantics))
}

// What would take for ever, or all of the memory, fails soon.
func TestLimits(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("does as much work as is allowed, several times")
	}
	w := worldOf(t, false)
	for _, text := range []string{
		`replace(repeat("a", 100000), "a", repeat("b", 1000))`,
		`map(1..1000, map(1..1000, map(1..1000, 1)))`,
		`reduce(1..100, #acc + #acc, "x")`,
		`reduce(1..100, [#acc, #acc], 1)`,
		`reduce(1..100, ({a: #acc, b: #acc}), s)`,
		`reduce(1..1200, [#acc], 1)`,
		`sum(1..1000000, # + # + # + # + # + # + # + # + #)`,
		`reduce(1..60, concat(#acc, #acc), [1])`,
	} {
		if got := w.outcome(text); got != "!limit_exceeded" {
			t.Errorf("%s\n got %.80s\nwant !limit_exceeded", text, got)
		}
	}
}

// Knowing the types changes no result: it only turns some errors into mistakes
// that are found when the expression is compiled.
func TestTypesChangeNoResult(t *testing.T) {
	t.Parallel()
	w := worldOf(t, true)
	for _, row := range semantics {
		if row.want == "!limit_exceeded" {
			continue // nothing to do with types, and long
		}
		got := w.outcome(row.text)
		compileTime := got == "!type_mismatch" || got == "!unknown_field" || got == "!wrong_arguments"
		if got != row.want && !(compileTime && (row.want[0] == '!' || strings.Contains(row.text, "nope") ||
			strings.Contains(row.text, "=="))) {
			t.Errorf("%s\n got %s\nwant %s", row.text, got, row.want)
		}
	}
}
