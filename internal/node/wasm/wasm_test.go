package wasm

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/kind"
	"github.com/graphd/graphd/internal/node/wasm/guest"
	"github.com/graphd/graphd/internal/spec"

	. "github.com/graphd/graphd/internal/node/wasm/wasmtest"
)

// load makes a node of a module's function, with so many inputs.
func load(t testing.TB, m Program, function string, inputs int, change func(*Declared)) (Declared, spec.Diagnostics) {
	t.Helper()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "m.wasm"), m.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	c := Declared{Module: "m.wasm", Function: function, Memory: defaultMemory, Timeout: time.Minute,
		modules: &Modules{}}
	if change != nil {
		change(&c)
	}
	config, diags := c.Load(kind.Place{Folder: folder, Graph: "g", Name: "n"}, inputs)
	return config.(Declared), diags
}

// evaluator is a node of a function that has so many inputs.
func evaluator(t testing.TB, m Program, function string, inputs int, change func(*Declared)) kind.Evaluator {
	t.Helper()
	c, diags := load(t, m, function, inputs, change)
	if err := diags.Err(); err != nil {
		t.Fatal(err)
	}
	parts := kind.Parts{}
	for i := range inputs {
		parts.Inputs = append(parts.Inputs, kind.Read{Name: string(rune('a' + i)), At: i})
	}
	return compile(c, parts)
}

func eval(e kind.Evaluator, args ...boundary.Value) (string, error) {
	v, err := e.Eval(&expression.Env{Values: args, Now: time.Unix(1, 0), Epoch: 1})
	return v.Kind().String() + " " + v.String(), err
}

func codeOf(err error) string {
	e, _ := errors.AsType[*expression.EvalError](err)
	if e == nil {
		return ""
	}
	return e.Code
}

// same answers with its argument, which has the type of the letter.
func same(letter string) Func {
	return Func{Name: "same", Signature: letter + ">" + letter, Code: Code(0x20, 0)}
}

// Numbers become what the function takes, and what it gives becomes a value of the type that its
// signature says; what does not fit is told.
func TestNumbers(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	for _, c := range []struct {
		letter string
		arg    boundary.Value
		want   string
		code   string
	}{
		{"d", boundary.Float(1.5), "float 1.5", ""},
		{"d", boundary.Int(3), "float 3", ""},
		{"d", boundary.String("3"), "", guest.CodeArgument},
		{"d", boundary.Null(), "", guest.CodeArgument},
		{"l", boundary.Int(math.MinInt64), "int -9223372036854775808", ""},
		{"l", boundary.Float(7), "int 7", ""},
		{"l", boundary.Float(7.5), "", guest.CodeArgument},
		{"l", boundary.Float(1 << 63), "", guest.CodeArgument},
		{"l", boundary.Float(-1 << 63), "int -9223372036854775808", ""},
		{"l", boundary.Time(at), "int 1767323045000000006", ""},
		{"l", boundary.Time(time.Unix(0, math.MaxInt64)), "int 9223372036854775807", ""},
		{"l", boundary.Duration(time.Second), "int 1000000000", ""},
		{"l", boundary.Bool(true), "", guest.CodeArgument},
		{"i", boundary.Bool(true), "bool true", ""},
		{"i", boundary.Bool(false), "bool false", ""},
		{"i", boundary.Int(1), "", guest.CodeArgument},
	} {
		got, err := eval(evaluator(t, Program{Funcs: []Func{same(c.letter)}}, "same", 1, nil), c.arg)
		if codeOf(err) != c.code || err == nil && got != c.want {
			t.Errorf("%s of %s: %s, %v; want %s %s", c.letter, c.arg, got, err, c.want, c.code)
		}
	}
	e := evaluator(t, Program{Funcs: []Func{Weigh("weigh")}}, "weigh", 4, nil)
	one, none := boundary.Int(1), boundary.Value{}
	if _, err := eval(e, one, one, none, one); !errors.Is(err, expression.ErrAbsent) {
		t.Errorf("with an input that is absent: %v", err)
	}
	huge := boundary.Float(math.MaxFloat64)
	if _, err := eval(e, huge, huge, one, one); codeOf(err) != expression.CodeNotFinite {
		t.Errorf("what is infinite: %v", err)
	}
}

// A function of values is given an object of its inputs, and answers with any value; what result says of
// it is held.
func TestValues(t *testing.T) {
	t.Parallel()
	number := map[string]any{"type": "object", "properties": map[string]any{"a": map[string]any{"type": "number"}}}
	with := func(result any) func(*Declared) { return func(c *Declared) { c.Result = result } }
	m := Program{Pages: 1, Data: "[1, {}nullnope", Funcs: []Func{Echo("echo"), Say("cut", 0, 4), Say("null", 6, 4),
		Say("nope", 10, 4), Alloc(1000)}}
	object := boundary.Object(boundary.NewShape("x"), []boundary.Value{boundary.String("ä\"")})
	for _, c := range []struct {
		function string
		result   any
		args     []boundary.Value
		want     string
		code     string
	}{
		{"echo", nil, []boundary.Value{boundary.Int(1), object, boundary.Null()},
			`object {"a":1,"b":{"x":"ä\""},"c":null}`, ""},
		{"echo", number, []boundary.Value{boundary.Float(1.5)}, `object {"a":1.5}`, ""},
		{"echo", number, []boundary.Value{boundary.String("1.5")}, "", guest.CodeResult},
		{"echo", map[string]any{"type": "array"}, []boundary.Value{boundary.Int(1)}, "", guest.CodeResult},
		{"null", number, []boundary.Value{boundary.Int(1)}, "null null", ""},
		{"cut", nil, []boundary.Value{boundary.Int(1)}, "", guest.CodeResult},
		{"nope", nil, []boundary.Value{boundary.Int(1)}, "", guest.CodeResult},
	} {
		e := evaluator(t, m, c.function, len(c.args), with(c.result))
		for range 2 {
			got, err := eval(e, c.args...)
			if codeOf(err) != c.code || err == nil && got != c.want {
				t.Errorf("%s: %s, %v; want %s %s", c.function, got, err, c.want, c.code)
			}
		}
	}
}

// What is wrong with a module or its function is told with a code and its place.
func TestWhatIsWrongIsTold(t *testing.T) {
	t.Parallel()
	weigh := Program{Pages: 1, Funcs: []Func{Weigh("weigh"), same("f"), Echo("echo"), Alloc(8)}}
	fetches := Program{Imports: []Import{{Module: "env", Name: "fetch", Signature: ">"}}, Funcs: weigh.Funcs}
	module, function := spec.Pos{Line: 1, Column: 1}, spec.Pos{Line: 2, Column: 2}
	at := func(more func(*Declared)) func(*Declared) {
		return func(c *Declared) {
			c.ModulePos, c.FunctionPos = module, function
			if more != nil {
				more(c)
			}
		}
	}
	for _, c := range []struct {
		function string
		inputs   int
		m        Program
		change   func(*Declared)
		want     spec.Pos
		code     string
	}{
		{"weigh", 4, weigh, nil, spec.Pos{}, ""},
		{"echo", 3, weigh, nil, spec.Pos{}, ""},
		{"weigh", 4, weigh, func(c *Declared) { c.Module = "n.wasm" }, module, CodeModuleUnreadable},
		{"weigh", 4, Program{Start: 1, Funcs: []Func{Weigh("weigh"), {Signature: ">", Code: Code(0x00)}}}, nil, module,
			CodeModuleInvalid},
		{"weigh", 4, fetches, nil, module, CodeModuleImports},
		{"weigh", 4, Program{Pages: 1000, Funcs: weigh.Funcs}, nil, module, CodeModuleInvalid},
		{"weigh", 4, Program{Funcs: []Func{{Name: "weigh", Signature: "d>d"}}}, nil, module, CodeModuleInvalid},
		{"wiegh", 4, weigh, nil, function, CodeUnknownExport},
		{"weigh", 3, weigh, nil, function, CodeWrongSignature},
		{"same", 1, weigh, nil, function, CodeWrongSignature},
		{"weigh", 4, weigh, func(c *Declared) { c.Result = map[string]any{} }, function, CodeWrongSignature},
	} {
		_, diags := load(t, c.m, c.function, c.inputs, at(c.change))
		if c.code == "" && len(diags) > 0 || c.code != "" && (len(diags) != 1 || diags[0].Code != c.code ||
			diags[0].Line != c.want.Line || diags[0].Column != c.want.Column) {
			t.Errorf("%s of %d: %v, want %s", c.function, c.inputs, diags, c.code)
		}
	}
}

// A module that is missing is told with where it belongs: beside the declaration, or where those that come to a daemon
// have their files.
func TestWhereAMissingModuleBelongs(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for file, want := range map[string]string{
		"g.yaml": "which begins beside the declaration",
		"":       "put the module into " + folder + " where the daemon runs",
	} {
		c := Declared{Module: "m.wasm", Function: "f", modules: &Modules{}}
		_, diags := c.Load(kind.Place{File: file, Folder: folder, Graph: "g", Name: "n"}, 1)
		if len(diags) != 1 || diags[0].Code != CodeModuleUnreadable || !strings.Contains(diags[0].Text, want) {
			t.Errorf("of %q: %v, want %s", file, diags, want)
		}
	}
}

// What is told of a module or an answer is short, however long the names in them are.
func TestTextsAreBounded(t *testing.T) {
	t.Parallel()
	const most = 4 << 10
	long := strings.Repeat("x", 64<<10)
	many := Program{Funcs: []Func{same("d")}}
	for i := range 300 {
		many.Imports = append(many.Imports, Import{Module: "env", Name: fmt.Sprint(i, long), Signature: ">"})
	}
	for name, m := range map[string]Program{
		"imports":    many,
		"exports":    {Funcs: []Func{{Name: long, Signature: "d>d", Code: Code(0x20, 0)}}},
		"parameters": {Funcs: []Func{{Name: "same", Signature: strings.Repeat("d", 900) + ">d", Code: Code(0x20, 0)}}},
	} {
		if _, diags := load(t, m, "same", 1, nil); len(diags) != 1 || len(diags[0].Text) > most {
			t.Errorf("%s: %.100v of %d bytes", name, diags, len(diags[0].Text))
		}
	}
	answer := `{"` + long + `":1}`
	m := Program{Pages: 4, Data: answer, Funcs: []Func{Say("say", 0, int64(len(answer))), Alloc(200_000)}}
	e := evaluator(t, m, "say", 1, func(c *Declared) {
		text := map[string]any{"type": "string"}
		c.Result = map[string]any{"type": "object", "properties": map[string]any{long: text}}
	})
	if _, err := eval(e, boundary.Int(1)); codeOf(err) != guest.CodeResult || len(err.Error()) > most {
		t.Errorf("an answer: %.100v", err)
	}
}

// M29: what has ended in time before has time when it is run again, so that a replay comes to the same. That a call
// had none is the clock's doing, and said to be.
func TestACallThatIsRunAgainHasTime(t *testing.T) {
	t.Parallel()
	e := evaluator(t, Program{Funcs: []Func{SumTo("loop")}}, "loop", 1, func(c *Declared) { c.Timeout = 1 })
	env := &expression.Env{Values: []boundary.Value{boundary.Int(1e6)}, Now: time.Unix(1, 0), Epoch: 1}
	_, err := e.Eval(env)
	if late, ok := errors.AsType[*expression.EvalError](err); !ok || late.Code != guest.CodeTimeout || !late.Timed {
		t.Errorf("without time: %v", err)
	}
	env.Unbounded = true
	if v, err := e.Eval(env); err != nil || v.String() != "500000500000" {
		t.Errorf("run again: %s, %v", v, err)
	}
}

// A schema of a result says only what is held.
func TestResultSchema(t *testing.T) {
	t.Parallel()
	type m = map[string]any
	for want, schema := range map[string]any{
		"":           m{"type": "object", "properties": m{"a": m{"type": "array", "items": m{"type": "integer"}}}},
		"nubmer":     m{"type": "nubmer"},
		"minimum":    m{"type": "number", "minimum": int64(1)},
		"a.items":    m{"properties": m{"a": m{"items": "text"}}},
		"neither":    m{"additionalProperties": m{}},
		"properties": m{"properties": "x"},
	} {
		if got := wrongSchema(schema, "result"); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%v: %q, want %q", schema, got, want)
		}
	}
}

// A call of numbers allocates nothing, whether the guest can be changed by it or not.
func TestNumbersAllocateNothing(t *testing.T) {
	m := Program{Funcs: []Func{Weigh("weigh")}}
	e := evaluator(t, m, "weigh", 4, nil)
	one := boundary.Int(1)
	env := &expression.Env{Values: []boundary.Value{one, one, one, one}, Now: time.Unix(1, 0)}
	if n := testing.AllocsPerRun(1000, func() { _, _ = e.Eval(env) }); n > 0 {
		t.Errorf("%v allocations a call", n)
	}
}

func BenchmarkNumbers(b *testing.B) {
	one := boundary.Float(1.5)
	env := &expression.Env{Values: []boundary.Value{one, one, one, one}, Now: time.Unix(1, 0)}
	for name, e := range map[string]kind.Evaluator{
		"pure": evaluator(b, Program{Funcs: []Func{Weigh("weigh")}}, "weigh", 4, nil),
		"put back, a page": evaluator(b, Program{Pages: 1, Funcs: []Func{{Name: "weigh", Signature: "dddd>d",
			Code: Code(0x41, 8, 0x20, 0, 0x39, 3, 0, 0x41, 8, 0x2B, 3, 0)}}}, "weigh", 4, nil),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := e.Eval(env); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkValues(b *testing.B) {
	object := boundary.Object(boundary.NewShape("symbol", "bid", "ask"),
		[]boundary.Value{boundary.String("A"), boundary.Float(100.5), boundary.Float(101)})
	env := &expression.Env{Values: []boundary.Value{object, boundary.Int(1)}, Now: time.Unix(1, 0)}
	e := evaluator(b, Program{Pages: 1, Funcs: []Func{Echo("echo"), Alloc(1000)}}, "echo", 2, nil)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := e.Eval(env); err != nil {
			b.Fatal(err)
		}
	}
}

// A loop that counts to a million: what the meter costs where a guest is at work.
func BenchmarkLoop(b *testing.B) {
	e := evaluator(b, Program{Funcs: []Func{SumTo("loop")}}, "loop", 1, nil)
	env := &expression.Env{Values: []boundary.Value{boundary.Int(1e6)}, Now: time.Unix(1, 0)}
	for b.Loop() {
		if _, err := e.Eval(env); err != nil {
			b.Fatal(err)
		}
	}
}
