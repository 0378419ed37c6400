package spec_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/spec"
)

// Anchors, aliases and merge keys mean what stands there when they are written out: of a merge key the mapping's own
// fields come first, then of several mappings the first.
func TestAliasesMeanWhatTheyStandFor(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/valid/aliases.yaml")
	if err != nil {
		t.Fatal(err)
	}
	g, diags := parse(data, spec.Options{})
	out, more := parse([]byte(`graph: aliases
vars: { desks: [fx, rates], again: [fx, rates] }
accumulators:
  a: { where: event.x > 0, capacity: 5, strategy: sequential }
  b: { where: event.x > 0, capacity: 5, strategy: sequential }
  c: { where: event.x > 0, capacity: 6, strategy: sequential }
  d: { where: event.x > 0, capacity: 7, strategy: sequential, emit: { x: event.x } }
nodes: { n: { expr: a.x + b.x } }
`), spec.Options{})
	if len(diags)+len(more) > 0 || g.Hash != out.Hash {
		t.Errorf("%v %v %q", diags, more, spec.Diff(out, g))
	}
}

// What is wrong with what an alias stands for is told at the alias, and names the anchor.
func TestMistakesAtAliasesNameTheAnchor(t *testing.T) {
	t.Parallel()
	_, diags := parse([]byte(`graph: g
accumulators:
  a: { default: &many x, capacity: *many }
  b: { where: &open "event.x >", capacity: 5 }
nodes:
  n: { expr: *open }
`), spec.Options{})
	note := "; *many stands here for what is written at &many on line 3"
	if len(diags) != 1 || diags[0].Line != 3 || diags[0].Column != 36 || !strings.HasSuffix(diags[0].Text, note) {
		t.Errorf("got %v", diags)
	}
}

// An expression that stands at an alias has no places of its own below it.
func TestPlaceOfAnExpressionAtAnAlias(t *testing.T) {
	t.Parallel()
	g, diags := parse([]byte("graph: g\naccumulators:\n  a: { where: &w event.x > 0 }\n  b: { where: *w }\n"),
		spec.Options{})
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	at := g.Accumulators[1].Where
	line, column := at.At(5)
	noted := g.Noted(spec.Diagnostics{{Line: line, Column: column, Text: "wrong"}, {Line: 3, Column: 15, Text: "so"}})
	noted = g.Noted(noted) // by two who do not know of each other
	want := "wrong; *w stands here for what is written at &w on line 3"
	if line != 4 || column != 15 || noted[0].Text != want || noted[1].Text != "so" {
		t.Errorf("%d:%d: %q", line, column, noted)
	}
}

// A few lines of aliases can stand for more than any memory holds: they are refused before that is made of them.
func TestAliasBombs(t *testing.T) {
	t.Parallel()
	bomb := func(list string) string {
		var b strings.Builder
		b.WriteString("graph: g\naccumulators: { a: {} }\nvars:\n  v0: &v0 x\n")
		for i := range 30 {
			fmt.Fprintf(&b, list, i+1, i+1, i, i, i, i)
		}
		return b.String()
	}
	long := "graph: g\naccumulators: { a: {} }\nvars:\n  t: &t " + strings.Repeat("x", 100_000) + "\n  l: [" +
		strings.Repeat("*t, ", 20) + "]\n"
	for name, c := range map[string]struct{ text, code string }{
		"lists":    {bomb("  v%d: &v%d [*v%d, *v%d, *v%d, *v%d]\n"), "too_large"},
		"mappings": {bomb("  v%d: &v%d { a: *v%d, b: *v%d, c: *v%d, d: *v%d }\n"), "too_large"},
		"texts":    {long, "too_large"},
		"depth": {
			"graph: g\naccumulators: { a: {} }\nvars:\n  v0: &v0 " + strings.Repeat("[", 41) +
				strings.Repeat("]", 41) + "\n  v1: " + strings.Repeat("[", 40) + "*v0" + strings.Repeat("]", 40) + "\n",
			"too_deep",
		},
		"within itself": {"graph: g\nvars: { a: &a [*a] }\n", "alias_not_allowed"},
		"merged":        {"graph: &g\n  <<: *g\n", "alias_not_allowed"},
	} {
		if g, diags := parse([]byte(c.text), spec.Options{}); g != nil || len(diags) != 1 || diags[0].Code != c.code {
			t.Errorf("%s: got %v", name, diags)
		}
	}
	if _, diags := parse([]byte(strings.Replace(long, strings.Repeat("*t, ", 20), "*t, *t", 1)), spec.Options{}); len(
		diags) > 0 {
		t.Errorf("what is below the bounds: %v", diags)
	}
}
