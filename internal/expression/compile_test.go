package expression

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graphd/graphd/internal/boundary"
)

func marketScope() Scope {
	number := Of(boundary.KindFloat)
	return Scope{Names: []Name{
		{
			"orderbook", ObjectOf(map[string]Type{"symbol": Of(boundary.KindString), "bid": number, "ask": number,
				"size": Of(boundary.KindInt)}, false),
		},
		{"pricing", ObjectOf(map[string]Type{"fair": number}, true)},
		{"trades", ListOf(ObjectOf(map[string]Type{"price": number, "at": Of(boundary.KindTime)}, false))},
		{"threshold", number},
		{"took", Of(boundary.KindDuration)},
		{"vars", Any()},
	}}
}

// compileErrors are the mistakes a user makes.
var compileErrors = []struct {
	text, code string
	at         string // what the offset points at; "" is the beginning, "$" the end
	suggest    string
}{
	// syntax
	{``, CodeSyntax, "", ""},
	{`  `, CodeSyntax, "", ""},
	{`orderbook.bid +`, CodeSyntax, "$", ""},
	{`(1 + 2`, CodeSyntax, "$", ""},
	{`threshold = 1`, CodeSyntax, "= 1", ""},
	{`"é" + )`, CodeSyntax, ")", ""},
	{`"unclosed`, CodeSyntax, `"`, ""},
	{`1 2`, CodeSyntax, "2", ""},
	{`a.`, CodeSyntax, "$", ""},
	{`threshold ? 1`, CodeSyntax, "$", ""},
	{`[1, 2`, CodeSyntax, "$", ""},
	{`12abc`, CodeSyntax, "abc", ""},
	{"threshold > \xff", CodeSyntax, "\xff", ""},
	{`threshold ~ 2`, CodeSyntax, "~", ""},
	{`99999999999999999999`, CodeSyntax, "9", ""},
	{`{threshold: 1, threshold: 2}`, CodeDuplicateField, "threshold: 2", ""},
	{`-threshold?.(1)`, CodeSyntax, "1)", ""},
	// names
	{`orderbok.bid > 1`, CodeUnknownName, "orderbok", "orderbook"},
	{`1 + treshold`, CodeUnknownName, "treshold", "threshold"},
	{`"é" == whatever`, CodeUnknownName, "whatever", ""},
	{`null`, CodeUnknownName, "", "nil"},
	{`abs > 1`, CodeUnknownName, "abs", ""},
	{`filter`, CodeUnknownName, "", ""},
	{`let x = 1; y`, CodeUnknownName, "y", ""},
	{`let price = 1; prise`, CodeUnknownName, "prise", "price"},
	{`(let x = 1; x) + x`, CodeUnknownName, "x", ""},
	{`map(trades, #foo)`, CodeUnknownName, "#foo", ""},
	{`filter(trades, #index > 0)`, CodeUnknownName, "#index", ""},
	// fields
	{`orderbook.bd`, CodeUnknownField, "bd", "bid"},
	{`orderbook.bid + orderbook.aks`, CodeUnknownField, "aks", "ask"},
	{`orderbook?.nothing`, CodeUnknownField, "nothing", ""},
	{`orderbook["bidd"]`, CodeUnknownField, `"bidd"`, "bid"},
	{`trades[0].prise`, CodeUnknownField, "prise", "price"},
	{`map(trades, .prize)`, CodeUnknownField, "prize", "price"},
	{`orderbook.bid.x`, CodeTypeMismatch, "x", ""},
	// functions
	{`abz(1)`, CodeUnknownFunction, "", "abs"},
	{`1 + uper("a")`, CodeUnknownFunction, "uper", "upper"},
	{`threshold(1)`, CodeUnknownFunction, "", ""},
	{`orderbook.symbol.upper()`, CodeUnknownFunction, "upper", ""},
	{`trades[0].at.Huor()`, CodeUnknownFunction, "Huor", "Hour"},
	{`abs()`, CodeWrongArguments, "", ""},
	{`1 + abs(1, 2)`, CodeWrongArguments, "abs", ""},
	{`trades[0].at.Hour("UTC", 1)`, CodeWrongArguments, "Hour", ""},
	{`split("a")`, CodeWrongArguments, "", ""},
	{`max()`, CodeWrongArguments, "", ""},
	{`1 + len(filter(trades))`, CodeWrongArguments, "))", ""},
	{`trades | map()`, CodeWrongArguments, ")", ""},
	{`now(1)`, CodeNotAllowed, "", ""},
	// types
	{`orderbook.symbol + 1`, CodeTypeMismatch, "+", ""},
	{`orderbook.symbol > 1`, CodeTypeMismatch, ">", ""},
	{`threshold and true`, CodeTypeMismatch, "and", ""},
	{`not threshold`, CodeTypeMismatch, "", ""},
	{`-orderbook.symbol`, CodeTypeMismatch, "", ""},
	{`threshold % 2`, CodeTypeMismatch, "%", ""},
	{`threshold ? 1 : 2`, CodeTypeMismatch, "", ""},
	{`upper(threshold)`, CodeTypeMismatch, "", ""},
	{`1 + len(threshold)`, CodeTypeMismatch, "len", ""},
	{`trades.price`, CodeTypeMismatch, "price", ""},
	{`trades["x"]`, CodeTypeMismatch, `"x"`, ""},
	{`filter(threshold, true)`, CodeTypeMismatch, "threshold", ""},
	{`filter(trades, .price)`, CodeTypeMismatch, ".price", ""},
	{`orderbook.symbol == 1`, CodeTypeMismatch, "==", ""},
	{`threshold.x`, CodeTypeMismatch, "x", ""},
	{`took + 1`, CodeTypeMismatch, "+", ""},
	{`1 in orderbook`, CodeTypeMismatch, "in", ""},
	{`orderbook.symbol matches "("`, CodeInvalidArgument, `"("`, ""},
	{`orderbook.size.Hour()`, CodeTypeMismatch, "Hour", ""},
	{`map(trades, {"ä": .price, "b": bok})`, CodeUnknownName, "bok", "took"},
	{`map(trades, {"a": .price}) + bok`, CodeUnknownName, "bok", "took"},
	{`map(trades, {a: .price, b: .qty +})`, CodeSyntax, "}", ""},
	{`map(trades, {a: threshold, a: 2})`, CodeDuplicateField, "a: 2", ""},
	{`map(trades, {a: took + 1})`, CodeTypeMismatch, "+", ""},
	// what is not allowed
	{`now() > 1`, CodeNotAllowed, "", ""},
	{`::now()`, CodeNotAllowed, "now", ""},
	{`epoch()`, CodeNotAllowed, "", ""},
	{`rand()`, CodeNotAllowed, "", ""},
	{`cause()`, CodeNotAllowed, "", ""},
	{`fresh(threshold)`, CodeNotAllowed, "", ""},
	{`$env`, CodeNotAllowed, "", ""},
	{`$env.orderbook`, CodeNotAllowed, "", ""},
	{`get($env, "x")`, CodeNotAllowed, "$env", ""},
	{`b"bytes"`, CodeNotAllowed, "", ""},
	{`timezone("UTC")`, CodeNotAllowed, "", ""},
	{`let abs = 1; 2`, CodeNotAllowed, "abs", ""},
	{`let threshold = 1; 1`, CodeNotAllowed, "threshold", ""},
	{`let $x = 1; 1`, CodeNotAllowed, "$x", ""},
	// constants that cannot be
	{`1 / 0`, CodeNotFinite, "/", ""},
	{`9223372036854775807 + 1`, CodeNotFinite, "+", ""},
	{`duration("x")`, CodeInvalidArgument, "", ""},
	{`[1, 2][5]`, CodeOutOfRange, "5", ""},
}

func TestCompileErrors(t *testing.T) {
	t.Parallel()
	for _, row := range compileErrors {
		_, err := Compile(row.text, marketScope())
		e, ok := errors.AsType[*Error](err)
		if !ok {
			t.Errorf("%s: got %v, want code %s", row.text, err, row.code)
			continue
		}
		offset := strings.LastIndex(row.text, row.at)
		if row.at == "" {
			offset = 0
		} else if row.at == "$" {
			offset = len(row.text)
		}
		if e.Code != row.code || e.Offset != offset || e.Suggest != row.suggest {
			t.Errorf("%s\n got %s at %d, suggest %q: %s\nwant %s at %d, suggest %q", row.text, e.Code, e.Offset,
				e.Suggest, e.Text, row.code, offset, row.suggest)
		}
		if e.Text == "" || strings.ContainsAny(e.Text, "\n") || strings.Contains(e.Text, "interface {}") ||
			strings.Contains(e.Text, "float64") {
			t.Errorf("%s: the text is not fit for a user: %q", row.text, e.Text)
		}
	}
}

// Who writes a duration as the rest of a declaration does is told how an expression has it.
func TestDurationAdvice(t *testing.T) {
	t.Parallel()
	scope := marketScope()
	scope.Memory = true
	for text, want := range map[string]string{
		`rolling_count(threshold, 60s)`:    `duration("60s")`,
		`rolling_count(threshold, 1h30m)`:  `duration("1h30m")`,
		`threshold > 1.5s`:                 `duration("1.5s")`,
		`500ms + 1`:                        `duration("500ms")`,
		`rolling_count(threshold, "1m")`:   `got string; a duration is written duration("60s")`,
		`12abc`:                            `bad number syntax: "12a"`,
		`rolling_count(threshold, [1, 2])`: "rolling_count needs int or duration, got list",
	} {
		_, err := Compile(text, scope)
		if err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}

// What is large or deep is an error, soon and without a crash.
func TestCompileLimits(t *testing.T) {
	t.Parallel()
	comparisons := "1"
	for range 60 {
		comparisons = "(1 < " + comparisons + " < 1)" // the parser shares the middle: 2^60 visits
	}
	for name, text := range map[string]string{
		"parentheses":         strings.Repeat("(", 10_000) + "1" + strings.Repeat(")", 10_000),
		"unclosed":            strings.Repeat("(", 10_000),
		"unclosed, then junk": strings.Repeat("(", 30_000) + "~",
		"lists":               strings.Repeat("[", 5_000) + strings.Repeat("]", 5_000),
		"minus":               strings.Repeat("-", 60_000) + "1",
		"not":                 strings.Repeat("not ", 15_000) + "true",
		"long":                "1" + strings.Repeat(" + 1", 20_000),
		"nodes":               "1" + strings.Repeat("+1", 10_000),
		"power":               "1" + strings.Repeat("**1", 10_000),
		"ternary":             strings.Repeat("true?1:", 8_000) + "1",
		"if":                  strings.Repeat("if true {1} else ", 3_500) + "{1}",
		"let":                 strings.Repeat("let a=1;", 8_000) + "1",
		"comparisons":         comparisons,
		"name":                strings.Repeat("a", 1<<20),
		"chain":               "vars" + strings.Repeat(".a", 20_000),
	} {
		_, err := Compile(text, marketScope())
		if e, ok := errors.AsType[*Error](err); !ok || e.Code != CodeTooLarge && e.Code != CodeSyntax &&
			e.Code != CodeNotAllowed {
			t.Errorf("%s: got %v, want an error about its size", name, err)
		} else if len(e.Error()) > 300 {
			t.Errorf("%s: an error of %d bytes", name, len(e.Error()))
		}
	}
	// Just below the limits everything works.
	for _, text := range []string{
		strings.Repeat("(", 200) + "1" + strings.Repeat(")", 200),
		"1" + strings.Repeat("+1", 4_000),
		"vars?.a" + strings.Repeat("?.a", 2_000),
		"[" + strings.Repeat("1,", 9_000) + "1]",
	} {
		p, err := Compile(text, marketScope())
		if err != nil {
			t.Errorf("%.40s…: %v", text, err)
			continue
		}
		if _, err := p.Eval(&Env{Values: make([]boundary.Value, 6)}); err != nil {
			t.Errorf("%.40s…: %v", text, err)
		}
	}
}

func TestCompileBool(t *testing.T) {
	t.Parallel()
	for text, ok := range map[string]bool{
		`threshold > 1`: true, `true`: true, `vars.flag`: true, `vars.flag ?? false`: true, `threshold`: false,
		`"yes"`: false, `nil`: false,
		`vars.x - vars.y`: false, `-vars.x`: false, `abs(vars.x)`: false, `min(vars.x, vars.y)`: false,
		`vars.x ?? (vars.y * 2)`: true, `(vars.x + 1) ?? (vars.y * 2)`: false,
		`vars.flag ? vars.x / 2 : vars.y % 2`: false, `let d = vars.x; d - 1`: false,
		`let d = vars.x - 1; d`: true, `vars.x - 1 < 2`: true, `!vars.x`: true,
		`{a: 1}`: false, `orderbook.bid`: false, `vars.x ? true : false`: true, `[true]`: false,
	} {
		_, err := CompileBool(text, marketScope())
		if e, isErr := errors.AsType[*Error](err); (err == nil) != ok || isErr && e.Code != CodeTypeMismatch {
			t.Errorf("%s: got %v, want ok %v", text, err, ok)
		}
	}
}

func TestEvalBool(t *testing.T) {
	t.Parallel()
	w := worldOf(t, false)
	for text, want := range map[string]string{
		`i > 6`: "true", `not yes`: "false", `yes`: "true", `obj.a`: "!type_error", `null`: "!type_error",
		`gone`: "!absent", `gone ?? false`: "false",
		`i / zero > 1`: "!not_finite", `any(list, # > 2)`: "true", `let x = i; x > 1`: "true", `gone > 1`: "!absent",
	} {
		p, err := CompileBool(text, w.scope)
		if err != nil {
			t.Fatal(err)
		}
		b, err := p.EvalBool(w.env())
		got := map[bool]string{true: "true", false: "false"}[b]
		if err != nil {
			got = codeOf(err)
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

func TestReads(t *testing.T) {
	t.Parallel()
	read := func(name int, plain bool, path ...string) Read {
		if path == nil {
			path = []string{}
		}
		return Read{Name: name, Path: path, Plain: plain}
	}
	for _, row := range []struct {
		text string
		want []Read
	}{
		{`1 + 2`, nil},
		{`orderbook.bid`, []Read{read(0, true, "bid")}},
		{`orderbook["bid"] + orderbook.bid`, []Read{read(0, true, "bid")}},
		{`orderbook`, []Read{read(0, true)}},
		{`orderbook[vars.name]`, []Read{read(0, true), read(5, true, "name")}},
		{`vars.a.b.c`, []Read{read(5, true, "a", "b", "c")}},
		{`vars.a[0].b`, []Read{read(5, true, "a")}},
		{`vars?.a.b`, []Read{read(5, false, "a", "b")}},
		{`vars.a?.b`, []Read{read(5, true, "a", "b")}},
		{`vars?.[0]`, []Read{read(5, false)}},
		{`vars.at.Hour()`, []Read{read(5, true, "at")}},
		{`vars?.Hour()`, []Read{read(5, false)}},
		{`threshold ?? 1`, []Read{read(3, false)}},
		{`vars.a.b ?? vars.c ?? threshold`, []Read{read(5, false, "a", "b"), read(5, false, "c"), read(3, true)}},
		{`(threshold + 1) ?? vars.x`, []Read{read(3, true), read(5, true, "x")}},
		{
			`threshold > 1 ? orderbook.bid : pricing.fair`, []Read{
				read(3, true), read(0, true, "bid"), read(1, true, "fair"),
			},
		},
		{`filter(trades, .price > threshold)`, []Read{read(2, true), read(3, true)}},
		{`let o = orderbook; o.bid`, []Read{read(0, true)}},
		{`{orderbook: threshold}`, []Read{read(3, true)}},
		{`1 < threshold < vars.x`, []Read{read(3, true), read(5, true, "x")}},
		{`(vars.a ?? 1) + vars.a`, []Read{read(5, false, "a"), read(5, true, "a")}},
		{`"a" in orderbook`, []Read{read(0, true)}},
	} {
		p, err := Compile(row.text, marketScope())
		if err != nil {
			t.Errorf("%s: %v", row.text, err)
			continue
		}
		if diff := cmp.Diff(row.want, p.Reads()); diff != "" {
			t.Errorf("%s\n%s", row.text, diff)
		}
	}
}

func TestConst(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`1 + 2 * 3`: "7", `"a" + "b"`: `"ab"`, `{a: [1, 2]}`: `{"a":[1,2]}`, `duration("5m")`: `"5m0s"`,
		`true ? 1 : 1 / 0`: "1", `nil`: "null",
		`let x = 2; x ** 2`: "4", `sum(map(1..10, # * 2))`: "110", `reduce([1, 2], #acc + #)`: "3", `upper("a")`: `"A"`,
		`threshold`: "", `1 + threshold`: "", `now()`: "", `rand()`: "", `true or threshold > 1`: "",
		`map(1..3, # + threshold)`: "",
	} {
		scope := marketScope()
		scope.Clock, scope.Rand = true, true
		p, err := Compile(text, scope)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		v, ok := p.Const()
		if ok != (want != "") || ok && string(v.AppendJSON(nil)) != want {
			t.Errorf("%s: got %v, %v, want %q", text, v, ok, want)
		}
	}
}

func TestUsesClock(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{`now()`: true, `epoch() > 1`: true, `1`: false, `rand()`: false,
		`false ? now() : nil`: true, `::epoch()`: true} {
		p, err := Compile(text, Scope{Clock: true, Rand: true})
		if err != nil || p.UsesClock() != want || p.Text() != text {
			t.Errorf("%s: got %v %v, want %v", text, p, err, want)
		}
	}
}
