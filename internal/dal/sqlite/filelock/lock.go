// Package filelock makes a store's file belong to one process. [Take] is where to begin.
package filelock

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
)

// Lock makes a store's file belong to one process (M45). The database itself is locked,
// so that nobody opens the store a second time by removing the file beside it. That file says
// who the holder is, and keeps a second process out before it has touched anything. It is never
// removed: a process that waits for the old one would then lock nothing.
//
// The lock on the database is that of flock, which knows nothing of the record locks that SQLite
// takes on it. SQLite's own exclusive mode would do as well, but it keeps out the readers
// of this process too. To close any other file descriptor of the database would take SQLite's
// locks away, so this one is kept until SQLite is done.
type Lock struct{ file, database *os.File }

// Take locks PATH.lock and writes into it who holds it, for people and for the
// error of the next opener. Another holder is checkpoint.ErrLocked.
func Take(path string) (*Lock, error) {
	name := path + ".lock"
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the store's lock: %w", err)
	}
	held, err := tryLock(f)
	if err != nil {
		return nil, closeAfter(f, fmt.Errorf("lock %s: %w", name, err))
	}
	if !held {
		return nil,
			closeAfter(f,
				fmt.Errorf(
					"%s is in use by %s: stop that one first, or give this one a store of its own with --data: %w",
					path, readHolder(f), checkpoint.ErrLocked))
	}
	holder := fmt.Sprintf("pid %d\nsince %s\n", os.Getpid(), time.Now().UTC().Format(time.RFC3339))
	if err := f.Truncate(0); err != nil {
		return nil, closeAfter(f, fmt.Errorf("write %s: %w", name, err))
	}
	if _, err := f.WriteAt([]byte(holder), 0); err != nil {
		return nil, closeAfter(f, fmt.Errorf("write %s: %w", name, err))
	}
	return &Lock{file: f}, nil
}

// readHolder is the text in the lock on one line. The holder may not have written it yet.
func readHolder(f *os.File) string {
	text := make([]byte, 128)
	n, _ := f.ReadAt(text, 0) // io.EOF comes with what there is
	holder := strings.Join(strings.Fields(string(text[:n])), " ")
	if !strings.HasPrefix(holder, "pid ") {
		return "another process"
	}
	return holder
}

func closeAfter(f *os.File, err error) error {
	_ = f.Close() // the error that matters is err
	return err
}

// Database locks the database itself, which must be there, and answers with it open. It is closed
// by Release.
func (l *Lock) Database(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("open the store's file: %w", err)
	}
	held, err := tryLock(f)
	if err == nil && !held {
		err = fmt.Errorf(
			"%s is in use by another process, though its lock file says nothing of it: stop that one first: %w", path,
			checkpoint.ErrLocked)
		_ = l.file.Truncate(0) // this process is not the holder that it names
	}
	if err != nil {
		return nil, closeAfter(f, err)
	}
	l.database = f
	return f, nil
}

// Files are those that hold the locks: a process that inherits them holds the locks too.
func (l *Lock) Files() []*os.File { return []*os.File{l.file, l.database} }

// Release gives the store's file to the next process.
func (l *Lock) Release() error {
	var errs []error
	for _, f := range []*os.File{l.database, l.file} {
		if f != nil {
			errs = append(errs, unlock(f), f.Close())
		}
	}
	return errors.Join(errs...)
}
