package dal

import (
	"context"
	"errors"
	"sync"

	"github.com/graphd/graphd/internal/checkpoint"
)

// SQLite is a store in one file. Open it with [OpenSQLite].
type SQLite struct {
	path   string
	opts   SQLiteOptions
	lock   *fileLock
	writer *writer
	// readers holds every reading connection that is not in use, or nil in the place of
	// one that has not been opened yet. Its capacity is how many there may be.
	readers chan *conn

	closing   chan struct{} // closed by Close
	closeOnce sync.Once
	closeErr  error
}

var _ checkpoint.Store = (*SQLite)(nil)

func startSQLite(path string, opts SQLiteOptions, lock *fileLock, first *conn) *SQLite {
	s := &SQLite{
		path:    path,
		opts:    opts,
		lock:    lock,
		writer:  newWriter(first, func() (*conn, error) { return openConn(path, opts.writerPragmas()) }),
		readers: make(chan *conn, opts.Readers),
		closing: make(chan struct{}),
	}
	for range opts.Readers {
		s.readers <- nil
	}
	go s.writer.serve() // joined by Close
	return s
}

// Kind is "sqlite".
func (s *SQLite) Kind() string { return "sqlite" }

// Path is the file, absolute, with links followed.
func (s *SQLite) Path() string { return s.path }

// Ping reads from the file.
func (s *SQLite) Ping(ctx context.Context) error {
	return wrap(s.read(ctx, func(c *conn) error {
		_, err := schemaVersion(c)
		return err
	}), "ping store")
}

// Close waits for the write and the reads that are under way, closes the file and
// gives it to the next process. Writes that still wait answer ErrClosed, as do later
// calls. It is safe to call twice.
func (s *SQLite) Close() error {
	s.closeOnce.Do(func() {
		close(s.closing)
		errs := []error{s.writer.close()}
		for range cap(s.readers) {
			if c := <-s.readers; c != nil {
				errs = append(errs, c.close())
			}
		}
		s.closeErr = wrap(errors.Join(append(errs, s.lock.release())...), "close store %s", s.path)
	})
	return s.closeErr
}

// read runs use with a reading connection.
func (s *SQLite) read(ctx context.Context, use func(*conn) error) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	var c *conn
	select {
	case <-s.closing:
		return ErrClosed
	default:
	}
	select {
	case c = <-s.readers:
	case <-s.closing:
		return ErrClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { s.readers <- c }() // it was taken from there, so there is room
	if c == nil {
		opened, err := openConn(s.path, s.opts.readerPragmas())
		if err != nil {
			return explain(err)
		}
		c = opened
	}
	return explain(use(c))
}

// write runs apply within a transaction of the writer; size is about how many bytes it writes.
func (s *SQLite) write(ctx context.Context, size int, apply func(context.Context, *conn) error) error {
	return s.writer.do(&request{ctx: ctx, size: size, apply: apply})
}
