package builtin_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/builtin"
)

// Relative paths begin beside the declaration's file; those of one that came without a file in
// the daemon's folder, which is made when something is written there.
func TestRelativePaths(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	k := &builtin.Kinds{Reach: builtin.Reach{Folder: filepath.Join(dir, "data", "files")}}
	doc := []byte("graph: g\naccumulators:\n  a: { source: { file: { path: in.ndjson } } }\n" +
		"  b: { source: { file: { path: /in.ndjson } } }\n" +
		"  c: { source: { poll: { sql: SELECT id FROM t, connection: 'sqlite:t.db', key: id, every: 1s } } }\n" +
		"nodes: { n: { expr: a } }\n" +
		"outputs:\n  o: { from: n, sink: { file: { path: out/o.ndjson } } }\n" +
		"  p: { from: n, sink: { file: { path: p } } }\n")
	beside := filepath.Join(dir, "graphs")
	for file, folder := range map[string]string{"": k.Folder, filepath.Join(beside, "g.yaml"): beside} {
		u, diags := k.Parse(doc, file)
		if err := diags.Err(); err != nil {
			t.Fatal(err)
		}
		want := []api.File{
			{Of: "accumulator a", Path: "in.ndjson", File: folder + "/in.ndjson"},
			{Of: "accumulator c", Path: "t.db", File: folder + "/t.db"},
			{Of: "output o", Path: "out/o.ndjson", File: folder + "/out/o.ndjson"},
			{Of: "output p", Path: "p", File: folder + "/p"},
		}
		if got := k.Files(u); !slices.Equal(got, want) {
			t.Errorf("declared in %q: %+v", file, got)
		}
		s, err := k.Sink(u, 1)
		if file != "" {
			if err == nil {
				t.Error("a folder of declarations was made")
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(filepath.Join(folder, "p")); err != nil {
			t.Error(err)
		}
	}
}

// A schema's file is found as any other.
func TestRelativeSchema(t *testing.T) {
	t.Parallel()
	k := &builtin.Kinds{Reach: builtin.Reach{Folder: t.TempDir()}}
	if err := os.WriteFile(filepath.Join(k.Folder, "s.json"), []byte(`{"type":"number"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	_, diags := k.Parse([]byte("graph: g\naccumulators: { a: { schema: s.json } }\nnodes: { n: { expr: a } }\n"+
		"outputs: { o: { from: n, sink: { drop: {} } } }\n"), "")
	if err := diags.Err(); err != nil {
		t.Fatal(err)
	}
}
