package sqlite

import (
	"context"
	"errors"
	"sync"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/dal/rules"
	"github.com/graphd/graphd/internal/dal/sqlite/chains"
	"github.com/graphd/graphd/internal/dal/sqlite/filelock"
	"github.com/graphd/graphd/internal/dal/sqlite/passes"
	"github.com/graphd/graphd/internal/dal/sqlite/pushkeys"
	"github.com/graphd/graphd/internal/dal/sqlite/schema"
	"github.com/graphd/graphd/internal/dal/sqlite/sqlconn"
	"github.com/graphd/graphd/internal/dal/sqlite/tokens"
)

// Store is a store in one file. Open it with [Open].
type Store struct {
	rules.SoleOwner
	tokens.Table
	pushkeys.Keys
	chains.Chains
	passes.Passes
	path    string
	opts    Options
	lock    *filelock.Lock
	writer  *writer
	sweeper *rules.Sweeper
	takings rules.Takings
	// readers holds every reading connection that is not in use, or nil in the place of
	// one that has not been opened yet. Its capacity is how many there may be.
	readers chan *sqlconn.Conn

	closing   chan struct{} // closed by Close
	closeOnce sync.Once
	closeErr  error
}

var _ checkpoint.Store = (*Store)(nil)

func startStore(path string, opts Options, lock *filelock.Lock, first *sqlconn.Conn, w *witness) *Store {
	s := &Store{
		path:    path,
		opts:    opts,
		lock:    lock,
		writer:  newWriter(first, w, func() (*sqlconn.Conn, error) { return sqlconn.Open(path, opts.writerPragmas()) }),
		readers: make(chan *sqlconn.Conn, opts.Readers),
		closing: make(chan struct{}),
	}
	s.Table = tokens.Table{Write: s.write, Read: s.read}
	s.Keys = pushkeys.Keys{Write: s.write, Read: s.read}
	s.Chains = chains.Chains{Write: s.write, Read: s.read}
	s.Passes = passes.New(s.write, s.read)
	for range opts.Readers {
		s.readers <- nil
	}
	go s.writer.serve() // joined by Close
	s.sweeper = rules.StartSweeper(s.sweep)
	return s
}

// Kind is "sqlite".
func (s *Store) Kind() string { return "sqlite" }

// Path is the file, absolute, with links followed.
func (s *Store) Path() string { return s.path }

// Ping reads from the file.
func (s *Store) Ping(ctx context.Context) error {
	return rules.Wrap(s.read(ctx, func(c *sqlconn.Conn) error {
		_, err := schema.Version(c)
		return err
	}), "ping store")
}

// Close waits for the write and the reads that are under way, closes the file and
// gives it to the next process. Writes that still wait answer checkpoint.ErrClosed, as do later
// calls. It is safe to call twice.
func (s *Store) Close() error {
	s.closeOnce.Do(func() {
		s.sweeper.Close()
		close(s.closing)
		errs := []error{s.writer.close()}
		for range cap(s.readers) {
			if c := <-s.readers; c != nil {
				errs = append(errs, c.Close())
			}
		}
		s.closeErr = rules.Wrap(errors.Join(append(errs, s.lock.Release())...), "close store %s", s.path)
	})
	return s.closeErr
}

// read runs use with a reading connection.
func (s *Store) read(ctx context.Context, use func(*sqlconn.Conn) error) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	var c *sqlconn.Conn
	select {
	case <-s.closing:
		return checkpoint.ErrClosed
	default:
	}
	select {
	case c = <-s.readers:
	case <-s.closing:
		return checkpoint.ErrClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { s.readers <- c }() // it was taken from there, so there is room
	if c == nil {
		opened, err := sqlconn.Open(s.path, s.opts.readerPragmas())
		if err != nil {
			return explain(err)
		}
		c = opened
	}
	return explain(use(c))
}

// write runs apply within a transaction of the writer; size is about how many bytes it writes.
func (s *Store) write(ctx context.Context, size int, apply func(context.Context, *sqlconn.Conn) error) error {
	return s.writer.do(&request{ctx: ctx, size: size, apply: apply})
}
