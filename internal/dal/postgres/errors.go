package postgres

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/puddle/v2"
)

// explain adds what to do to the errors that an operator can act on.
func explain(err error) error {
	if errors.Is(err, puddle.ErrClosedPool) {
		return checkpoint.ErrClosed
	}
	pg, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return err
	}
	switch pg.Code {
	case "53100":
		return fmt.Errorf("%w; nothing was written: free space on the database's disk", err)
	case "53300":
		return fmt.Errorf("%w; raise max_connections of the database, or lower pool_max_conns", err)
	case "55P03":
		return fmt.Errorf("%w: %w; nothing was written: somebody has locked what is to be changed, look at pg_locks",
			checkpoint.ErrSlow, err)
	case "57014":
		return fmt.Errorf("%w; the statement ran into statement_timeout: look at the database's load", err)
	case "28P01", "28000", "3D000":
		return fmt.Errorf("%w; check user, password and database of the store's address", err)
	case "42501":
		return fmt.Errorf("%w; an administrator makes the store's schema for its user: CREATE SCHEMA graphd "+
			"AUTHORIZATION \"USER\"; or runs what graphd migrate --dry-run shows and grants it the tables", err)
	case "25006":
		return fmt.Errorf("%w; the address leads to a read-only standby: name the primary", err)
	case "XX001", "XX002":
		return fmt.Errorf("%w: %w; restore the database from a backup", checkpoint.ErrCorrupt, err)
	}
	return err
}

// outcomeOf tells an error after which nothing was applied from one that says nothing. Only
// two are sure: nothing was sent, or the server answered that it undid the statement. A FATAL
// is neither: it may follow a commit that has happened.
func outcomeOf(err error) error {
	if err == nil || pgconn.SafeToRetry(err) {
		return err
	}
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok && (pg.SeverityUnlocalized == "ERROR" ||
		pg.SeverityUnlocalized == "" && pg.Severity == "ERROR") {
		return err
	}
	return fmt.Errorf("%w: %w", checkpoint.ErrUnknownOutcome, err)
}

// storable is text that Postgres can hold: valid UTF-8 without a zero byte. It is for what
// people read; names are refused instead.
func storable(text string) string {
	if utf8.ValidString(text) && !strings.Contains(text, "\x00") {
		return text
	}
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}

// namesNothing says that nothing in the store can have this name.
func namesNothing(name string) bool { return storable(name) != name }
