package sqlite

import (
	"path/filepath"
	"testing"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/checkpoint/checkpointtest"
)

func TestStore(t *testing.T) {
	t.Parallel()
	checkpointtest.Run(t, checkpointtest.Harness{
		Open: func(t *testing.T) checkpoint.Store { return open(t, filepath.Join(t.TempDir(), "graphd.db")) },
		Reopen: func(t *testing.T, s checkpoint.Store) checkpoint.Store {
			if err := s.Close(); err != nil {
				t.Fatalf("close: %v", err)
			}
			return open(t, s.(*Store).Path())
		},
	})
}

func open(t testing.TB, path string) *Store {
	t.Helper()
	s, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	return s
}
