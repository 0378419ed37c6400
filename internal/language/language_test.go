package language

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/graphd/graphd/api"
	"github.com/graphd/graphd/internal/language/text"
)

func TestAt(t *testing.T) {
	t.Parallel()
	for marked, want := range map[string]string{
		"a:\n  b: ‸x":             "value a.b",
		"a:\n  b‸b: x":            "key a.bb",
		"a: { b: 1, c‸":           "key a.c",
		"a: [1, { b: '‸":          "value a.[].b",
		"a:\n  - b\n  - ‸":        "value a.[]",
		"a: {\n b: 1,\n ‸\n}\n":   "key a.",
		"x: [\na:\n  b: ‸":        "nothing",
		"{\"a\": {\"b\": \"‸\"}}": "value a.b",
	} {
		before, after, _ := strings.Cut(marked, "‸")
		p, ok := At(before+after, len(before))
		got := "nothing"
		if ok {
			got = map[bool]string{true: "key ", false: "value "}[p.Key] + strings.Join(p.Path, ".")
		}
		if got != want {
			t.Errorf("%q: %s, want %s", marked, got, want)
		}
	}
}

func TestChain(t *testing.T) {
	t.Parallel()
	for before, want := range map[string]string{
		"a + book.": "book", "book?.": "book", "a.b?.c.": "a b c", "x[1].": "", "f(x).": "", "a ": "", "1 + .": "",
	} {
		if got := strings.Join(Chain(before), " "); got != want {
			t.Errorf("%q: %q, want %q", before, got, want)
		}
	}
}

// Every path that the schema has is found in it.
func TestGrammarIsWalked(t *testing.T) {
	t.Parallel()
	g := grammar(t)
	for path, fields := range map[string]string{
		"":                                "graph include accumulators reactor nodes outputs",
		"accumulators.x.source.kafka":     "topic topics start",
		"accumulators.x.window":           "tumbling hopping lateness aggregate",
		"outputs.x.sink.postgres":         "table",
		"nodes.x":                         "expr route http wasm after lane",
		"lanes.x.fixed_rate":              "period overrun_policy",
		"accumulators.x.source.kafka.tls": "",
		"loops.x":                         "nodes max_iterations until",
	} {
		f, ok := g.At(strings.FieldsFunc(path, func(r rune) bool { return r == '.' }))
		if !ok {
			t.Errorf("there is no %s", path)
		}
		for want := range strings.FieldsSeq(fields) {
			if !slices.ContainsFunc(f.Fields, func(f Field) bool { return f.Name == want && f.About != "" }) {
				t.Errorf("%s has no %s with a word about it", path, want)
			}
		}
	}
	if _, ok := g.At([]string{"nobody"}); ok {
		t.Error("there is nobody")
	}
	f, _ := g.At([]string{Outputs, "x"})
	if slices.ContainsFunc(f.Fields, func(f Field) bool { return f.Name == "key" }) {
		t.Error("a field that is not built is offered")
	}
}

func grammar(t testing.TB) *Grammar {
	t.Helper()
	g, err := NewGrammar(api.GraphSchema())
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// FuzzLanguage: whatever stands in a document, and wherever the cursor is, nothing breaks and nothing is outside.
func FuzzLanguage(f *testing.F) {
	f.Add("graph: x\nnodes: { a: { expr: b.c, after: [d] } }", 20)
	f.Add("a: &a [*a, *b]\ninclude: x\ncases: [{ name: y }]", 7)
	f.Add("\ufeffgraph: '🙂\r\nvars:\u2028  x: 1", 30)
	if data, err := os.ReadFile("../../../../../examples/tutorial/market_maker.yaml"); err == nil {
		f.Add(string(data), len(data)/2)
	}
	g := grammar(f)
	f.Fuzz(func(t *testing.T, all string, offset int) {
		if len(all) > 2000 {
			t.Skip("its length adds nothing")
		}
		if p, ok := At(all, offset); ok {
			if p.From > offset || p.To < offset || all[p.From:p.To] != p.Whole {
				t.Fatalf("%q is not at %d to %d of %q", p.Whole, p.From, p.To, all)
			}
			form, _ := g.At(p.Path)
			scope := ScopeOf(p.Path, &form)
			scope.Functions()
			Chain(p.Text)
		}
		x := NewIndex(text.New(all))
		if x == nil {
			return
		}
		for _, n := range x.Names {
			if n.From < 0 || n.To < n.From || n.To > len(all) || n.End > len(all) {
				t.Fatalf("%+v is outside of %q", n, all)
			}
		}
	})
}
