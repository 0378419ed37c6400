package spec_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/spec/decode"
)

// FuzzParse holds the decoder to its promises on any input: no panic, an end in
// reasonable time, diagnostics that are well formed and in order, a graph or a
// reason, no secret told.
func FuzzParse(f *testing.F) {
	for _, pattern := range []string{"testdata/mistakes/*", "testdata/valid/*", "testdata/manual/*"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			f.Fatalf("no seeds in %s: %v", pattern, err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		begin := time.Now()
		g, diags := parse(data, spec.Options{Resolve: environment})
		// Far above what any input of this size needs, on any machine.
		if spent := time.Since(begin); spent > 20*time.Second {
			t.Errorf("%d bytes took %v", len(data), spent)
		}
		if g == nil && len(diags) == 0 {
			t.Fatal("neither a graph nor a reason")
		}
		for i, d := range diags {
			wellFormed(t, d)
			if i > 0 && d.Code != decode.CodeTooManyErrors &&
				(d.Line < diags[i-1].Line || d.Line == diags[i-1].Line && d.Column < diags[i-1].Column) {
				t.Errorf("%v comes after %v", d, diags[i-1])
			}
		}
		if g == nil {
			return
		}
		for _, a := range g.Accumulators {
			if a.Strategy == "" {
				t.Errorf("the accumulator %q has no strategy", a.Name)
			}
			checkPlace(t, a.Where)
		}
		for _, n := range g.Nodes {
			for _, term := range n.Reads().Terms() {
				checkPlace(t, term.Expr)
			}
		}
		if again, _ := parse(data, spec.Options{Resolve: environment}); again.Hash != g.Hash {
			t.Error("two readings have two hashes")
		}
		if lines := spec.Diff(g, g); len(lines) > 0 && len(diags) == 0 {
			t.Errorf("the graph differs from itself: %q", lines)
		}
		if lines := spec.Diff(nil, g); !strings.Contains(string(data), secret) &&
			strings.Contains(strings.Join(lines, "\n"), secret) {
			t.Error("the diff tells a secret")
		}
	})
}

// checkPlace holds an expression to having a place for each of its bytes, never
// before its own.
func checkPlace(t *testing.T, e spec.Expr) {
	t.Helper()
	if e.IsZero() {
		return
	}
	for offset := range len(e.Text) + 1 {
		line, column := e.At(offset)
		if line < e.Pos.Line || line == e.Pos.Line && column < e.Pos.Column {
			t.Fatalf("byte %d of %q is at %d:%d, before %v", offset, e.Text, line, column, e.Pos)
		}
		if offset > 2000 {
			break // At is linear in the offset
		}
	}
}
