package sqlite

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/checkpoint/checkpointtest"
	"github.com/graphd/graphd/internal/dal/sqlite/schema"
	"github.com/graphd/graphd/internal/dal/sqlite/sqlconn"
)

// tablesOf is what makes the tables of a file.
func tablesOf(t *testing.T, path string) (texts []string) {
	t.Helper()
	c, err := sqlconn.OpenToRead(path)
	if err == nil {
		err = c.Query(t.Context(), "SELECT coalesce(sql, '') FROM sqlite_schema ORDER BY 1", func(r sqlconn.Row) error {
			texts = append(texts, r.Text(0))
			return nil
		})
	}
	if err == nil {
		err = c.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

// TestLookChangesNothing: how a store stands is read while a daemon has it, from what a killed one has left, and where
// there is none; the SQL that is shown is what brings it there (M55).
func TestLookChangesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "graphd.db")
	none, err := Look(t.Context(), path)
	if err != nil || none.Format != 0 || len(none.Missing) < 8 {
		t.Fatalf("no file: %+v, %v", none, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Fatalf("a look has made %v (%v)", left, err)
	}
	s := open(t, path)
	defer closeStore(t, s)
	o := checkpointtest.NewOwner(t, s, "g")
	o.Next.Cells = checkpointtest.CellsOf(60, 300)
	o.Commit(t)
	got, err := Look(t.Context(), path)
	if err != nil || got.Format != 2 || len(got.Applied) != len(none.Missing) || got.Applied[0].At.IsZero() {
		t.Errorf("a store in use: %+v, %v", got, err)
	}
	o.Commit(t) // nothing has locked it
	left := filepath.Join(dir, "left.db")
	for _, name := range []string{"", "-wal"} {
		data, err := os.ReadFile(path + name)
		if err != nil || len(data) == 0 {
			t.Fatalf("%s: %d bytes, %v", name, len(data), err)
		}
		if err := os.WriteFile(left+name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, err = Look(t.Context(), left); err != nil || len(got.Applied) != len(none.Missing) {
		t.Errorf("what a killed daemon has left: %+v, %v", got, err)
	}
	for _, name := range []string{"", "-wal"} {
		was, _ := os.ReadFile(path + name)
		is, err := os.ReadFile(left + name)
		if err != nil || !bytes.Equal(was, is) {
			t.Errorf("%q was changed (%v)", name, err)
		}
	}
	shown(t, filepath.Join(dir, "shown.db"), path, none.Script)
}

// shown runs what a look has shown for a file that is not there.
func shown(t *testing.T, path, like, script string) {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Look(t.Context(), path); !errors.Is(err, checkpoint.ErrCorrupt) {
		t.Errorf("an empty file: %v", err)
	}
	c, err := sqlconn.Open(path, script)
	if err != nil {
		t.Fatalf("what is shown cannot be run: %v", err)
	}
	if err := schema.CheckProgram(c); err != nil {
		t.Error(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(tablesOf(t, like), tablesOf(t, path)); d != "" {
		t.Errorf("what is shown makes another schema (-migrated +shown):\n%s", d)
	}
	closeStore(t, open(t, path))
}
