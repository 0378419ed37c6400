// Package postgres is the sink postgres: it writes each value as a row of a table.
//
// Where the table is in the store's own database, the rows travel in the statement that
// commits the state (M30, co-transaction): [Rows] makes them, and never delivers. In any other
// database a [Sink] writes what an outbox hands it, a batch in one transaction; after a crash
// a batch may come again, which an upsert does not mind.
//
// A value is an object, and each column takes the field of its name; a field that is not
// there is the column's default. With one column, any other value is that column's.
//
// The package starts no goroutine but those of the connection pool, which Close ends.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
	dalpostgres "github.com/graphd/graphd/internal/dal/postgres"
	"github.com/graphd/graphd/internal/outbound"
	"github.com/graphd/graphd/internal/sink"
)

// Config says where rows go.
type Config struct {
	Output string
	Table  string
	// Columns are those that rows have; nil takes them from the table.
	Columns []string
	// Conflict are the columns by which a row replaces another; nil inserts.
	Conflict []string
}

// Target is the table as the store and the sinks know it.
func (c *Config) Target() checkpoint.Table {
	return checkpoint.Table{Output: c.Output, Name: c.Table, Columns: c.Columns, Upsert: c.Conflict != nil,
		Conflict: c.Conflict}
}

// maker makes rows of values.
type maker struct {
	table checkpoint.Table
	// open says that the columns are the table's: a field that is none of them is a mistake,
	// where columns that were declared are a choice.
	open bool
}

func (k *maker) row(v boundary.Value) ([]boundary.Value, error) {
	columns := k.table.Columns
	row := make([]boundary.Value, len(columns))
	if v.Kind() != boundary.KindObject {
		if len(columns) != 1 {
			return nil,
				fmt.Errorf(
					"not_an_object: table %s has %d columns, and the value is a %s: emit an object with their fields",
					k.table.Name, len(columns), v.Kind())
		}
		row[0] = v
		return row, nil
	}
	if k.open {
		for name := range v.Fields() {
			if !slices.Contains(columns, name) {
				return nil,
					fmt.Errorf("unknown_column: table %s has no column %q; leave the field out, or name the columns "+
						"in the sink", k.table.Name, name)
			}
		}
	}
	for i, name := range columns {
		row[i] = v.Field(name)
	}
	return row, nil
}

// permanent gives a row's error the form in which sinks refuse a message.
func permanent(index int, code string, err error) error {
	return &sink.PermanentError{Index: index, Code: code, Err: err}
}

// rowRefused is the code of a value that makes no row.
const rowRefused = "bad_row"

// Rows makes rows for the commits of the store. It is a [sink.RowSink].
type Rows struct{ maker }

// NewRows makes rows with these columns, which the table is known to have.
func NewRows(c Config, columns []string) *Rows {
	open := c.Columns == nil
	c.Columns = columns
	return &Rows{maker{c.Target(), open}}
}

// Table is where the rows go.
func (r *Rows) Table() checkpoint.Table { return r.table }

// Row is m as a row.
func (r *Rows) Row(m *sink.Message) ([]boundary.Value, error) {
	row, err := r.row(m.Value)
	if err != nil {
		return nil, permanent(0, rowRefused, err)
	}
	return row, nil
}

// Deliver is never called: the commits carry the rows.
func (r *Rows) Deliver(context.Context, []sink.Message) error {
	return errors.New(
		"rows of the store's own database travel with its commits, and were delivered apart: this is a bug")
}

// Close has nothing to close.
func (r *Rows) Close(context.Context) error { return nil }

// Sink writes rows to another database than the store's.
type Sink struct {
	cfg    Config
	tables *dalpostgres.Tables
	maker  *maker // nil until the table's columns are known
}

// Open makes a sink whose connections the guard dials; it connects with the first delivery.
func Open(ctx context.Context, c Config, dsn string, guard *outbound.Guard) (*Sink, error) {
	if guard == nil {
		return nil, errors.New("postgres sink: there is no guard to dial with")
	}
	to, err := outbound.ParseDatabase(dsn)
	if err == nil {
		err = to.Usable(guard)
	}
	if err != nil {
		return nil, err
	}
	tables, err := dalpostgres.OpenTables(ctx, to, guard)
	if err != nil {
		return nil, err
	}
	return &Sink{cfg: c, tables: tables}, nil
}

// Check answers whether the table fits.
func (s *Sink) Check(ctx context.Context) error {
	_, err := s.tables.Columns(ctx, s.cfg.Target())
	return err
}

// Deliver writes the batch in one transaction. The first row that is refused for good is
// named after those before it are written.
func (s *Sink) Deliver(ctx context.Context, batch []sink.Message) error {
	if s.maker == nil {
		columns, err := s.tables.Columns(ctx, s.cfg.Target())
		if err != nil {
			return err
		}
		s.maker = &NewRows(s.cfg, columns).maker
	}
	rows := checkpoint.SinkRows{Table: s.maker.table, Rows: make([][]boundary.Value, 0, len(batch))}
	var refused error
	for i := range batch {
		row, err := s.maker.row(batch[i].Value)
		if err != nil {
			refused = permanent(i, rowRefused, err)
			break
		}
		rows.Rows = append(rows.Rows, row)
	}
	if err := s.write(ctx, &rows); err != nil {
		return err
	}
	return refused
}

func (s *Sink) write(ctx context.Context, rows *checkpoint.SinkRows) error {
	if len(rows.Rows) == 0 {
		return nil
	}
	err := s.tables.Write(ctx, rows)
	row, ok := errors.AsType[*checkpoint.RowError](err)
	if !ok {
		return err
	}
	before := checkpoint.SinkRows{Table: rows.Table, Rows: rows.Rows[:row.Row]}
	if len(before.Rows) > 0 {
		if err := s.tables.Write(ctx, &before); err != nil {
			return err
		}
	}
	return permanent(row.Row, row.Code, row.Err)
}

// Close ends the connections.
func (s *Sink) Close(context.Context) error {
	s.tables.Close()
	return nil
}
