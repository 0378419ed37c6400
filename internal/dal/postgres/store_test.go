package postgres

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/checkpoint/checkpointtest"
	"github.com/graphd/graphd/internal/testbed"
	"github.com/jackc/pgx/v5"
)

// schemas numbers the stores of this test process.
var schemas atomic.Int64

// newSchema makes a database for a test, and names the schema of a store in it.
func newSchema(t testing.TB) (dsn, schema string) {
	t.Helper()
	return testbed.Postgres(t), schemaName()
}

func schemaName() string { return fmt.Sprintf("store_%d", schemas.Add(1)) }

// until waits for something that the server alone knows, and tells nobody: it is asked again and
// again.
func until(t testing.TB, what string, within time.Duration, cond func() bool) {
	t.Helper()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.Now().Add(within); !cond(); <-ticker.C {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %v", what, within)
		}
	}
}

// query runs a statement beside the store, and returns its rows with their columns joined by a space.
func query(t testing.TB, dsn, text string, args ...any) (rows []string) {
	t.Helper()
	ctx := context.Background()
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

// open opens the store in a schema; the same schema is the same store. None of its calls ends because the machine
// stands still for a while: who looks at how they end opens it with bounds.
func open(t testing.TB, dsn, schema string) *Store {
	t.Helper()
	return openWith(t, dsn, Options{Schema: schema, Timeouts: patient})
}

func openWith(t testing.TB, dsn string, o Options) *Store {
	t.Helper()
	p, err := Open(t.Context(), dsn, o)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	return p
}

// A store that fails by a script is over Postgres what it is over the others.
func TestFaulty(t *testing.T) {
	t.Parallel()
	dsn := testbed.Postgres(t)
	checkpointtest.Run(t, checkpointtest.Harness{
		Open: func(t *testing.T) checkpoint.Store {
			return checkpointtest.NewFaulty(open(t, dsn, schemaName()), nil)
		},
		Rows: func(t *testing.T, s checkpoint.Store) (string, func() []string) {
			return tableRows(t, dsn, s.(*checkpointtest.Faulty).Store.(*Store).schema)
		},
	})
}

func TestStore(t *testing.T) {
	t.Parallel()
	dsn := testbed.Postgres(t) // one for all: each store has a schema of its own
	checkpointtest.Run(t, checkpointtest.Harness{
		Open: func(t *testing.T) checkpoint.Store { return open(t, dsn, schemaName()) },
		Reopen: func(t *testing.T, s checkpoint.Store) checkpoint.Store {
			p := s.(*Store)
			if err := p.Close(); err != nil {
				t.Fatalf("close: %v", err)
			}
			return open(t, dsn, p.schema)
		},
		Rows: func(t *testing.T, s checkpoint.Store) (string, func() []string) {
			return tableRows(t, dsn, s.(*Store).schema)
		},
	})
}

// tableRows makes a table and reads it as the suite wants it.
func tableRows(t testing.TB, dsn, schema string) (table string, read func() []string) {
	table = schema + ".words"
	query(t, dsn, "CREATE TABLE "+table+" (id integer PRIMARY KEY, word text)")
	return table, func() []string { return query(t, dsn, "SELECT id, word FROM "+table+" ORDER BY id") }
}
