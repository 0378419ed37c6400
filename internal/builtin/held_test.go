package builtin_test

import (
	"os"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/spec"
)

// heldForms are declarations as they stood in examples, documents and tests one day, each behind a
// line with its hash and, where it compiles, the identities of its accumulators and keys.
const heldForms = "testdata/held-forms.txt"

// M33: stores hold hashes and identities, so those of a declaration stay what they are, whatever
// becomes of the code: another hash makes every graph look updated, and another identity
// throws away what an accumulator has folded and read. The file is never written anew but where a
// decision changes what a declaration means (0083); what comes later is added to it.
func TestHeldFormsStayWhatTheyAre(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(heldForms)
	if err != nil {
		t.Fatal(err)
	}
	list := strings.Split("\n"+string(data), "\n== ")[1:]
	if len(list) < 250 {
		t.Fatalf("only %d declarations", len(list))
	}
	kinds := &builtin.Kinds{}
	for _, entry := range list {
		want, text, _ := strings.Cut(entry, "\n")
		g, diags := spec.Parse([]byte(text), kinds.Declared(), spec.Options{Resolve: heldReferences})
		if len(diags) > 0 {
			t.Errorf("refused: %v\n%s", diags, text)
			continue
		}
		got := g.Hash
		if strings.Contains(want, " ") {
			got += identities(t, kinds, g)
		}
		if got != want {
			t.Errorf("got\n  %s\nwant\n  %s\nfor\n%s", got, want, text)
		}
	}
}

// identities are those of a graph's accumulators, and of its keys if it has any.
func identities(t *testing.T, kinds *builtin.Kinds, g *spec.Graph) (list string) {
	t.Helper()
	u, diags := kinds.Compile(g)
	if len(diags) > 0 {
		t.Errorf("refused: %v", diags)
		return ""
	}
	for _, in := range u.Inputs() {
		list += " " + in.Identity
	}
	if k := u.Reactor().Keys; k != nil {
		list += " keys=" + k.Identity
	}
	return list
}

// heldReferences resolves what the declarations refer to. What it is takes no part in a hash.
func heldReferences(ref string) (value string, ok bool, err error) {
	value, ok = map[string]string{
		"CAPACITY": "65", "WORD": "latest", "PATH_TO": "other.csv", "SECRET": "x", "INTERVAL": "6s", "YES": "false",
		"MODE": "checkpoint", "WHEN": "any", "OUT": "p", "EMIT": "on_change", "SPAN": "90s", "LATE": "dead_letter",
	}[ref]
	if !ok {
		value = "named"
	}
	return value, true, nil
}
