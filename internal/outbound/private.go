package outbound

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// PrivateError is the trouble of a connection of the daemon's configuration. It tells nothing of the address, and the
// same of one that is closed, one that is silent and one that refuses the user: authors read it.
type PrivateError struct {
	Name  string
	cause error // that a context has ended, if it has
}

func (e *PrivateError) Error() string {
	return fmt.Sprintf("the connection %s cannot be reached; the daemon's log says why", e.Name)
}

// Unwrap says that a context has ended, where that is what has happened.
func (e *PrivateError) Unwrap() error { return e.cause }

// As is the guard for a connection that the daemon's configuration names: it dials anything, under the bounds of all,
// and what goes wrong is told in the log and not in its errors.
func (g *Guard) As(name string) *Guard {
	named := g.Operators()
	if named != nil {
		named.name, named.told = name, &atomic.Int64{}
	}
	return named
}

// tellEvery is how often at most the log is told of the trouble of one connection.
const tellEvery = 10 * time.Second

// private tells the log of an error, and answers with what others may know of it.
func (g *Guard) private(err error) error {
	now, last := time.Now().UnixNano(), g.told.Load()
	due := last == 0 || now-last >= int64(tellEvery)
	if g.log != nil && due && !errors.Is(err, context.Canceled) && g.told.CompareAndSwap(last, now) {
		g.log.Warn("a connection of the configuration cannot be used", slog.String("connection", g.name),
			slog.Any("err", err))
	}
	hidden := &PrivateError{Name: g.name}
	for _, ended := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, ended) {
			hidden.cause = ended
		}
	}
	return hidden
}

// Hide is an error about a server that the guard has dialled, as it may be told to authors. What the server answers to
// a statement stays, for it is about that.
func (g *Guard) Hide(err error) error {
	if err == nil || g == nil || g.name == "" {
		return err
	}
	if hidden, ok := errors.AsType[*PrivateError](err); ok {
		return hidden
	}
	_, opening := errors.AsType[*pgconn.ConnectError](err)
	_, lost := errors.AsType[net.Error](err)
	_, strange := errors.AsType[*tls.CertificateVerificationError](err) // it has the names of both
	answer, _ := errors.AsType[*pgconn.PgError](err)
	if opening || lost || strange || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) ||
		answer != nil && (strings.HasPrefix(answer.Code, "28") || strings.HasPrefix(answer.Code, "3D")) {
		return g.private(err)
	}
	return err
}

// Explain is an error of the driver about a database for people, without user and password, and of one that has a
// name in the configuration without its address.
func (g *Guard) Explain(to *Database, doing string, err error) error {
	if g == nil || g.name == "" {
		return to.Explain(doing, err)
	}
	err = g.Hide(err)
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return fmt.Errorf("the connection %s answered: %s (SQLSTATE %s)", g.name, pg.Message, pg.Code)
	}
	if _, ok := errors.AsType[*PrivateError](err); ok {
		return err
	}
	return fmt.Errorf("%s the connection %s: %w", doing, g.name, onceError{err})
}
