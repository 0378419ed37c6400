package postgres

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/testbed"
)

// columns are those of a schema's tables.
func columns(t testing.TB, dsn, schema string) []string {
	t.Helper()
	return query(t, dsn, "SELECT table_name, column_name, data_type, is_nullable, coalesce(column_default, '') FROM "+
		"information_schema.columns WHERE table_schema = $1 ORDER BY 1, 2", schema)
}

// TestLookChangesNothing: how a schema stands is read from a database without it and from one with it, and the SQL that
// is shown is what brings it there (M55).
func TestLookChangesNothing(t *testing.T) {
	t.Parallel()
	dsn := testbed.Postgres(t)
	s, err := Look(t.Context(), dsn)
	if err != nil || s.Format != 0 || len(s.Applied) != 0 || len(s.Missing) < 9 || s.Refused != nil {
		t.Fatalf("an empty database: %+v, %v", s, err)
	}
	if got := columns(t, dsn, defaultSchema); len(got) != 0 {
		t.Fatalf("a look has made %v", got)
	}
	all := len(s.Missing)
	run(t, dsn, s.Script)
	if s, err = Look(t.Context(), dsn); err != nil || len(s.Applied) != all || len(s.Missing) != 0 || s.Script != "" ||
		s.Format != 2 || s.Applied[0].Name != "0001_store.sql" || s.Applied[0].At.IsZero() {
		t.Errorf("a schema that was made by what is shown: %+v, %v", s, err)
	}
	open(t, dsn, "migrated").Close()
	if d := cmp.Diff(columns(t, dsn, "migrated"), columns(t, dsn, defaultSchema)); d != "" {
		t.Errorf("what is shown makes another schema (-migrated +shown):\n%s", d)
	}
	query(t, dsn, fmt.Sprintf("DELETE FROM graphd.schema_migration WHERE version = %d", all))
	if s, err = Look(t.Context(), dsn); err != nil || len(s.Missing) != 1 || !strings.Contains(s.Script,
		s.Missing[0].Text) || strings.Contains(s.Script, "CREATE SCHEMA") {
		t.Errorf("a schema that lacks one: %+v, %v", s, err)
	}
	query(t, dsn, "UPDATE graphd.store_format SET format = 9, readable_from = 8")
	if s, err = Look(t.Context(), dsn); err != nil || !errors.Is(s.Refused, checkpoint.ErrNewerSchema) ||
		len(s.Missing) != 0 || s.Format != 9 {
		t.Errorf("a newer schema: %+v, %v", s, err)
	}
	as := role(t, dsn, database(t, dsn)+"_stranger")
	if s, err = Look(t.Context(), as); err == nil || !strings.Contains(err.Error(), "permission denied") {
		t.Errorf("who may not read it: %+v, %v", s, err)
	}
}
