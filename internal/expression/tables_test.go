package expression

import (
	"errors"
	"iter"
	"maps"
	"testing"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression/eval"
)

// rowsOf is a table by the JSON of its keys.
type rowsOf map[string]boundary.Value

func (r rowsOf) Row(key boundary.Value) (boundary.Value, bool) {
	parts := []boundary.Value{key}
	if key.Kind() == boundary.KindList {
		parts = parts[:0]
		for p := range key.Items() {
			parts = append(parts, p)
		}
	}
	text, err := boundary.AppendKey(nil, parts)
	v, ok := r[string(text)]
	return v, ok && err == nil
}
func (r rowsOf) Len() int { return len(r) }
func (r rowsOf) All() iter.Seq2[boundary.Key, boundary.Value] {
	return func(yield func(boundary.Key, boundary.Value) bool) {
		for k, v := range maps.All(r) {
			if !yield(boundary.Key(k), v) {
				return
			}
		}
	}
}

func tableScope() (Scope, *Env) {
	shape := boundary.NewShape("risk", "name")
	row := func(risk int64, name string) boundary.Value {
		return boundary.Object(shape, []boundary.Value{boundary.Int(risk), boundary.String(name)})
	}
	rows := &held{rowsOf{
		`"m1"`: row(3, "one"), `"m2"`: row(9, "two"), `["m",7]`: row(1, "pair"), `12`: row(5, "twelve"),
	}}
	typ := TableOf(ObjectOf(map[string]Type{
		"risk": Of(boundary.KindInt), "name": Of(boundary.KindString),
	}, false))
	s := Scope{Names: []Name{{"merchants", typ}, {"p", ObjectOf(map[string]Type{
		"merchant": Of(boundary.KindString), "n": Of(boundary.KindInt), "o": ObjectOf(nil, true),
	}, false)}}}
	p := boundary.Object(boundary.NewShape("merchant", "n", "o"),
		[]boundary.Value{boundary.String("m2"), boundary.Int(7), boundary.Object(boundary.NewShape(), nil)})
	return s, &Env{Values: []boundary.Value{boundary.Table(rows), p}}
}

// held is rows that can be compared.
type held struct{ rowsOf }

// M3: rows are looked up by any expression, and what there is of them is known when it is compiled.
func TestTablesAreLookedUp(t *testing.T) {
	s, env := tableScope()
	for text, want := range map[string]string{
		`merchants[p.merchant].risk`:                                  `9`,
		`merchants["m1"].name`:                                        `"one"`,
		`merchants["none"]`:                                           `null`,
		`merchants["none"]?.risk`:                                     `null`,
		`merchants["none"]?.risk ?? 5`:                                `5`,
		`merchants[nil]?.risk`:                                        `null`,
		`merchants?.["m1"]?.risk`:                                     `3`,
		`merchants[["m", p.n]].name`:                                  `"pair"`,
		`merchants[p.n + 5].name`:                                     `"twelve"`,
		`merchants[12.0]?.name`:                                       `"twelve"`,
		`p.merchant in merchants`:                                     `true`,
		`"x" in merchants`:                                            `false`,
		`12 in merchants`:                                             `true`,
		`not ("x" in merchants)`:                                      `true`,
		`len(merchants)`:                                              `4`,
		`keys(merchants)`:                                             `["m1","m2",12,["m",7]]`,
		`map(values(merchants), .name)`:                               `["one","two","twelve","pair"]`,
		`count(values(merchants), .risk > 3)`:                         `2`,
		`map(["m1", "m2"], merchants[#].risk)`:                        `[3,9]`,
		`let m = merchants[p.merchant]; m.risk + m.risk`:              `18`,
		`merchants[merchants["m1"].name == "one" ? "m2" : "m1"].risk`: `9`,
		`merchants["none"] == nil`:                                    `true`,
		`(merchants["none"] ?? merchants["m1"]).risk`:                 `3`,
	} {
		p, err := Compile(text, s)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if v, err := p.Eval(env); err != nil || v.String() != want {
			t.Errorf("%s is %s (%v), want %s", text, v, err, want)
		}
	}
	p, _ := Compile(`merchants[p.merchant]`, s)
	if got := p.Type().String(); got != "{name: string, risk: int}" {
		t.Errorf("a row is of type %s", got)
	}
	if n := testing.AllocsPerRun(100, func() { _, _ = p.Eval(env) }); n > 4 { // those of this test's map
		t.Errorf("a look-up allocates %v times", n)
	}
}

// A table is nothing but what is looked up in it: everything else is a mistake that says so.
func TestTablesAreNoValues(t *testing.T) {
	s, env := tableScope()
	for text, code := range map[string]string{
		`merchants`:                        CodeTypeMismatch,
		`merchants.risk`:                   CodeTypeMismatch,
		`merchants?.m1`:                    CodeTypeMismatch,
		`[merchants]`:                      CodeTypeMismatch,
		`{"m": merchants}`:                 CodeTypeMismatch,
		`let m = merchants; m["m1"]`:       CodeTypeMismatch,
		`merchants == nil`:                 CodeTypeMismatch,
		`merchants ?? 1`:                   CodeTypeMismatch,
		`filter(merchants, .risk > 1)`:     CodeTypeMismatch,
		`merchants[1:2]`:                   CodeTypeMismatch,
		`toJSON(merchants)`:                CodeTypeMismatch,
		`merchants[p.merchant].rsk`:        CodeUnknownField,
		`merchants[p.merchant]?.rsk`:       CodeUnknownField,
		`map(values(merchants), .rsk)`:     CodeUnknownField,
		`merchants[p.merchant].risk + "x"`: CodeTypeMismatch,
		`merchants[p.merchnt]`:             CodeUnknownField,
		`"row key"(1)`:                     CodeSyntax,
		`merchants[unknown]`:               CodeUnknownName,
	} {
		_, err := Compile(text, s)
		mistake, ok := err.(*Error)
		if !ok || mistake.Code != code {
			t.Errorf("%s: %v, want the code %s", text, err, code)
		}
	}
	p, err := Compile(`merchants[p.o]`, s)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = p.Eval(env); err == nil {
		t.Error("an object was taken for a key")
	}
}

// What was looked up is told, each once, also that there was nothing.
func TestLooksAreNoted(t *testing.T) {
	s, env := tableScope()
	env.Looks = &eval.Looks{}
	p, err := Compile(`[merchants[p.merchant], "x" in merchants, merchants["x"], p.merchant in merchants]`, s)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = p.Eval(env); err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, l := range env.Looks.List {
		got += l.Key.String() + l.Row.String() + ";"
	}
	if want := `"m2"{"name":"two","risk":9};"x"null;`; got != want {
		t.Errorf("noted %s, want %s", got, want)
	}
}

// M3: a key that stands there and that no row can have is a mistake.
func TestKeysThatNoRowHas(t *testing.T) {
	t.Parallel()
	text, row := Of(boundary.KindString), ObjectOf(nil, true)
	s := Scope{Names: []Name{{"p", Any()}, {"one", TableOf(row, text)}, {"any", TableOf(row, Any())},
		{"two", TableOf(row, text, Of(boundary.KindInt))}}}
	for expr, at := range map[string]int{
		`one["m"]`: -1, `one[p.m]`: -1, `one[nil]`: -1, `one[[p.m]]`: -1, `any[7]`: -1, `any[[p.m, 7]]`: -1,
		`two[p]`: -1, `two[["m", 7.0]]`: -1, `two[[p.m, p.n]]`: -1, `"m" in one`: -1,
		`one[7]`: 4, `7 in one`: 0, `one[true]`: 4, `two["m"]`: 4, `two[[p.m]]`: 4, `two[["m", 7, 8]]`: 4,
		`two[["m", "7"]]`: 10, `[p.m] in two`: 0, `two[[7, p.n]]`: 5,
	} {
		_, err := Compile(expr, s)
		found := -1
		if wrong, ok := errors.AsType[*Error](err); ok {
			found = wrong.Offset
		}
		if found != at {
			t.Errorf("%s: %v at %d, want %d", expr, err, found, at)
		}
	}
}
