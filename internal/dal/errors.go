package dal

import (
	"errors"
	"fmt"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Errors of opening and using a store, beside those of package checkpoint. All are
// wrapped; use errors.Is.
var (
	// ErrNewerSchema says that a newer release has migrated the file. Nothing was changed;
	// a person must act, so the daemon ends with exit code 78.
	ErrNewerSchema = errors.New("store was written by a newer release")
	// ErrCorrupt says that the file is not a store, or is damaged. When opening, a person
	// must act, so the daemon ends with exit code 78; from Acquire or Load, one graph's
	// state is damaged and the others go on.
	ErrCorrupt = errors.New("store is damaged")
	// ErrClosed says that the store has been closed.
	ErrClosed = errors.New("store is closed")
)

// refusal is the answer of a write that looked and changed nothing: fenced, in
// conflict, not found. The transaction it ran in may go on with other requests.
type refusal struct{ err error }

func (r *refusal) Error() string { return r.err.Error() }
func (r *refusal) Unwrap() error { return r.err }

func refuse(format string, args ...any) error {
	return &refusal{fmt.Errorf(format, args...)}
}

// explain adds what to do to the errors of SQLite that an operator can act on, and
// puts damage in the class of ErrCorrupt.
func explain(err error) error {
	se, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return err
	}
	// The low byte is the class; the rest says which call it was.
	switch se.Code() & 0xff {
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return fmt.Errorf("%w: %w; restore the file from a backup, or move it away to start empty", ErrCorrupt, err)
	case sqlite3.SQLITE_FULL:
		return fmt.Errorf("%w; nothing was written: free space on the store's disk", err)
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return fmt.Errorf("%w; another program holds the store's file: end what reads or writes it", err)
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_AUTH:
		return fmt.Errorf("%w; the store's file and its directory must be writable", err)
	}
	return err
}
