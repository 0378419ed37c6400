package dal

import (
	"cmp"
	"path/filepath"
	"slices"
	"testing"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/checkpoint/checkpointtest"
)

func TestMemory(t *testing.T) {
	t.Parallel()
	checkpointtest.Run(t, checkpointtest.Harness{
		Open: func(*testing.T) checkpoint.Store { return NewMemory() },
		Rows: func(t *testing.T, s checkpoint.Store) (string, func() []string) { return memoryRows(s.(*Memory)) },
	})
}

func TestSQLite(t *testing.T) {
	t.Parallel()
	checkpointtest.Run(t, checkpointtest.Harness{
		Open: func(t *testing.T) checkpoint.Store { return open(t, filepath.Join(t.TempDir(), "graphd.db")) },
		Reopen: func(t *testing.T, s checkpoint.Store) checkpoint.Store {
			if err := s.Close(); err != nil {
				t.Fatalf("close: %v", err)
			}
			return open(t, s.(*SQLite).Path())
		},
	})
}

// memoryRows makes a table and reads it as the suite wants it.
func memoryRows(m *Memory) (table string, read func() []string) {
	m.MakeTable("t", "id")
	return "t", func() []string {
		rows := m.Rows("t")
		slices.SortFunc(rows, func(a, b map[string]boundary.Value) int {
			x, _ := a["id"].AsInt()
			y, _ := b["id"].AsInt()
			return cmp.Compare(x, y)
		})
		var got []string
		for _, r := range rows {
			word, _ := r["word"].AsString()
			got = append(got, r["id"].String()+" "+word)
		}
		return got
	}
}

func open(t testing.TB, path string) *SQLite {
	t.Helper()
	s, err := OpenSQLite(t.Context(), path, SQLiteOptions{})
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	return s
}
