// Package tables says whether rows of an output can go to a table of a PostgreSQL database as it is now. Start at
// [Columns].
package tables

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/jackc/pgx/v5"
)

const (
	live = `SELECT a.attname, a.attnotnull AND NOT a.atthasdef
		AND a.attidentity = '', a.attgenerated <> '' OR a.attidentity = 'a'
		FROM pg_attribute a WHERE a.attrelid = to_regclass($1) AND a.attnum > 0 AND NOT a.attisdropped
			ORDER BY a.attnum`
	mayWrite = `SELECT has_table_privilege(to_regclass($1), 'INSERT') AND (NOT $2 OR ` +
		`has_table_privilege(to_regclass($1), 'UPDATE'))`
	// The columns of the unique indexes that can say which row is replaced.
	unique = `SELECT ARRAY (SELECT a.attname::text FROM pg_attribute a WHERE a.attrelid = i.indrelid
		AND a.attnum = ANY (i.indkey[0:i.indnkeyatts - 1]))
		FROM pg_index i WHERE i.indrelid = to_regclass($1) AND i.indisunique AND i.indpred IS NULL
			AND i.indexprs IS NULL AND i.indisvalid`
)

// Error says why rows of an output can not go to a table as it is now.
type Error struct {
	Table, Text string
}

func (e *Error) Error() string { return fmt.Sprintf("table %s: %s", e.Table, e.Text) }

// Query is what looking at a table needs: a pool, or a connection.
type Query interface {
	Query(ctx context.Context, text string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, text string, args ...any) pgx.Row
}

// Columns answers the columns that rows for t have: t's, or where it names none, those of
// the live table that can be written. The error is a *Error when the table does not fit.
func Columns(ctx context.Context, q Query, t *checkpoint.Table) (columns []string, err error) {
	name := Name(t.Name).Sanitize()
	refuse := func(format string, args ...any) error { return &Error{t.Name, fmt.Sprintf(format, args...)} }
	var all, needed []string
	rows, err := q.Query(ctx, live, name)
	if err != nil {
		return nil, err
	}
	var column string
	var must, never bool
	_, err = pgx.ForEachRow(rows, []any{&column, &must, &never}, func() error {
		if never {
			return nil
		}
		all = append(all, column)
		if must {
			needed = append(needed, column)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil,
			refuse("it is not there, or has no columns that can be written; create it, or name it with its schema")
	}
	if columns = t.Columns; columns == nil {
		columns = all
	}
	for _, c := range append(slices.Clone(columns), t.Conflict...) {
		if !slices.Contains(all, c) {
			return nil, refuse("it has no column %q that can be written; it has %s", c, strings.Join(all, ", "))
		}
	}
	for _, c := range needed {
		if !slices.Contains(columns, c) {
			return nil, refuse("column %q must not be null and has no default; add it to columns", c)
		}
	}
	var may bool
	if err := q.QueryRow(ctx, mayWrite, name, t.Upsert).Scan(&may); err != nil {
		return nil, err
	}
	if !may {
		return nil, refuse("the database's user may not write it; grant it INSERT, and UPDATE for mode upsert")
	}
	if !t.Upsert {
		return columns, nil
	}
	return columns, checkConflict(ctx, q, t, refuse)
}

// checkConflict looks for the unique index that an upsert needs.
func checkConflict(ctx context.Context, q Query, t *checkpoint.Table, refuse func(string, ...any) error) error {
	rows, err := q.Query(ctx, unique, Name(t.Name).Sanitize())
	if err != nil {
		return err
	}
	want := slices.Sorted(slices.Values(t.Conflict))
	found := false
	var index []string
	_, err = pgx.ForEachRow(rows, []any{&index}, func() error {
		found = found || slices.Equal(slices.Sorted(slices.Values(index)), want)
		return nil
	})
	if err == nil && !found {
		return refuse("no unique index has exactly the columns %s; create one, or name another's in conflict",
			strings.Join(t.Conflict, ", "))
	}
	return err
}

// Name is a table as declared, "name" or "schema.name"; one without a schema is in public.
func Name(declared string) pgx.Identifier {
	if schema, name, ok := strings.Cut(declared, "."); ok {
		return pgx.Identifier{schema, name}
	}
	return pgx.Identifier{"public", declared}
}
