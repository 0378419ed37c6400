package postgres

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/dal/postgres/tables"
	"github.com/graphd/graphd/internal/dal/postgres/wires"
	"github.com/graphd/graphd/internal/dal/rules"
	"github.com/graphd/graphd/internal/outbound"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Columns checks that rows of t can go to its table in the store's database, and answers
// which columns they have. Calls of one moment share an answer. The error is a *tables.Error when they can not.
func (p *Store) Columns(ctx context.Context, t checkpoint.Table) (columns []string, err error) {
	columns, err = p.looks.Columns(ctx, &t, func(ctx context.Context) (columns []string, err error) {
		err = p.on(ctx, p.control, func(ctx context.Context, c *pgxpool.Conn) (err error) {
			columns, err = tables.Columns(ctx, c, &t)
			return err
		})
		return columns, err
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
	columns, err := tables.Columns(ctx, t.pool, &table)
	err = t.guard.Hide(err)
	return columns, rules.Wrap(explain(wires.CauseOf(ctx, err)), "look at table %s", table.Name)
}

// Write writes rows as a whole or not at all. The error is a *checkpoint.RowError when one of
// them was refused for good; after any other it is not known whether they were written.
func (t *Tables) Write(ctx context.Context, rows *checkpoint.SinkRows) error {
	err := t.guard.Hide(t.write(ctx, rows))
	if !aboutValues(err) {
		return rules.Wrap(explain(wires.CauseOf(ctx, err)), "write to table %s", rows.Table.Name)
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
