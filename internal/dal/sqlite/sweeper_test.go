package sqlite

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/checkpoint/checkpointtest"
	"github.com/graphd/graphd/internal/dal/sqlite/sqlconn"
)

// rowsOf counts what a tenant has in the tables that hang on a state.
func rowsOf(t *testing.T, s *Store, tenant string) (rows int64) {
	t.Helper()
	if err := s.read(t.Context(), func(c *sqlconn.Conn) error {
		r, err := c.First(`SELECT (SELECT count(*) FROM cell WHERE tenant = ?1)
			+ (SELECT count(*) FROM firing WHERE tenant = ?1)
			+ (SELECT count(*) FROM dead_letter WHERE tenant = ?1)
			+ (SELECT count(*) FROM dropped_state WHERE tenant = ?1)`, tenant)
		if err == nil {
			rows = r.Int(0)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return rows
}

func fill(t *testing.T, s *Store, id checkpoint.ID) int64 {
	t.Helper()
	head, err := s.Acquire(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	c := checkpoint.Commit{
		ID: id, Fence: head.Fence, Seq: 1, Epoch: 500, KeepFirings: 1000, Cells: checkpointtest.CellsOf(1100, 10),
	}
	for n := range 500 {
		c.Firings = append(c.Firings, checkpoint.Firing{Incarnation: 1, Epoch: int64(n)})
		c.DeadLetters = append(c.DeadLetters, checkpoint.DeadLetter{ID: string(rune('a' + n))})
	}
	if err := s.Commit(t.Context(), &c); err != nil {
		t.Fatal(err)
	}
	return int64(len(c.Cells) + len(c.Firings) + len(c.DeadLetters))
}

// A deleted graph's rows go, a graph of the same name in their place stays, and a
// restart on the way makes no difference.
func TestSweep(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "graphd.db")
	s := open(t, path)
	a, b := checkpoint.ID{Tenant: "a", Graph: "g"}, checkpoint.ID{Tenant: "b", Graph: "g"}
	fill(t, s, a)
	want := fill(t, s, b)
	s.sweeper.Close() // as if the process had died before the first batch
	for _, id := range []checkpoint.ID{a, b} {
		if err := s.DeleteDeclaration(t.Context(), id, true); err != nil {
			t.Fatal(err)
		}
	}
	fill(t, s, b)
	if got := contents(t, s, b); int64(len(got)) != want {
		t.Errorf("the new graph has %d of %d rows", len(got), want)
	}
	if rowsOf(t, s, "a") == 0 {
		t.Error("the rows went with the deletion: there is nothing to sweep")
	}
	closeStore(t, s)
	s = open(t, path)
	for rowsOf(t, s, "a") > 0 { // each look takes its time; the sweeper has begun with the start
	}
	for rowsOf(t, s, "b") > want {
	}
	if got := contents(t, s, b); int64(len(got)) != want {
		t.Errorf("the new graph has %d of %d rows", len(got), want)
	}
	closeStore(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.sweep(ctx); err == nil {
		t.Error("sweep went on")
	}
}
