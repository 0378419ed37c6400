package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/dal/postgres/tables"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// sinkRows adds the rows of a co-transaction (M30): one INSERT for the rows that have the
// same columns present. They travel as JSON, so that the server makes each value its
// column's type, and nothing here needs to know the table.
func (s *statement) sinkRows(rows *checkpoint.SinkRows) {
	for _, g := range groupRows(rows) {
		s.part(fmt.Sprintf(", row%d AS (", len(s.args)))
		s.insertRows(&rows.Table, g, "head, ")
		s.part(")")
	}
}

// rowGroup is rows of one table with the same columns present.
type rowGroup struct {
	columns []int
	data    []byte // a JSON array of objects
}

// groupRows puts rows together that have the same columns. Of rows that replace each other
// the last is kept: one statement changes a row once.
func groupRows(rows *checkpoint.SinkRows) []*rowGroup {
	last := lastOfConflict(rows)
	var groups []*rowGroup
	byMask := map[string]*rowGroup{}
	mask := make([]byte, len(rows.Table.Columns))
	for i, values := range rows.Rows {
		if last != nil && last[conflictKey(&rows.Table, values)] != i {
			continue
		}
		for k := range mask {
			mask[k] = '1'
			if k >= len(values) || values[k].IsAbsent() {
				mask[k] = '0'
			}
		}
		g := byMask[string(mask)]
		if g == nil {
			g = &rowGroup{data: []byte{'['}}
			for k := range mask {
				if mask[k] == '1' {
					g.columns = append(g.columns, k)
				}
			}
			byMask[string(mask)] = g
			groups = append(groups, g)
		} else {
			g.data = append(g.data, ',')
		}
		g.add(&rows.Table, values)
	}
	for _, g := range groups {
		g.data = append(g.data, ']')
	}
	return groups
}

func (g *rowGroup) add(t *checkpoint.Table, values []boundary.Value) {
	g.data = append(g.data, '{')
	for n, k := range g.columns {
		if n > 0 {
			g.data = append(g.data, ',')
		}
		g.data = boundary.String(t.Columns[k]).AppendJSON(g.data)
		g.data = append(g.data, ':')
		g.data = values[k].AppendJSON(g.data)
	}
	g.data = append(g.data, '}')
}

// lastOfConflict is the place of the last row of each key; nil where rows never replace each other.
func lastOfConflict(rows *checkpoint.SinkRows) map[string]int {
	if !rows.Table.Upsert || len(rows.Rows) < 2 {
		return nil
	}
	last := make(map[string]int, len(rows.Rows))
	for i, values := range rows.Rows {
		last[conflictKey(&rows.Table, values)] = i
	}
	return last
}

// conflictKey is what the table's unique index sees of a row, as far as its values are alike.
func conflictKey(t *checkpoint.Table, values []boundary.Value) string {
	var key []byte
	for k, name := range t.Columns {
		for _, c := range t.Conflict {
			if c == name {
				key = append(values[k].AppendJSON(key), 0)
			}
		}
	}
	return string(key)
}

// insertRows is the INSERT of one group; from stands before its rows in FROM.
func (s *statement) insertRows(t *checkpoint.Table, g *rowGroup, from string) {
	var into, picked []string
	for _, k := range g.columns {
		name := pgx.Identifier{t.Columns[k]}.Sanitize()
		into, picked = append(into, name), append(picked, "r."+name)
	}
	columns := ""
	if len(into) > 0 {
		columns = " (" + strings.Join(into, ", ") + ")"
	}
	name := tables.Name(t.Name).Sanitize()
	s.text.WriteString("INSERT INTO " + name + columns + " SELECT " + strings.Join(picked, ", ") +
		" FROM " + from + "json_populate_recordset(NULL::" + name + ", " + s.arg(string(g.data)) + "::json) r")
	if t.Upsert {
		s.text.WriteString(" " + onConflict(t))
	}
}

// onConflict replaces every column of the row that is there; one that is absent gets its default.
func onConflict(t *checkpoint.Table) string {
	var keys, sets []string
	for _, name := range t.Conflict {
		keys = append(keys, pgx.Identifier{name}.Sanitize())
	}
	for _, name := range t.Columns {
		quoted := pgx.Identifier{name}.Sanitize()
		isKey := false
		for _, key := range keys {
			isKey = isKey || key == quoted
		}
		if !isKey {
			sets = append(sets, quoted+" = excluded."+quoted)
		}
	}
	target := "ON CONFLICT (" + strings.Join(keys, ", ") + ") DO "
	if len(sets) == 0 {
		return target + "NOTHING"
	}
	return target + "UPDATE SET " + strings.Join(sets, ", ")
}

// refusedRow finds out which row a commit was refused for. It tries the rows one after the
// other in a transaction that is undone; the commit itself has changed nothing. When no row is refused now, the error
// stays as it was. It may take long: one commit's are tried at a time, and not over the connections that graphs are
// taken by.
func (p *Store) refusedRow(ctx context.Context, c *checkpoint.Commit, refused error) error {
	if errors.Is(refused, checkpoint.ErrUnknownOutcome) || !aboutValues(refused) {
		return refused
	}
	var found *checkpoint.RowError
	select {
	case p.probing <- struct{}{}:
		defer func() { <-p.probing }()
	case <-ctx.Done():
		return refused
	}
	err := p.onFor(ctx, p.bulk, longTimeout, func(ctx context.Context, conn *pgxpool.Conn) (err error) {
		found, err = probeRows(ctx, conn, c.Rows)
		return err
	})
	switch {
	case found != nil:
		return found
	case err != nil:
		return fmt.Errorf("%w (which row it was could not be found out: %w)", refused, err)
	}
	return refused
}

// probeRows is the first row that the server refuses, tried after those before it; nil when
// it refuses none. Nothing is kept.
func probeRows(ctx context.Context, db interface {
	Begin(ctx context.Context) (pgx.Tx, error)
}, rows []checkpoint.SinkRows) (*checkpoint.RowError, error) {
	tx, err := db.Begin(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }() // it was never to be kept
	if _, err := tx.Exec(ctx, "SET CONSTRAINTS ALL IMMEDIATE"); err != nil {
		return nil, err
	}
	for i := range rows {
		for k := range rows[i].Rows {
			err := tryRow(ctx, tx, &rows[i], k)
			if aboutValues(err) {
				return &checkpoint.RowError{Sink: i, Row: k, Code: rowCode(err), Err: err}, nil
			}
			if err != nil {
				return nil, err
			}
		}
	}
	return nil, nil
}

func tryRow(ctx context.Context, tx pgx.Tx, rows *checkpoint.SinkRows, k int) error {
	one := checkpoint.SinkRows{Table: rows.Table, Rows: rows.Rows[k : k+1]}
	s := &statement{}
	s.insertRows(&one.Table, groupRows(&one)[0], "")
	_, err := tx.Exec(ctx, s.text.String(), s.args...)
	return err
}

// aboutValues says that the server refused what was to be written: a data exception, a
// constraint, a trigger. Anything else is no row's fault.
func aboutValues(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (strings.HasPrefix(pg.Code, "22") || strings.HasPrefix(pg.Code, "23") ||
		strings.HasPrefix(pg.Code, "P0"))
}

// rowCode is the stable code of a refusal.
func rowCode(err error) string {
	pg, _ := errors.AsType[*pgconn.PgError](err)
	switch {
	case pg.Code == "23505":
		return "unique_violation"
	case pg.Code == "23502":
		return "null_violation"
	case pg.Code == "23503":
		return "foreign_key_violation"
	case pg.Code == "23514":
		return "check_violation"
	case strings.HasPrefix(pg.Code, "22"):
		return "bad_value"
	}
	return "row_refused"
}
