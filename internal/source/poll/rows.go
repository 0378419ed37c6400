package poll

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/kind"
	"github.com/graphd/graphd/internal/outbound"
)

// Rows polls a statement of a database. It is an [accumulator.Source] and, where rows come
// after a column's value, an [accumulator.Seeker].
type Rows struct {
	cfg      rowsConfig
	open     func() reader
	maxBytes int
	guard    *outbound.Guard
	texts    map[string]bool // the columns that are text by the accumulator's schema
}

type rowsConfig struct {
	Declared
	statement statement
	number    int64 // the lookback, one of the two
	span      time.Duration
	parts     int // of the ledger
}

var (
	_ accumulator.Source   = (*Rows)(nil)
	_ accumulator.Seeker   = (*Rows)(nil)
	_ accumulator.Follower = (*Rows)(nil)
)

// newRows makes a source of what was declared, for an accumulator.
func newRows(c *Declared, in *kind.Input, guard *outbound.Guard, named outbound.Named, maxBytes int) (*Rows, error) {
	if guard == nil {
		return nil, errors.New("poll source: there is no guard to dial with")
	}
	conn, err := parseConnection(c.Connection)
	if err != nil {
		return nil, fmt.Errorf("poll source: %w", err)
	}
	if conn.name == "" {
		guard = guard.For(in.FromNetwork())
	} else {
		guard = guard.As(conn.name)
		if conn, err = conn.find(named); err != nil {
			return nil, fmt.Errorf("poll source: %w", err)
		}
	}
	s, problem := parseStatement(c.SQL, conn.sqlite())
	if problem != "" {
		return nil, fmt.Errorf("poll source: %s", problem)
	}
	r := &Rows{maxBytes: maxBytes, guard: guard, texts: textsOf(in.Schema)}
	r.cfg = rowsConfig{Declared: *c, statement: s, parts: wholeParts}
	r.cfg.number, r.cfg.span = c.lookback()
	if c.After != "" {
		r.cfg.parts = afterParts
	}
	if r.maxBytes == 0 {
		r.maxBytes = 8 << 20
	}
	r.open = func() reader { return newPostgres(&r.cfg, conn.to, guard) }
	if conn.sqlite() {
		file := in.Path(conn.path)
		r.open = func() reader { return &sqliteReader{cfg: &r.cfg, path: file, access: in.Access} }
	}
	return r, nil
}

// reader reads the rows of a statement. It belongs to one goroutine.
type reader interface {
	// read asks for at most so many rows from a bound on, in the order of their values, and
	// hands each to visit, in one transaction that reads. Errors are for people, and hold no
	// password. It ends when visit fails, with its error.
	read(ctx context.Context, from bound, limit int, visit func(*row) error) error
	// value is a value as bounds have it, of what a declaration or an operator says.
	value(text string) string
	close()
}

// row is a row as it was read.
type row struct {
	names  []string
	values []boundary.Value // text, where a column cannot be held as what it is
	bad    error            // why one of them cannot
	after  string           // the value of the column after
	fresh  bool             // that is greater than what was handed over
}

// textsOf are the columns that a JSON Schema says are text: JSON has no times, so theirs are
// handed over as text.
func textsOf(schema any) map[string]bool {
	texts := map[string]bool{}
	object, _ := schema.(map[string]any)
	properties, _ := object["properties"].(map[string]any)
	for name, p := range properties {
		property, _ := p.(map[string]any)
		texts[name] = property["type"] == "string"
	}
	return texts
}

// first is where a run without positions begins.
func (r *Rows) first(read reader) bound {
	if r.cfg.Start == "" {
		return bound{kind: nothing}
	}
	return bound{fromValue, read.value(r.cfg.Start)}
}

// Follows implements [accumulator.Follower]: a poll that finds no more rows has found all.
func (r *Rows) Follows() bool { return true }

// Run implements [accumulator.Source].
func (r *Rows) Run(ctx context.Context, from []boundary.Position, out accumulator.Out) error {
	run := &rowsRun{Rows: r, reader: r.open()}
	defer run.reader.close()
	run.ledger = newLedger(r.cfg.parts, r.first(run.reader))
	if err := run.ledger.restore(from); err != nil {
		return err
	}
	once := run.whole
	if r.cfg.After != "" {
		once = run.after
	}
	pace := &pacer{every: r.cfg.Every}
	run.live = func() { pace.succeeded(out) }
	return pace.run(ctx, out, once)
}

// Seek implements [accumulator.Seeker]. A position is a value of the column after: rows of
// that value on are read again.
func (r *Rows) Seek(ctx context.Context, position string) ([]boundary.Position, error) {
	if r.cfg.After == "" {
		return nil, errors.New("the whole result is polled: say start, and every row is an event again")
	}
	read := r.open()
	defer read.close()
	to := newLedger(r.cfg.parts, bound{fromValue, read.value(position)})
	if err := r.ask(ctx, read, to.bound, 1, func(*row) error { return nil }); err != nil {
		return nil, fmt.Errorf("say start, or a value of the column %s: %w", r.cfg.After, err)
	}
	return []boundary.Position{to.position("")}, nil
}

// ask reads within the timeout, as one of the daemon's calls. An error is a *failure, but for
// ctx's and visit's.
func (r *Rows) ask(ctx context.Context, read reader, from bound, limit int, visit func(*row) error) error {
	release, err := r.guard.Acquire(ctx)
	if err != nil {
		return err
	}
	defer release()
	within, cancel := context.WithTimeout(ctx, r.cfg.Timeout)
	defer cancel()
	visited := error(nil)
	err = read.read(within, from, limit, func(row *row) error {
		for i, v := range row.values {
			if v.Kind() == boundary.KindTime && r.texts[row.names[i]] {
				row.values[i] = boundary.String(strings.Trim(v.String(), `"`)) // as its JSON: the digest stays
			}
		}
		visited = visit(row)
		return visited
	})
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case visited != nil:
		return visited
	case errors.As(err, new(*outbound.PrivateError)): // in the same words, whether it is closed or silent
	case errors.Is(within.Err(), context.DeadlineExceeded):
		return &failure{text: fmt.Sprintf("the database did not answer within %v", r.cfg.Timeout)}
	}
	return &failure{text: err.Error()}
}

// maxResultBytes bounds what one poll holds in memory.
const maxResultBytes = 64 << 20

// change is a row to be handed over.
type change struct {
	id     string
	digest digest
	gone   bool // the row is not there any more
	value  boundary.Value
	raw    []byte
	bad    error
	after  string // becomes the greatest value; "" leaves it
}

// size is about how many bytes a change holds.
func (c *change) size() int { return len(c.raw) + c.value.Size() + len(c.id) + 128 }

// document is a row as an event: its value, and the JSON of it.
func (w *row) document() (boundary.Value, []byte) {
	b := boundary.Object(boundary.NewShape(w.names...), w.values)
	return b, b.AppendJSON(nil)
}

// keyOf is the row's key: the values of its columns.
func (w *row) keyOf(columns []string) ([]boundary.Value, error) {
	key := make([]boundary.Value, len(columns))
	for i, name := range columns {
		at := indexOf(w.names, name)
		if at < 0 {
			return nil, missing(name)
		}
		key[i] = w.values[at]
	}
	return key, nil
}

func missing(column string) error {
	return &failure{text: fmt.Sprintf("the statement has no column %q", column)}
}

func indexOf(names []string, name string) int {
	for i, n := range names {
		if n == name {
			return i
		}
	}
	return -1
}

// unique checks the names of a result's columns.
func unique(names []string) error {
	for i, name := range names {
		if indexOf(names[:i], name) >= 0 {
			return fmt.Errorf("two columns of the statement are named %q; give one another name with AS", name)
		}
	}
	return nil
}
