package sqlite

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/graphd/graphd/internal/dal/rules"
	"github.com/graphd/graphd/internal/dal/sqlite/sqlconn"
)

// Backup writes the store as of one moment to a new file at path, while it is in use: one
// long read, which holds no write up. The copy is compact, has been through fsync, and is a
// store like any other: a daemon opens it when it is put in the place of the original. A
// backup that fails leaves no file behind.
func (s *Store) Backup(ctx context.Context, path string) error {
	err := s.backup(ctx, path)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		_ = os.Remove(path) // half of a copy; a full disk is no place for it
	}
	return rules.Wrap(err, "back the store up to %s", path)
}

func (s *Store) backup(ctx context.Context, path string) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600) // VACUUM INTO takes an empty file
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	// A connection of its own: the copy of a large store takes long, and readers are few.
	c, err := sqlconn.Open(s.path, s.opts.readerPragmas()+"; PRAGMA query_only = OFF")
	if err != nil {
		return explain(err)
	}
	_, err = c.Exec("VACUUM INTO ?", path)
	if err := errors.Join(explain(err), c.Close()); err != nil {
		return err
	}
	if err := disown(path); err != nil {
		return err
	}
	return syncFile(path)
}

// disown has the copy begin with a witness of its own: put in the place of the original, it is
// not held to what was acknowledged after it was made.
func disown(path string) error {
	c, err := sqlconn.Open(path, "PRAGMA synchronous = FULL")
	if err != nil {
		return explain(err)
	}
	_, err = c.Exec("UPDATE store_file SET id = randomblob(16), clean = 1")
	return errors.Join(explain(err), c.Close())
}

func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
