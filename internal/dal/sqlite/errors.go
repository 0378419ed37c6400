package sqlite

import (
	"errors"
	"fmt"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/graphd/graphd/internal/checkpoint"
)

// explain adds what to do to the errors of SQLite that an operator can act on, and
// puts damage in the class of checkpoint.ErrCorrupt.
func explain(err error) error {
	se, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return err
	}
	// The low byte is the class; the rest says which call it was.
	switch se.Code() & 0xff {
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return fmt.Errorf("%w: %w; restore the file from a backup, or move it away to start empty",
			checkpoint.ErrCorrupt, err)
	case sqlite3.SQLITE_FULL:
		return fmt.Errorf("%w; nothing was written: free space on the store's disk", err)
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return fmt.Errorf("%w; another program holds the store's file: end what reads or writes it", err)
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_AUTH:
		return fmt.Errorf("%w; the store's file and its directory must be writable", err)
	}
	return err
}
