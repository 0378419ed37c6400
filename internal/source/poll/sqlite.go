package poll

import (
	"context"
	"database/sql/driver"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math"
	"net/url"
	"os"
	"strconv"
	"time"
	"unicode/utf8"

	"modernc.org/sqlite"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/policy"
)

// sqliteReader reads an SQLite file, which it opens for each poll: a file that is replaced is
// read anew, and nobody is kept from writing for longer than a poll takes.
//
// Its bounds have the type of the value before it: i42, t2026.
type sqliteReader struct {
	cfg    *rowsConfig
	path   string
	access *policy.Policy
}

func (s *sqliteReader) close() {}

func (s *sqliteReader) value(text string) string {
	if _, err := strconv.ParseInt(text, 10, 64); err == nil {
		return "i" + text
	}
	return "t" + text
}

func (s *sqliteReader) read(ctx context.Context, from bound, limit int, visit func(*row) error) (err error) {
	// The driver opens the file by its name: whether it may, and is a file at all, is found out before.
	switch f, err := s.access.Open(s.path); {
	case errors.Is(err, os.ErrNotExist):
		return errors.New("there is no file " + s.path)
	case err != nil:
		return err
	default:
		f.Close() // nothing was done with it
	}
	// Nothing is written, whatever the statement says, nor another file made.
	dsn := "file:" + (&url.URL{Path: s.path}).EscapedPath() + "?mode=ro&_query_only=1&_error_rc=1&_busy_timeout=" +
		strconv.FormatInt(min(s.cfg.Timeout.Milliseconds(), math.MaxInt32), 10)
	conn, err := (&sqlite.Driver{}).Open(dsn)
	if err != nil {
		return fmt.Errorf("open %s: %w", s.path, err)
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	queryer, ok := conn.(driver.QueryerContext)
	if !ok {
		return errors.New("the SQLite driver asks nothing")
	}
	if from.kind == fromValue {
		if err = s.begins(ctx, queryer, from); err != nil {
			return err
		}
	}
	text, args, err := s.question(from, limit)
	if err != nil {
		return err
	}
	answer, err := queryer.QueryContext(ctx, text, args)
	if err != nil {
		return fmt.Errorf("ask %s: %w", s.path, err)
	}
	err = s.rows(ctx, answer, visit)
	return errors.Join(err, answer.Close())
}

// begins looks whether the value to begin with can be one of the column: of integers and texts, all texts are the
// greater ones to SQLite, so that there would be no row for ever.
func (s *sqliteReader) begins(ctx context.Context, queryer driver.QueryerContext, from bound) (err error) {
	if from.value[0] != 't' {
		return nil
	}
	column := columnOf(s.cfg.After)
	text := "SELECT typeof(" + column + ") FROM (\n" + s.cfg.statement.text + "\n) AS q WHERE " + column +
		" IS NOT NULL LIMIT 1"
	answer, err := queryer.QueryContext(ctx, text, []driver.NamedValue{{Ordinal: 1, Value: from.value[1:]}})
	if err != nil {
		return fmt.Errorf("ask %s: %w", s.path, err)
	}
	defer func() { err = errors.Join(err, answer.Close()) }()
	first := make([]driver.Value, 1)
	switch err := answer.Next(first); {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return fmt.Errorf("ask %s: %w", s.path, err)
	}
	switch first[0] {
	case "integer":
		return fmt.Errorf("the column %q holds integers, and %q is text: give a whole number to begin with",
			s.cfg.After, from.value[1:])
	case "text":
		return nil
	}
	return s.unfollowed(first[0])
}

// unfollowed says that the column holds values of a type that has no order to follow.
func (s *sqliteReader) unfollowed(kind driver.Value) error {
	return fmt.Errorf("the column %q holds values of type %v; only integers and text can be followed",
		s.cfg.After, kind)
}

// question is what is asked, with its parameters.
func (s *sqliteReader) question(from bound, limit int) (text string, args []driver.NamedValue, err error) {
	if from.kind != nothing {
		var arg driver.Value = from.value[1:]
		if from.value[0] == 'i' {
			if arg, err = strconv.ParseInt(from.value[1:], 10, 64); err != nil {
				return "", nil, errPosition
			}
		} else if s.cfg.number > 0 && from.kind == handed {
			return "", nil, fmt.Errorf("the column %q holds text, which has no lookback but 0", s.cfg.After)
		}
		args = []driver.NamedValue{{Ordinal: 1, Value: arg}}
	}
	inner := " FROM (\n" + s.cfg.statement.text + "\n) AS q"
	if s.cfg.After == "" {
		return "SELECT q.*" + inner + " LIMIT " + strconv.Itoa(limit), args, nil
	}
	column := columnOf(s.cfg.After)
	fresh, where := "1", column+" IS NOT NULL"
	switch from.kind {
	case handed:
		fresh, where = column+" > ?1", column+" >= ?1"
		if s.cfg.number > 0 {
			where += " - " + strconv.FormatInt(s.cfg.number, 10)
		}
	case fromValue:
		where = column + " >= ?1"
	}
	order := column
	for _, k := range s.cfg.Key {
		order += ", " + columnOf(k)
	}
	return "SELECT q.*, typeof(" + column + "), CAST(" + column + " AS TEXT), " + fresh + inner + " WHERE " + where +
		" ORDER BY " + order + " LIMIT " + strconv.Itoa(limit), args, nil
}

// rows hands on the rows of an answer.
func (s *sqliteReader) rows(ctx context.Context, answer driver.Rows, visit func(*row) error) error {
	names := answer.Columns()
	raw := make([]driver.Value, len(names))
	if s.cfg.After != "" {
		names = names[:len(names)-3] // the last are the reader's own
	}
	if err := unique(names); err != nil {
		return err
	}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		switch err := answer.Next(raw); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("ask %s: %w", s.path, err)
		}
		w := row{names: names, values: make([]boundary.Value, len(names)), fresh: true}
		for i := range names {
			v, err := sqliteValue(raw[i])
			if err != nil {
				v, w.bad = boundary.String(fmt.Sprint(raw[i])), fmt.Errorf("the column %s: %w", names[i], err)
			}
			w.values[i] = v
		}
		if s.cfg.After != "" {
			if err := s.own(&w, raw[len(names):]); err != nil {
				return err
			}
		}
		if err := visit(&w); err != nil {
			return err
		}
	}
}

// own reads the columns that the reader has added.
func (s *sqliteReader) own(w *row, own []driver.Value) error {
	text, _ := own[1].(string)
	switch own[0] {
	case "integer":
		w.after = "i" + text
	case "text":
		w.after = "t" + text
	default:
		return s.unfollowed(own[0])
	}
	w.fresh = own[2] == int64(1)
	return nil
}

func sqliteValue(v driver.Value) (boundary.Value, error) {
	switch v := v.(type) {
	case nil:
		return boundary.Null(), nil
	case int64:
		return boundary.Int(v), nil
	case bool:
		return boundary.Bool(v), nil
	case float64:
		if math.IsInf(v, 0) || math.IsNaN(v) {
			return boundary.Value{}, errNotFinite
		}
		return boundary.Float(v), nil
	case []byte:
		return boundary.String(base64.StdEncoding.EncodeToString(v)), nil
	case time.Time:
		if !boundary.Holds(v) {
			return boundary.Value{}, boundary.ErrTimeRange
		}
		return boundary.Time(v.UTC()), nil
	case string:
		if !utf8.ValidString(v) {
			return boundary.Value{}, errText
		}
		return boundary.String(v), nil
	}
	return boundary.Value{}, fmt.Errorf("a value of type %T cannot be held", v)
}
