package sqlite

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/dal/sqlite/sqlconn"
)

// A store from before there was a history begins it with the declaration that it has.
func TestHistoryBeginsWithWhatIsThere(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "graphd.db")
	s := open(t, path)
	id := checkpoint.ID{Tenant: "default", Graph: "g"}
	for _, text := range []string{"one", "two"} {
		d := checkpoint.Declaration{Tenant: id.Tenant, Graph: id.Graph, Text: text}
		if _, err := s.PutDeclaration(t.Context(), d, 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.write(t.Context(), 0, func(_ context.Context, c *sqlconn.Conn) error {
		text := "DROP VIEW graphs; DROP VIEW state; DROP VIEW firings; DROP VIEW dead_letters; DROP VIEW counters; " +
			"DROP VIEW output_counters; DROP TABLE revision; DROP TABLE token; DROP TABLE audit_entry; " +
			"DROP TABLE pass; DROP TABLE audit_chain; DROP TABLE push_key; DELETE FROM schema_migration " +
			"WHERE version >= 5"
		for _, column := range []string{"attempts", "output", "firing_id", "message"} {
			text += "; ALTER TABLE dead_letter DROP COLUMN " + column
		}
		return c.Script(text)
	}); err != nil {
		t.Fatal(err)
	}
	closeStore(t, s)
	s = open(t, path)
	defer closeStore(t, s)
	all, err := s.Revisions(t.Context(), id)
	if err != nil || len(all) != 1 || all[0].Revision != 2 {
		t.Fatalf("revisions %+v, %v", all, err)
	}
	if d, err := s.Revision(t.Context(), id, 2); err != nil || d.Text != "two" {
		t.Errorf("revision 2: %+v, %v", d, err)
	}
}
