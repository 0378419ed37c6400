package spec_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/spec/decode"
)

// At finds the character of an expression in the document, whatever way YAML lets
// it be written. Each expression holds one @, which is looked for in both.
func TestAt(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"plain":            "expr: a.x + @b",
		"plain, folded":    "expr: a.x +\n      é + 3 +\n\n      @b + 4",
		"not ASCII":        "expr: ä.ö + @b",
		"single quotes":    "expr: 'a == ''x'' + @b'",
		"single, folded":   "expr: 'a ==   \n      ''x''\n\n\n   + @b'",
		"double quotes":    `expr: "a == \"x\\n\" + \u0041\u00e9\x41\U0001F600\N\L\_+@b"`,
		"double, folded":   "expr: \"a ==\n    \\\"x\\\" \\\n    + @b\"",
		"literal":          "expr: |\n      a.x +\n        2 +\n      @b\n",
		"literal, chomped": "expr: |-\n      @b\n",
		"literal, indent":  "expr: |2+\n        a\n       @b\n\n",
		"folded":           "expr: >\n      a.x +\n\n        2 +\n      @b\n",
		"folded, comment":  "expr: >- # why\n      a.x +\n      @b\n",
		"windows":          "expr: |\r\n      a.x +\r\n      @b\r\n",
		"json":             `"expr": "a == \"x\" + @b"`,
	} {
		doc := "graph: g\naccumulators: { a: {} }\nnodes:\n  n:\n    " + text + "\n"
		if name == "json" {
			doc = "{\"graph\": \"g\",\n\t\"accumulators\": {\"a\": {}}, \"nodes\": {\"n\": {" + text + "}}}"
		}
		g, diags := parse([]byte(doc), spec.Options{})
		if len(diags) > 0 {
			t.Errorf("%s: %v", name, diags)
			continue
		}
		e := exprOf(&g.Nodes[0])
		before, _, ok := strings.Cut(doc, "@")
		if !ok {
			t.Fatal("no @ in the document")
		}
		line := strings.Count(before, "\n") + 1
		column := len([]rune(before[strings.LastIndex(before, "\n")+1:])) + 1
		gotLine, gotColumn := e.At(strings.Index(e.Text, "@"))
		if gotLine != line || gotColumn != column {
			t.Errorf("%s: got %d:%d, want %d:%d in %q", name, gotLine, gotColumn, line, column, e.Text)
		}
		if l, c := e.At(0); l < e.Pos.Line || l == e.Pos.Line && c < e.Pos.Column {
			t.Errorf("%s: the start is at %d:%d, before the value at %v", name, l, c, e.Pos)
		}
	}
}

func TestAtEnds(t *testing.T) {
	t.Parallel()
	g := mustParse(t, "graph: g\naccumulators: { a: { where: 'a.x' } }")
	e := g.Accumulators[0].Where
	for offset, want := range map[int]string{-5: "2:30", 0: "2:30", 2: "2:32", 3: "2:33", 99: "2:33"} {
		if line, column := e.At(offset); fmt.Sprintf("%d:%d", line, column) != want {
			t.Errorf("%d: got %d:%d, want %s", offset, line, column, want)
		}
	}
	if line, column := (spec.Expr{Text: "abc"}).At(1); line != 0 || column != 0 {
		t.Errorf("got %d:%d for an expression from nowhere", line, column)
	}
	if line, column := (spec.Expr{Text: "äbc", Pos: spec.Pos{Line: 3, Column: 7}}).At(2); line != 3 || column != 8 {
		t.Errorf("got %d:%d for an expression built in Go", line, column)
	}
}

// A boolean or number of YAML is that literal in the expression language.
func TestLiterals(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"true": "true", "False": "false", "TRUE": "true", "5": "5", "-5": "-5", "+5": "5", "0x1F": "31", "0o17": "15",
		"0b11":  "3",
		"1_000": "1000", "1.50": "1.5", "1.": "1.0", ".5": "0.5", "1e3": "1000.0", "100000000000000000000": "1e+20",
		"'5'": "5", "yes": "yes", "2001-12-14": "2001-12-14", "'a  '": "a", "|\n      a\n": "a",
	} {
		g, diags := parse([]byte("graph: g\naccumulators: { a: {} }\nnodes:\n  n:\n    expr: "+text+"\n"),
			spec.Options{})
		if len(diags) > 0 {
			t.Errorf("%s: %v", text, diags)
			continue
		}
		if got := exprOf(&g.Nodes[0]).Text; got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

// A byte order mark is no part of the text, and other drafts of JSON Schema are
// schemas too.
func TestAccepted(t *testing.T) {
	t.Parallel()
	g := mustParse(t, "\ufeffgraph: g\naccumulators: { a: { schema: { $schema: "+
		"'http://json-schema.org/draft-07/schema#', $ref: '#/definitions/x', definitions: { x: true } } } }")
	if g.Accumulators[0].Pos.Column != 17 || g.Accumulators[0].Schema == nil {
		t.Errorf("got %+v", g.Accumulators[0])
	}
}

// M21: an integer that neither 64 bits nor a float keep as it is, is refused and not rounded.
func TestM21LargeIntegersAreNotRounded(t *testing.T) {
	t.Parallel()
	const large = "18446744073709551615 -9223372036854775809 99999999999999999999 +9223372036854775808"
	for text := range strings.FieldsSeq(large) {
		doc := "graph: g\nvars: { id: " + text + " }\naccumulators: { a: {} }\n"
		if _, diags := parse([]byte(doc), spec.Options{}); len(diags) != 1 || diags[0].Code != decode.CodeBadValue {
			t.Errorf("%s: %v", text, diags)
		}
		if _, diags := parse([]byte(strings.Replace(doc, text, "'"+text+"'", 1)), spec.Options{}); len(diags) != 0 {
			t.Errorf("%s in quotes: %v", text, diags)
		}
	}
}

// exprOf is the only expression of a node.
func exprOf(n *spec.Node) spec.Expr { return n.Reads().Terms()[0].Expr }
