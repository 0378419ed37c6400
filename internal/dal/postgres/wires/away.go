package wires

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/jackc/pgx/v5/pgconn"
)

// An awayError is of a database that is away, in words that whoever may read a graph may read: without the database's
// address, name and user.
type awayError struct {
	text  string
	cause error
}

func (e *awayError) Error() string { return e.text }

func (e *awayError) Unwrap() error { return e.cause }

// Away says why the database is away to the operator, who may know where it is.
type Away struct {
	// Log is told it; nil says nothing.
	Log *slog.Logger
	// slow and gone are when each was said last, in Unix nanoseconds.
	slow, gone atomic.Int64
}

// awayEvery is how often it is said: every call fails of it.
const awayEvery = 10 * time.Second

// Hide logs an error of a database that is away, and returns it for the others. Other errors it returns as they are.
func (l *Away) Hide(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	pg, answered := errors.AsType[*pgconn.PgError](err)
	if answered && pg.SeverityUnlocalized == "ERROR" && context.Cause(ctx) == nil {
		return err
	}
	gone := errors.Is(err, checkpoint.ErrUnreachable)
	if !gone && !errors.Is(err, checkpoint.ErrSlow) && !IsDead(err) {
		return err
	}
	cause := context.Cause(ctx)
	if cause != nil && !errors.Is(cause, checkpoint.ErrSlow) { // the call was ended, and not by the database
		return &awayError{text: cause.Error(), cause: err}
	}
	text, said := checkpoint.ErrUnreachable.Error()+"; the daemon's log says why", &l.gone
	switch {
	case cause != nil:
		text, said = cause.Error(), &l.slow
	case !gone:
		err = fmt.Errorf("%w: %w", checkpoint.ErrUnreachable, err)
	}
	if errors.Is(err, checkpoint.ErrUnknownOutcome) {
		text = checkpoint.ErrUnknownOutcome.Error() + ": " + text
	}
	now, last := time.Now().UnixNano(), said.Load()
	if l.Log != nil && now-last >= int64(awayEvery) && said.CompareAndSwap(last, now) {
		l.Log.Warn("the database does not answer", "err", err)
	}
	return &awayError{text: text, cause: err}
}

// IsDead says that a connection was ended under a statement, by the server or on the way.
func IsDead(err error) bool {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pg.SeverityUnlocalized == "FATAL" || pg.Severity == "FATAL"
	}
	_, ok := errors.AsType[net.Error](err)
	return ok || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || pgconn.SafeToRetry(err)
}

// CauseOf puts the reason why a context has ended into the error of a call that ended with it.
func CauseOf(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	if err == nil || cause == nil || errors.Is(err, cause) {
		return err
	}
	return fmt.Errorf("%w: %w", cause, err)
}
