package dal

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/checkpoint/checkpointtest"
)

// postgresSchemas numbers the schemas of this test process.
var postgresSchemas atomic.Int64

// postgresDSN is the database that tests run against.
func postgresDSN(t testing.TB) string {
	t.Helper()
	dsn := os.Getenv("GRAPHD_TEST_POSTGRES")
	if dsn == "" {
		t.Skip("GRAPHD_TEST_POSTGRES names no database")
	}
	return dsn
}

// newSchema names a schema of its own for a test, removed at its end.
func newSchema(t testing.TB) (dsn, schema string) {
	t.Helper()
	dsn = postgresDSN(t)
	schema = fmt.Sprintf("t%d_%d_%d", os.Getpid(), time.Now().UnixNano(), postgresSchemas.Add(1))
	t.Cleanup(func() { query(t, dsn, "DROP SCHEMA IF EXISTS "+schema+" CASCADE") })
	return dsn, schema
}

// query runs a statement beside the store, and returns its rows with their columns joined by a space.
func query(t testing.TB, dsn, text string, args ...any) (rows []string) {
	t.Helper()
	ctx := t.Context()
	if ctx.Err() != nil { // a cleanup
		ctx = context.Background()
	}
	c, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	defer c.Close(ctx)
	r, err := c.Query(ctx, text, args...)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	for r.Next() {
		values, err := r.Values()
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, strings.TrimSpace(fmt.Sprintln(values...)))
	}
	if err := r.Err(); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return rows
}

// openPostgres opens the store in a schema; the same schema is the same store.
func openPostgres(t testing.TB, dsn, schema string) *Postgres {
	t.Helper()
	p, err := OpenPostgres(t.Context(), dsn, PostgresOptions{Schema: schema})
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	return p
}

func TestPostgres(t *testing.T) {
	t.Parallel()
	postgresDSN(t)
	checkpointtest.Run(t, checkpointtest.Harness{
		Open: func(t *testing.T) checkpoint.Store {
			dsn, schema := newSchema(t)
			return openPostgres(t, dsn, schema)
		},
		Reopen: func(t *testing.T, s checkpoint.Store) checkpoint.Store {
			p := s.(*Postgres)
			if err := p.Close(); err != nil {
				t.Fatalf("close: %v", err)
			}
			return openPostgres(t, postgresDSN(t), p.schema)
		},
		Rows: func(t *testing.T, s checkpoint.Store) (string, func() []string) {
			return postgresRows(t, s.(*Postgres).schema)
		},
	})
}

// postgresRows makes a table and reads it as the suite wants it.
func postgresRows(t testing.TB, schema string) (table string, read func() []string) {
	dsn := postgresDSN(t)
	table = schema + ".words"
	query(t, dsn, "CREATE TABLE "+table+" (id integer PRIMARY KEY, word text)")
	return table, func() []string { return query(t, dsn, "SELECT id, word FROM "+table+" ORDER BY id") }
}
