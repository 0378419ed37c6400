// Package file is the sink that appends values to a file, one JSON document a line (here on two):
//
//	{"at":"2026-11-20T10:00:00.123Z","epoch":7,"firing_id":"…","incarnation":3,"key":null,
//	 "output":"signals","value":{…}}
//
// Keys are sorted. A line also has "degraded", the names of what was not healthy,
// when the epoch ran on less than all its inputs.
//
// Lines are whole: a batch goes out in writes that end at a line's end, to a file
// opened for appending, so that several outputs and graphs may share one. What a
// crash or a full disk left of a line is ended before anything is appended. When
// the file was renamed or removed, as log rotation does, the next batch goes to a
// new file of the configured name.
//
// A batch is in the operating system's hands when Deliver returns; it is forced to
// the disk when the sink is closed or its file rotated away.
//
// A full disk refuses the line that does not fit: with on_error: block the output waits
// for room, with dead_letter the line is kept in the store. What is in the file is not
// written again.
//
// The package starts no goroutine.
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

	"github.com/graphd/graphd/internal/sink"
)

// chunk is about how many bytes go into one write: enough to make the system call
// cheap, little enough that a large batch is not rendered into memory as a whole.
const chunk = 256 << 10

// maxKept bounds the buffer kept between batches, so that one huge value does not
// hold its size for ever.
const maxKept = 4 * chunk

// Sink appends to one file. It is used by one goroutine at a time.
type Sink struct {
	path string
	buf  []byte // reused across batches
	file *os.File
	info fs.FileInfo // of file, as it was opened
}

var _ sink.Sink = (*Sink)(nil)

// Open opens the file at path, making it when there is none. Its folder must exist.
func Open(path string) (*Sink, error) {
	s := &Sink{path: path}
	if err := s.open(); err != nil {
		return nil, err
	}
	return s, nil
}

// Deliver appends the batch. When it fails, whole lines of the batch may have been written.
func (s *Sink) Deliver(ctx context.Context, batch []sink.Message) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.follow(); err != nil {
		return err
	}
	s.buf = s.buf[:0]
	written := 0 // whole lines
	for i := range batch {
		s.buf = appendLine(s.buf, &batch[i])
		if len(s.buf) < chunk && i < len(batch)-1 {
			continue
		}
		if n, err := s.file.Write(s.buf); err != nil {
			written += bytes.Count(s.buf[:n], []byte{'\n'})
			// Part of a line may be there: opening the file anew finds it and ends it.
			return errors.Join(s.notWritten(written, err), s.release())
		}
		written = i + 1
		s.buf = s.buf[:0]
	}
	if cap(s.buf) > maxKept {
		s.buf = nil
	}
	return nil
}

// notWritten says what became of a batch of which so many lines are in the file. When there
// is no room for the next it is refused, so that what is there is not written again, and
// on_error says whether it waits for room or becomes a dead letter.
func (s *Sink) notWritten(lines int, err error) error {
	err = fmt.Errorf("append to %s: %w", s.path, err)
	for _, full := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG} {
		if errors.Is(err, full) {
			return &sink.PermanentError{Index: lines, Code: "disk_full", Err: err}
		}
	}
	return err
}

// Close forces what was written to the disk and closes the file. It may be called twice.
func (s *Sink) Close(context.Context) error { return s.release() }

// follow makes sure that s.file is the file that path names now.
func (s *Sink) follow() error {
	if s.file == nil {
		return s.open()
	}
	now, err := os.Stat(s.path)
	if err == nil && os.SameFile(s.info, now) {
		return nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("look for %s: %w", s.path, err)
	}
	if err := s.release(); err != nil {
		return err
	}
	return s.open()
}

func (s *Sink) open() (err error) {
	f, err := os.OpenFile(s.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("open %s: the folder %s does not exist; make it or change the sink's path", s.path,
			filepath.Dir(s.path))
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
		return fmt.Errorf("look at %s: %w", s.path, err)
	}
	torn, err := endsInsideLine(s.path, info)
	if err != nil {
		return fmt.Errorf("read the end of %s: %w", s.path, err)
	}
	if torn {
		if _, err := f.Write([]byte{'\n'}); err != nil {
			return s.notWritten(0, fmt.Errorf("end its torn last line: %w", err))
		}
	}
	s.file, s.info = f, info
	return nil
}

// endsInsideLine reports whether the last line of a regular file lacks its end.
func endsInsideLine(path string, info fs.FileInfo) (bool, error) {
	if !info.Mode().IsRegular() || info.Size() == 0 {
		return false, nil
	}
	f, err := os.Open(path) // the one at hand is open for appending only
	if err != nil {
		return false, err
	}
	var last [1]byte
	_, err = f.ReadAt(last[:], info.Size()-1)
	return last[0] != '\n', errors.Join(err, f.Close())
}

// release forces the file to the disk and closes it.
func (s *Sink) release() error {
	if s.file == nil {
		return nil
	}
	var err error
	if s.info.Mode().IsRegular() { // pipes and devices have nothing to force
		err = s.file.Sync()
	}
	err = errors.Join(err, s.file.Close())
	s.file, s.info = nil, nil
	if err != nil {
		return fmt.Errorf("close %s: %w", s.path, err)
	}
	return nil
}
