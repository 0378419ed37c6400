package builtin_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/builtin"
)

// M47: a declaration that is refused is compiled all the same, for what else is wrong with it:
// whatever it holds, that ends in diagnostics.
func TestMistakesEndInDiagnostics(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../spec/testdata/mistakes/*.yaml")
	if err != nil || len(files) < 100 {
		t.Fatalf("%d documents, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			document, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if _, diags := (&builtin.Kinds{}).Parse(document, file); len(diags) == 0 {
				t.Error("nothing is wrong with it")
			}
		})
	}
}

// A field of emit that is wrong is a field: who reads it makes no mistake of their own.
func TestWrongFieldIsAField(t *testing.T) {
	t.Parallel()
	document := "graph: g\naccumulators: { a: { emit: { b: event.c?.d } } }\n" +
		"nodes: { n: { expr: a.b } }\noutputs: { o: { from: n, sink: { drop: {} } } }\n"
	_, diags := (&builtin.Kinds{}).Parse([]byte(document), "g.yaml")
	for _, d := range diags {
		if d.Line != 2 {
			t.Errorf("%v is told too", d)
		}
	}
	if len(diags) != 1 {
		t.Errorf("got %v", diags)
	}
}

// What is made of a declaration that is wrong is not known: who reads it, by its key too, makes no mistake that could
// be told. A mistake in what has no say in that hides none.
func TestWhoReadsWhatIsWrongIsInnocent(t *testing.T) {
	t.Parallel()
	const timed = "time: event.at, "
	for wrong, want := range map[string]string{
		"w: { " + timed + "window: 10s }":                                         "wrong_type",
		"w: { " + timed + "window: { tumblin: 10s, aggregate: { n: count() } } }": "unknown_field",
		"w: { batch: {} }": "no_key no_flush_rule",
		"w: { emit: { b: event.x }, strategi: burst }":                             "unknown_field",
		"w: { emit: { b: event.x }, batch: { size: x } }":                          "no_key wrong_type",
		"w: { emit: { b: event.x }, capacity: x }":                                 "wrong_type unknown_name",
		"w: {}\nnodes: { m: { expr: '{ \"b\": w.a }', budget: 5 } }":               "bad_duration unknown_field",
		"w: {}\nnodes: { m: { expr: '{ \"b\": w.a }', rout: { x: 'w.a > 1' } } }":  "unknown_field",
		"w: {}\nnodes: { m: { expr: '{ \"b\": w.a }', route: { x: 'w.a > 1' } } }": "several_kinds",
	} {
		node, nodes, _ := strings.Cut(wrong, "\nnodes: { ")
		read := "w"
		if nodes != "" {
			read, nodes = "m", strings.TrimSuffix(nodes, " }")+", "
		}
		document := "graph: g\naccumulators: { " + node + " }\nreactor: { key: a }\nnodes: { " + nodes + "n: { expr: " +
			read + ".a } }\noutputs: { o: { from: n, sink: { drop: {} } } }\n"
		_, diags := (&builtin.Kinds{}).Parse([]byte(document), "g.yaml")
		var said []string
		for _, d := range diags {
			said = append(said, d.Code)
		}
		if got := strings.Join(said, " "); got != want {
			t.Errorf("%s: %s, want %s; in full:\n%v", wrong, got, want, diags)
		}
	}
}
