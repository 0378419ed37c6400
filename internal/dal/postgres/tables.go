package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/dal/postgres/wires"
	"github.com/graphd/graphd/internal/dal/rules"
	"github.com/graphd/graphd/internal/outbound"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	pgTable = `SELECT a.attname, a.attnotnull AND NOT a.atthasdef
		AND a.attidentity = '', a.attgenerated <> '' OR a.attidentity = 'a'
		FROM pg_attribute a WHERE a.attrelid = to_regclass($1) AND a.attnum > 0 AND NOT a.attisdropped
			ORDER BY a.attnum`
	pgMayWrite = `SELECT has_table_privilege(to_regclass($1), 'INSERT') AND (NOT $2 OR ` +
		`has_table_privilege(to_regclass($1), 'UPDATE'))`
	// The columns of the unique indexes that can say which row is replaced.
	pgUnique = `SELECT ARRAY (SELECT a.attname::text FROM pg_attribute a WHERE a.attrelid = i.indrelid
		AND a.attnum = ANY (i.indkey[0:i.indnkeyatts - 1]))
		FROM pg_index i WHERE i.indrelid = to_regclass($1) AND i.indisunique AND i.indpred IS NULL
			AND i.indexprs IS NULL AND i.indisvalid`
)

// TableError says why rows of an output can not go to a table as it is now.
type TableError struct {
	Table, Text string
}

func (e *TableError) Error() string { return fmt.Sprintf("table %s: %s", e.Table, e.Text) }

// tableQuery is what looking at a table needs: a pool, or a connection.
type tableQuery interface {
	Query(ctx context.Context, text string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, text string, args ...any) pgx.Row
}

// checkTable answers the columns that rows for t have: t's, or where it names none, those of
// the live table that can be written. The error is a *TableError when the table does not fit.
func checkTable(ctx context.Context, q tableQuery, t *checkpoint.Table) (columns []string, err error) {
	name := TableName(t.Name).Sanitize()
	refuse := func(format string, args ...any) error { return &TableError{t.Name, fmt.Sprintf(format, args...)} }
	var all, needed []string
	rows, err := q.Query(ctx, pgTable, name)
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
	if err := q.QueryRow(ctx, pgMayWrite, name, t.Upsert).Scan(&may); err != nil {
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
func checkConflict(ctx context.Context, q tableQuery, t *checkpoint.Table, refuse func(string, ...any) error) error {
	rows, err := q.Query(ctx, pgUnique, TableName(t.Name).Sanitize())
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

// Columns checks that rows of t can go to its table in the store's database, and answers
// which columns they have. The error is a *TableError when they can not.
func (p *Store) Columns(ctx context.Context, t checkpoint.Table) (columns []string, err error) {
	err = p.on(ctx, p.control, func(ctx context.Context, c *pgxpool.Conn) (err error) {
		columns, err = checkTable(ctx, c, &t)
		return err
	})
	return columns, rules.Wrap(err, "look at table %s", t.Name)
}

// Tables writes rows to the tables of a database that is not the store's. Safe for concurrent use.
type Tables struct {
	pool  *pgxpool.Pool
	guard *outbound.Guard
}

// tablesConns is one for a delivery and one to look at the table.
const tablesConns = 2

// OpenTables makes a writer for a database that a declaration names; connections are opened when
// they are needed, by the guard. No error shows the password.
func OpenTables(ctx context.Context, to *outbound.Database, guard *outbound.Guard) (*Tables, error) {
	cfg, err := pgxpool.ParseConfig(to.Text("graphd sink"))
	if err != nil {
		return nil, outbound.ErrSettings
	}
	to.Confine(&cfg.ConnConfig.Config, guard)
	cfg.MaxConns = tablesConns
	cfg.ConnConfig.ConnectTimeout = 5 * time.Second
	cfg.PingTimeout = pingTimeout
	dial := cfg.ConnConfig.DialFunc
	cfg.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err == nil {
			err = givesUp(conn, network, address)
		}
		if err != nil && conn != nil {
			err = errors.Join(err, conn.Close())
		}
		return conn, err
	}
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return &Tables{pool, guard}, nil
}

// givesUp has the kernel give a connection up whose other side does not answer any more.
func givesUp(conn net.Conn, network, address string) error {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return nil
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return err
	}
	return errors.Join(tcp.SetKeepAlivePeriod(5*time.Second), wires.UserTimeout(callTimeout)(network, address, raw))
}

// Close ends the connections.
func (t *Tables) Close() { t.pool.Close() }

// Columns is [Store.Columns] for this database.
func (t *Tables) Columns(ctx context.Context, table checkpoint.Table) ([]string, error) {
	columns, err := checkTable(ctx, t.pool, &table)
	err = t.guard.Hide(err)
	return columns, rules.Wrap(explain(causeOf(ctx, err)), "look at table %s", table.Name)
}

// Write writes rows as a whole or not at all. The error is a *checkpoint.RowError when one of
// them was refused for good; after any other it is not known whether they were written.
func (t *Tables) Write(ctx context.Context, rows *checkpoint.SinkRows) error {
	err := t.guard.Hide(t.write(ctx, rows))
	if !aboutValues(err) {
		return rules.Wrap(explain(causeOf(ctx, err)), "write to table %s", rows.Table.Name)
	}
	found, probeErr := probeRows(ctx, t.pool, []checkpoint.SinkRows{*rows})
	if found != nil {
		return found
	}
	return rules.Wrap(errors.Join(err, t.guard.Hide(probeErr)), "write to table %s", rows.Table.Name)
}

func (t *Tables) write(ctx context.Context, rows *checkpoint.SinkRows) error {
	var parts []*statement
	for _, g := range groupRows(rows) {
		s := &statement{}
		s.insertRows(&rows.Table, g, "")
		parts = append(parts, s)
	}
	if len(parts) == 1 {
		_, err := t.pool.Exec(ctx, parts[0].text.String(), parts[0].args...)
		return err
	}
	// Several statements in one message are one transaction.
	batch := &pgx.Batch{}
	for _, s := range parts {
		batch.Queue(s.text.String(), s.args...)
	}
	return t.pool.SendBatch(ctx, batch).Close()
}
