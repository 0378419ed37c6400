package file

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/graphd/graphd/internal/policy"
)

// chunk is about how many bytes go into one write: enough to make the system call
// cheap, little enough that a large batch is not rendered into memory as a whole.
const chunk = 256 << 10

// maxKept bounds the buffer kept between batches, so that one huge value does not
// hold its size for ever.
const maxKept = 4 * chunk

// appender appends lines to one file.
type appender struct {
	path   string
	access *policy.Policy
	form   form
	file   *os.File    // nil: closed
	info   fs.FileInfo // of file, as it was opened
}

// follow makes sure that an open file is the one that path names now.
func (a *appender) follow() error {
	now, err := os.Stat(a.path)
	if err == nil && os.SameFile(a.info, now) {
		return nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("look for %s: %w", a.path, err)
	}
	if err := a.release(); err != nil {
		return err
	}
	return a.open()
}

func (a *appender) open() (err error) {
	f, err := a.access.Append(a.path, 0o644)
	if errors.Is(err, fs.ErrNotExist) {
		return noFolder(a.path, filepath.Dir(a.path))
	}
	if err != nil {
		return fmt.Errorf("open output file: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close())
		}
	}()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("look at %s: %w", a.path, err)
	}
	needed, err := a.before(info)
	if err != nil {
		return fmt.Errorf("read the end of %s: %w", a.path, err)
	}
	if len(needed) > 0 {
		if _, err := f.Write(needed); err != nil {
			return a.notWritten(fmt.Errorf("end its torn last line: %w", err))
		}
	}
	a.file, a.info = f, info
	return nil
}

// before is what has to go into a file before lines are appended.
func (a *appender) before(info fs.FileInfo) ([]byte, error) {
	if !info.Mode().IsRegular() || info.Size() == 0 {
		return a.form.header, nil
	}
	f, err := a.access.Open(a.path) // the one at hand is open for appending only
	if err != nil {
		return nil, err
	}
	needed, err := a.form.before(f, info.Size())
	return needed, errors.Join(err, f.Close())
}

// write writes whole lines, and answers how many are in the file when it fails. Part of the
// next may be there too: opening the file anew finds it and ends it. A pipe that is full is waited for no
// longer than ctx.
func (a *appender) write(ctx context.Context, lines []byte) (whole int, err error) {
	if !a.info.Mode().IsRegular() {
		past := time.Unix(1, 0)
		f := a.file
		defer context.AfterFunc(ctx, func() { _ = f.SetWriteDeadline(past) })() // what has none does not wait
	}
	n, err := a.file.Write(lines)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = fmt.Errorf("nobody has read what is in the pipe: %w", err)
	}
	if err != nil {
		return bytes.Count(lines[:n], []byte{'\n'}), a.notWritten(err)
	}
	return 0, nil
}

// notWritten says what it is that a line could not be written. When there is no room for it it is
// refused, and on_error says whether it waits for room or becomes a dead letter.
func (a *appender) notWritten(err error) error {
	err = fmt.Errorf("append to %s: %w", a.path, err)
	for _, full := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG} {
		if errors.Is(err, full) {
			return refuse("disk_full", err)
		}
	}
	return err
}

// release forces the file to the disk and closes it.
func (a *appender) release() error {
	if a.file == nil {
		return nil
	}
	var err error
	if a.info.Mode().IsRegular() { // pipes and devices have nothing to force
		err = a.file.Sync()
	}
	err = errors.Join(err, a.file.Close())
	a.file, a.info = nil, nil
	if err != nil {
		return fmt.Errorf("close %s: %w", a.path, err)
	}
	return nil
}
