package assembly_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/spec"
)

// moved is a declaration with all that can stand in an included file in one.
func moved(t *testing.T, data []byte) files {
	t.Helper()
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	root := doc.Content[0]
	own, part := *root, *root
	own.Content, part.Content = nil, nil
	for i := 0; i < len(root.Content); i += 2 {
		into := &own
		if slices.Contains([]string{"vars", "accumulators", "loops", "nodes", "outputs"}, root.Content[i].Value) {
			into = &part
		}
		into.Content = append(into.Content, root.Content[i:i+2]...)
	}
	text, err := yaml.Marshal(&own)
	if err != nil {
		t.Fatal(err)
	}
	shared, err := yaml.Marshal(&part)
	if err != nil {
		t.Fatal(err)
	}
	return files{"d/g.yaml": "include: p.yaml\n" + string(text), "d/p.yaml": string(shared)}
}

// A declaration means the same when its parts stand in an included file, whatever fields it has.
func TestMovedIntoAnIncludedFile(t *testing.T) {
	t.Parallel()
	kinds, compared := new(builtin.Kinds).Declared(), 0
	for _, pattern := range []string{"../testdata/valid/*", "../testdata/manual/*"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			want, diags := spec.Parse(data, kinds, spec.Options{Resolve: resolve})
			if len(diags) > 0 || data[0] == '{' {
				continue // JSON is written in braces, where an include cannot be put before them
			}
			f := moved(t, data)
			doc, g, lines := told(t, f, nil)
			if len(lines) > 0 || g.Hash != want.Hash {
				t.Errorf("%s: %q %q in\n%s", path, lines, spec.Diff(want, g), doc.Text)
			}
			compared++
		}
	}
	if compared < 10 {
		t.Errorf("only %d declarations were compared", compared)
	}
}

// resolve is an environment in which everything is set.
func resolve(string) (string, bool, error) { return "64", true, nil }
