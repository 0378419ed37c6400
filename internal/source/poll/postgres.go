package poll

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/outbound"
)

// postgresReader reads from Postgres. It keeps its connection between polls, and makes a new
// one after any error.
type postgresReader struct {
	cfg   *rowsConfig
	to    *outbound.Database
	guard *outbound.Guard
	types *pgtype.Map

	conn  *pgconn.PgConn // nil: not connected
	after *afterType     // of the column after; nil until it was looked at
}

func newPostgres(cfg *rowsConfig, to *outbound.Database, guard *outbound.Guard) *postgresReader {
	return &postgresReader{cfg: cfg, to: to, guard: guard, types: pgtype.NewMap()}
}

func (p *postgresReader) value(text string) string { return text }

// closeTimeout bounds how long a connection may take to end.
const closeTimeout = 2 * time.Second

func (p *postgresReader) close() {
	if p.conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	_ = p.conn.Close(ctx) // what it read was handed over or is read again
	select {
	case <-p.conn.CleanupDone():
	case <-ctx.Done():
	}
	p.conn, p.after = nil, nil
}

// settings are the driver's.
func (p *postgresReader) settings() (*pgconn.Config, error) {
	cfg, err := p.to.Settings("graphd", p.guard)
	if err != nil {
		return nil, err
	}
	cfg.ConnectTimeout = p.cfg.Timeout
	cfg.BuildFrontend = func(r io.Reader, w io.Writer) *pgproto3.Frontend {
		f := pgproto3.NewFrontend(r, w)
		f.SetMaxBodyLen(maxResultBytes)
		return f
	}
	return cfg, nil
}

func (p *postgresReader) read(ctx context.Context, from bound, limit int, visit func(*row) error) error {
	err := p.try(ctx, from, limit, visit)
	if err != nil {
		p.close()
	}
	return err
}

func (p *postgresReader) try(ctx context.Context, from bound, limit int, visit func(*row) error) error {
	if p.conn == nil {
		cfg, err := p.settings()
		if err != nil {
			return err
		}
		if p.conn, err = pgconn.ConnectConfig(ctx, cfg); err != nil {
			p.conn = nil
			return p.guard.Explain(p.to, "connect to", err)
		}
	}
	if err := p.conn.Exec(ctx, p.begin()).Close(); err != nil {
		return p.guard.Explain(p.to, "ask", err)
	}
	if p.cfg.After != "" && p.after == nil {
		if err := p.look(ctx); err != nil {
			return err
		}
	}
	text, args := p.question(from, limit)
	answer := p.conn.ExecParams(ctx, text, args, nil, nil, nil)
	if err := p.rows(answer, visit); err != nil {
		return err // the connection ends with the rest of the answer
	}
	if _, err := answer.Close(); err != nil {
		return p.guard.Explain(p.to, "ask", err)
	}
	if err := p.conn.Exec(ctx, "ROLLBACK").Close(); err != nil {
		return p.guard.Explain(p.to, "ask", err)
	}
	if p.cfg.Every > keepIdle {
		p.close()
	}
	return nil
}

// keepIdle is how long a connection is kept without use: a gateway on the way may forget one
// that is idle for long.
const keepIdle = 30 * time.Second

// begin begins a transaction that reads, in which values are written in one way. The server
// gives up a little before graphd does.
func (p *postgresReader) begin() string {
	ms := strconv.FormatInt(max(1, p.cfg.Timeout.Milliseconds()*9/10), 10)
	return "BEGIN READ ONLY; SET LOCAL statement_timeout = " + ms + "; SET LOCAL lock_timeout = " + ms +
		"; SET LOCAL idle_in_transaction_session_timeout = " + ms +
		"; SET LOCAL TimeZone = 'UTC'; SET LOCAL DateStyle = 'ISO, MDY'; SET LOCAL IntervalStyle = 'iso_8601'" +
		"; SET LOCAL bytea_output = 'hex'; SET LOCAL extra_float_digits = 3; SET LOCAL client_encoding = 'UTF8'" +
		"; SET LOCAL standard_conforming_strings = on"
}

// afterType is a type of columns whose values can be followed.
type afterType struct {
	name  string
	times bool   // a lookback is a time
	none  bool   // there is no lookback but 0
	skip  string // a condition on values that are greater than all others and mean nothing; "" for none
}

func afterTypeOf(oid uint32) *afterType {
	const finite, number = "isfinite(%s)", "%s::text NOT IN ('NaN', 'Infinity', '-Infinity')"
	switch oid {
	case pgtype.Int2OID, pgtype.Int4OID, pgtype.Int8OID:
		return &afterType{name: "bigint"}
	case pgtype.NumericOID:
		return &afterType{name: "numeric", skip: number}
	case pgtype.DateOID:
		return &afterType{name: "date", times: true, skip: finite}
	case pgtype.TimestampOID:
		return &afterType{name: "timestamp", times: true, skip: finite}
	case pgtype.TimestamptzOID:
		return &afterType{name: "timestamptz", times: true, skip: finite}
	case pgtype.TextOID, pgtype.VarcharOID:
		return &afterType{name: "text", none: true}
	case pgtype.UUIDOID:
		return &afterType{name: "uuid", none: true}
	}
	return nil
}

// look finds the type of the column after.
func (p *postgresReader) look(ctx context.Context) error {
	d, err := p.conn.Prepare(ctx, "", "SELECT q.* FROM (\n"+p.cfg.statement.text+"\n) AS q", nil)
	if err != nil {
		return p.guard.Explain(p.to, "ask", err)
	}
	for _, f := range d.Fields {
		if f.Name != p.cfg.After {
			continue
		}
		t := afterTypeOf(f.DataTypeOID)
		switch {
		case t == nil:
			return fmt.Errorf("the column %q has a type that cannot be followed: it is none of integers, numeric, "+
				"date, timestamps, text and uuid", f.Name)
		case t.none && (p.cfg.number > 0 || p.cfg.span > 0):
			return fmt.Errorf("the column %q is %s, which has no lookback but 0", f.Name, t.name)
		case t.times && p.cfg.number > 0:
			return fmt.Errorf("the column %q is a %s: give lookback as a duration", f.Name, t.name)
		case !t.times && p.cfg.span > 0:
			return fmt.Errorf("the column %q is a %s: give lookback as a number", f.Name, t.name)
		}
		p.after = t
		return nil
	}
	return missing(p.cfg.After)
}

// question is what is asked, with its parameters. The statement stands in parentheses, which
// take no second one and none that writes.
func (p *postgresReader) question(from bound, limit int) (text string, args [][]byte) {
	if from.kind != nothing {
		args = [][]byte{[]byte(from.value)}
	}
	inner := " FROM (\n" + p.cfg.statement.text + "\n) AS q"
	if p.cfg.After == "" {
		return "SELECT q.*" + inner + " LIMIT " + strconv.Itoa(limit), args
	}
	column := columnOf(p.cfg.After)
	parameter, fresh, where := "$1::"+p.after.name, "true", column+" IS NOT NULL"
	switch from.kind {
	case handed:
		fresh = column + " > " + parameter
		where = column + " >= " + parameter
		if p.cfg.span > 0 {
			where += " - interval '" + strconv.FormatInt(p.cfg.span.Microseconds(), 10) + " microseconds'"
		} else if p.cfg.number > 0 {
			where += " - " + strconv.FormatInt(p.cfg.number, 10)
		}
	case fromValue:
		where = column + " >= " + parameter
	}
	if p.after.skip != "" {
		where += " AND " + fmt.Sprintf(p.after.skip, column)
	}
	order := column
	for _, k := range p.cfg.Key {
		order += ", " + columnOf(k)
	}
	return "SELECT q.*, " + column + "::text, " + fresh + inner + " WHERE " + where + " ORDER BY " + order +
		" LIMIT " + strconv.Itoa(limit), args
}

// rows hands on the rows of an answer.
func (p *postgresReader) rows(answer *pgconn.ResultReader, visit func(*row) error) error {
	var names []string
	fields := answer.FieldDescriptions()
	own := 0 // the last columns are the reader's own
	if p.cfg.After != "" {
		own = 2
	}
	for answer.NextRow() {
		values := answer.Values()
		n := len(values) - own
		if names == nil {
			names = make([]string, n)
			for i := range names {
				names[i] = fields[i].Name
			}
			if err := unique(names); err != nil {
				return err
			}
		}
		w := row{names: names, values: make([]boundary.Value, n), fresh: true}
		for i := range w.values {
			v, err := postgresValue(p.types, fields[i].DataTypeOID, values[i])
			if err != nil {
				v = boundary.String(strings.ToValidUTF8(string(values[i]), "\uFFFD"))
				w.bad = errors.Join(w.bad, fmt.Errorf("the column %s: %w", names[i], err))
			}
			w.values[i] = v
		}
		if own > 0 {
			w.after, w.fresh = string(values[n]), string(values[n+1]) == "t"
		}
		if err := visit(&w); err != nil {
			return err
		}
	}
	return nil // what ended it, Close tells
}
