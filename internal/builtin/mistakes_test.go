package builtin_test

import (
	"os"
	"path/filepath"
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
