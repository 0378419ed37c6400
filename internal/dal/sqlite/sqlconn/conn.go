// Package sqlconn is one connection to an SQLite file, without database/sql in between:
// a commit of ten thousand cells is ten thousand statements, which this halves in
// cost, and it settles what a cancelled context does. No statement is interrupted on
// the way, for SQLite would roll back the whole transaction; callers look at their
// context between statements and between rows instead.
package sqlconn

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"

	"modernc.org/sqlite"
)

// Conn is one connection. It is not safe for concurrent use.
type Conn struct {
	raw   driver.Conn
	stmts map[string]preparedStatement // by text; all texts are constants
	args  []driver.NamedValue          // reused
}

type preparedStatement interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// Open opens the file, which must exist, and runs the pragmas.
func Open(path, pragmas string) (*Conn, error) { return connect(path, "mode=rw", pragmas) }

// OpenToRead opens the file, which must exist, and changes nothing of it. It may be in use by another process.
func OpenToRead(path string) (*Conn, error) {
	mode := "mode=ro"
	if log, err := os.Stat(path + "-wal"); err != nil || log.Size() == 0 {
		mode += "&immutable=1" // everything is in the file: no log and no index of one has to be made to read it
	}
	return connect(path, mode, "PRAGMA query_only = ON; PRAGMA trusted_schema = OFF; PRAGMA busy_timeout = 5000")
}

func connect(path, mode, pragmas string) (*Conn, error) {
	// A path may hold any character; in a URI '?', '#' and '%' must be escaped.
	dsn := "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + mode + "&_error_rc=1"
	raw, err := (&sqlite.Driver{}).Open(dsn)
	if err != nil {
		return nil, err
	}
	c := &Conn{raw: raw, stmts: map[string]preparedStatement{}}
	if err := c.Script(pragmas); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// Script runs any number of statements that are used once.
func (c *Conn) Script(text string) error {
	execer, ok := c.raw.(driver.ExecerContext)
	if !ok {
		return errors.New("the SQLite driver runs no scripts")
	}
	_, err := execer.ExecContext(context.Background(), text, nil)
	return err
}

// Exec runs one statement and says how many rows it changed.
func (c *Conn) Exec(text string, args ...any) (int64, error) {
	s, err := c.prepare(text)
	if err != nil {
		return 0, err
	}
	result, err := s.ExecContext(context.Background(), c.bind(args))
	clear(c.args) // a cell may be large: do not hold on to it
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// Row is one row of an answer. The columns' types are those of the schema, which is
// strict. Blobs and texts are copies that nobody else holds.
type Row []driver.Value

// Int is an integer column.
func (r Row) Int(i int) int64 {
	n, _ := r[i].(int64)
	return n
}

// Text is a text column.
func (r Row) Text(i int) string {
	s, _ := r[i].(string)
	return s
}

// Blob is never nil.
func (r Row) Blob(i int) []byte {
	if b, _ := r[i].([]byte); b != nil {
		return b
	}
	return []byte{}
}

// Query runs one statement and hands its rows to visit, until visit or ctx ends it.
// A row is valid during its visit; what its blobs and texts hold stays.
func (c *Conn) Query(ctx context.Context, text string, visit func(Row) error, args ...any) (err error) {
	s, err := c.prepare(text)
	if err != nil {
		return err
	}
	rows, err := s.QueryContext(context.Background(), c.bind(args))
	clear(c.args)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	values := make(Row, len(rows.Columns()))
	for {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		switch err := rows.Next(values); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if err := visit(values); err != nil {
			return err
		}
	}
}

// First is the first row of an answer, or nil. The statement runs to its end.
func (c *Conn) First(text string, args ...any) (Row, error) {
	var found Row
	err := c.Query(context.Background(), text, func(r Row) error {
		if found == nil {
			found = append(Row(nil), r...)
		}
		return nil
	}, args...)
	return found, err
}

func (c *Conn) prepare(text string) (preparedStatement, error) {
	if s := c.stmts[text]; s != nil {
		return s, nil
	}
	raw, err := c.raw.Prepare(text)
	if err != nil {
		return nil, err
	}
	s, ok := raw.(preparedStatement)
	if !ok {
		return nil, fmt.Errorf("the SQLite driver's statements are %T", raw)
	}
	c.stmts[text] = s
	return s, nil
}

// bind makes the driver's form of arguments, which must be int64, string or []byte. The
// driver copies them before it returns.
func (c *Conn) bind(args []any) []driver.NamedValue {
	c.args = c.args[:0]
	for i, a := range args {
		c.args = append(c.args, driver.NamedValue{Ordinal: i + 1, Value: a})
	}
	return c.args
}

// Close ends the connection; a transaction still open is rolled back.
func (c *Conn) Close() error {
	var errs []error
	for _, s := range c.stmts {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, c.raw.Close())...)
}
