package sqlite

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
)

// fileLock makes a store's file belong to one process (M45). The file of the lock
// is never removed: a process that waits for the old one would then lock nothing.
type fileLock struct{ file *os.File }

// takeLock locks PATH.lock and writes into it who holds it, for people and for the
// error of the next opener. Another holder is checkpoint.ErrLocked.
func takeLock(path string) (*fileLock, error) {
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
		return nil, closeAfter(f, fmt.Errorf("%s is in use by %s: stop that one first, or give this one a store of its own with --data: %w",
			path, readHolder(f), checkpoint.ErrLocked))
	}
	holder := fmt.Sprintf("pid %d\nsince %s\n", os.Getpid(), time.Now().UTC().Format(time.RFC3339))
	if err := f.Truncate(0); err != nil {
		return nil, closeAfter(f, fmt.Errorf("write %s: %w", name, err))
	}
	if _, err := f.WriteAt([]byte(holder), 0); err != nil {
		return nil, closeAfter(f, fmt.Errorf("write %s: %w", name, err))
	}
	return &fileLock{f}, nil
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

// release gives the store's file to the next process.
func (l *fileLock) release() error { return errors.Join(unlock(l.file), l.file.Close()) }
