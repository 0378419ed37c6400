package expression

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/boundary"
)

func TestTypes(t *testing.T) {
	t.Parallel()
	scope := marketScope()
	scope.Clock = true
	for text, want := range map[string]string{
		`1`: "int", `1.5`: "float", `"a"`: "string", `nil`: "null", `threshold > 1`: "bool", `orderbook.bid`: "float",
		`orderbook.size + 1`: "int", `orderbook.size / 2`: "float",
		`orderbook`: "{ask: float, bid: float, size: int, symbol: string}", `pricing`: "{fair: float, …}",
		`pricing.other`: "any", `vars`: "any", `trades`: "list of {at: time, price: float}",
		`trades[0].at`: "time", `trades[0].at - now()`: "duration", `trades[0].at.Hour()`: "int",
		`map(trades, .price)`: "list of float", `filter(trades, .price > 1)`: "list of {at: time, price: float}",
		`{side: "buy", edge: threshold - 1, nested: {at: now()}}`: "{edge: float, nested: {at: time}, side: string}",
		`[1, 2]`: "list of int", `[1, 2.5]`: "list of float", `[1, "a"]`: "list",
		`threshold > 1 ? 1 : 2.5`: "float", `threshold > 1 ? 1 : "a"`: "any",
		`threshold > 1 ? {a: 1} : {b: "x"}`: "{a: int, b: string}", `threshold > 1 ? nil : 1`: "int",
		`threshold > 1 ? {a: 1} : pricing`: "{a: int, fair: float, …}",
		`threshold > 1 ? pricing : {a: 1}`: "{a: int, fair: float, …}", `threshold ?? 1`: "float", `vars ?? 1`: "any",
		`let o = {a: 1}; o`: "{a: int}", `let o = {a: 1}; {b: o}`: "{b: {a: int}}", `{(orderbook.symbol): 1}`: "object",
		`abs(orderbook.size)`: "int", `abs(threshold)`: "float", `max(1, threshold)`: "any", `min(trades)`: "any",
		`len(trades)`: "int", `keys(orderbook)`: "list", `orderbook?.symbol`: "string", `1..3`: "list of int",
		`groupBy(trades, .price)`: "object", `sum(trades, .price)`: "float", `took * 2`: "duration", `1; "a"`: "string",
		`trades[0].at.Truncate(took)`: "time", `vars.x + 1`: "any", `string(vars)`: "string",
		`if threshold > 1 { 1 } else { 2 }`: "int", `count(trades, true)`: "int", `[]`: "list", `{}`: "{}",
	} {
		p, err := Compile(text, scope)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := p.Type().String(); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

// A result's type goes on into the next scope: nodes that read nodes are checked too.
func TestTypesChain(t *testing.T) {
	t.Parallel()
	p, err := Compile(`{side: threshold > 0 ? "buy" : "sell", edge: threshold}`, marketScope())
	if err != nil {
		t.Fatal(err)
	}
	next := Scope{Names: []Name{{"signal", p.Type()}}}
	if _, err := Compile(`signal.edge * 2 > 1 and signal.side == "buy"`, next); err != nil {
		t.Error(err)
	}
	_, err = Compile(`signal.sied`, next)
	if e, ok := errors.AsType[*Error](err); !ok || e.Code != CodeUnknownField || e.Suggest != "side" {
		t.Errorf("got %v, want an unknown field, side suggested", err)
	}
	if got := textOf(Compile(`signal.size`, next)); !strings.Contains(got, "edge, side") {
		t.Errorf("got %q, want the fields there are", got)
	}
}

func textOf(_ *Program, err error) string { return err.Error() }

func TestFromSchema(t *testing.T) {
	t.Parallel()
	object := func(pairs ...any) map[string]any {
		m := map[string]any{}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i].(string)] = pairs[i+1]
		}
		return m
	}
	typ := func(name string) map[string]any { return object("type", name) }
	for _, row := range []struct {
		schema any
		want   string
	}{
		{nil, "any"}, {true, "any"}, {object(), "any"}, {typ("string"), "string"}, {typ("integer"), "int"},
		{typ("number"), "float"}, {typ("boolean"), "bool"}, {typ("null"), "null"}, {typ("array"), "list"},
		{typ("object"), "object"}, {typ("strange"), "any"},
		{object("type", []any{"number", "null"}), "any"},
		{object("enum", []any{1, 2}), "any"},
		{object("type", "array", "items", typ("integer")), "list of int"},
		{object("type", "array", "items", typ("integer"), "prefixItems", []any{typ("string")}), "list"},
		{object("type", "object", "required", []any{"a"}), "object"},
		{
			object("type", "object", "properties",
				object("a", typ("number"), "b", object("type", "object", "properties", object("c", true),
					"additionalProperties", false))), "{a: float, b: {c: any}, …}",
		},
		{object("type", "object", "properties", object("a", typ("string")), "additionalProperties", false),
			"{a: string}"},
		{object("type", "object", "additionalProperties", typ("number")), "object"},
		{object("type", "object", "additionalProperties", false, "patternProperties", object("^x", true)), "object"},
	} {
		if got := FromSchema(row.schema).String(); got != row.want {
			t.Errorf("%v: got %s, want %s", row.schema, got, row.want)
		}
	}
	var deep any = typ("object")
	for range 1_000 {
		deep = object("type", "array", "items", deep)
	}
	if s := FromSchema(deep).String(); len(s) > 1_000 {
		t.Errorf("a deep schema gives a type of %d bytes", len(s))
	}
}

func TestTypeMethods(t *testing.T) {
	t.Parallel()
	a := ObjectOf(map[string]Type{"x": Of(boundary.KindInt)}, false)
	if f, ok := a.Field("x"); !ok || f.Kind() != boundary.KindInt {
		t.Errorf("got %v %v", f, ok)
	}
	if _, ok := a.Field("y"); ok {
		t.Error("a closed object has a field that is not there")
	}
	if f, ok := ObjectOf(nil, true).Field("y"); !ok || !f.IsAny() {
		t.Errorf("got %v %v, want any", f, ok)
	}
	if f, ok := Any().Field("y"); !ok || !f.IsAny() {
		t.Errorf("got %v %v, want any", f, ok)
	}
	if _, ok := Of(boundary.KindInt).Field("y"); ok {
		t.Error("an int has a field")
	}
	if !a.Equal(ObjectOf(map[string]Type{"x": Of(boundary.KindInt)}, false)) ||
		a.Equal(ObjectOf(map[string]Type{"x": Any()}, false)) ||
		a.Equal(ObjectOf(map[string]Type{"x": Of(boundary.KindInt)}, true)) || ListOf(a).Equal(ListOf(Any())) ||
		!ListOf(a).Equal(ListOf(a)) {
		t.Error("equality of types is wrong")
	}
	if got := Of(boundary.KindList).String() + Of(boundary.KindObject).String() +
		Any().String(); got != "listobjectany" {
		t.Errorf("got %s", got)
	}
	if !slices.Equal(a.Fields(), []string{"x"}) || a.Open() || !Of(boundary.KindObject).Open() {
		t.Error("fields are wrong")
	}
}

func TestAccepts(t *testing.T) {
	t.Parallel()
	book := ObjectOf(map[string]Type{"bid": Of(boundary.KindFloat), "sizes": ListOf(Of(boundary.KindInt)),
		"meta": ObjectOf(map[string]Type{"n": Of(boundary.KindString)}, true)}, false)
	for text, want := range map[string]string{
		`{"bid":1,"sizes":[1,2],"meta":{"n":"x","more":1}}`: "",
		`{"bid":1.5}`:                  "",
		`{"bid":null}`:                 "",
		`{"bid":"x"}`:                  "bid is string where float is expected",
		`{"sizes":[1,2.5]}`:            "sizes[1] is float where int is expected",
		`{"meta":{"n":1}}`:             "meta.n is int where string is expected",
		`{"meta":{"n":"x"},"other":1}`: "other is not a field of " + book.String(),
	} {
		v, err := boundary.NewDecoder(nil, boundary.Limits{}).Decode([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got := book.Accepts(v); (got == nil) != (want == "") || got != nil && got.Error() != want {
			t.Errorf("%s: got %v, want %q", text, got, want)
		}
	}
	if err := book.Accepts(boundary.Int(1)); err == nil || !strings.HasPrefix(err.Error(), "the value is int") {
		t.Errorf("got %v", err)
	}
	if err := Any().Accepts(boundary.Int(1)); err != nil {
		t.Error(err)
	}
}

func TestNearest(t *testing.T) {
	t.Parallel()
	names := []string{"orderbook", "pricing", "limits", "mid", "count", "count_distinct", "on_no_convergence"}
	for name, want := range map[string]string{"orderbok": "orderbook", "oderbook": "orderbook", "pricign": "pricing",
		"limit": "limits", "mdi": "mid", "x": "", "something": "", "mid": "",
		"countDistinct": "count_distinct", "OrderBook": "orderbook", "order_book": "orderbook", "Mid": "mid",
		"onNoConvergence":        "on_no_convergence",
		strings.Repeat("m", 500): ""} {
		if got := nearest(name, names); got != want {
			t.Errorf("%.20s: got %q, want %q", name, got, want)
		}
	}
}

// What a schema lists is told of its values alone, and makes no other type.
func TestWords(t *testing.T) {
	t.Parallel()
	side := FromSchema(map[string]any{"type": "string", "enum": []any{"buy", "sell", nil, 1}})
	kind := FromSchema(map[string]any{"enum": []any{"a"}})
	text := Of(boundary.KindString)
	if !side.Equal(text) || side.String() != "string" || !kind.IsAny() {
		t.Errorf("%v and %v", side, kind)
	}
	for _, c := range []struct {
		of   Type
		want []string
	}{
		{side, []string{"buy", "sell"}}, {kind, []string{"a"}}, {Either(side, side), []string{"buy", "sell"}},
		{Either(side, text), nil}, {Either(text, side), nil},
	} {
		if !slices.Equal(c.of.Words(), c.want) {
			t.Errorf("%v has %v, want %v", c.of, c.of.Words(), c.want)
		}
	}
}
