package sqlite

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/dal/rules"
	"github.com/graphd/graphd/internal/dal/sqlite/sqlconn"
)

const (
	// queueLength is how many writes may wait for the writer. One graph has one write
	// under way at a time, so this is graphs; the rest wait at the door just as well.
	queueLength = 256
	// groupRequests and groupBytes bound what shares one transaction: enough that a
	// slow fsync is shared by all who wait for it, little enough that the first of
	// them does not wait long for the last.
	groupRequests = 64
	groupBytes    = 4 << 20
)

// The life of a request. The writer moves it from queued to running to sent; the
// caller that gives up moves it from queued to left. Whoever is first decides.
const (
	requestQueued int32 = iota
	requestRunning
	requestSent
	requestLeft
)

// request is one write on its way through the writer.
type request struct {
	ctx context.Context // the caller's; a request is a message, and ends with the call
	// apply makes the changes within an open transaction. It returns a *rules.Refusal when it has
	// changed nothing; any other error undoes the transaction.
	apply func(ctx context.Context, c *sqlconn.Conn) error
	// applied asks after a COMMIT that failed whether this request is in the store. Nil
	// when it is enough that SQLite has rolled back.
	applied func(c *sqlconn.Conn) (bool, error)
	// acked notes outside the database what the answer acknowledges. Nil for what is not watched.
	acked func(w *witness)
	size  int // about how many bytes it writes

	state atomic.Int32
	sent  chan struct{} // closed just before COMMIT: what apply reads is no longer needed
	done  chan error    // one answer; has room for it, so that the writer never waits
}

// writer owns the connection that writes.
type writer struct {
	open    func() (*sqlconn.Conn, error)
	commit  func(*sqlconn.Conn) error // sends COMMIT; a field, so that tests can make it fail
	queue   chan *request
	stop    chan struct{} // closed to end serve
	stopped chan struct{} // closed when serve has returned

	witness  *witness
	conn     *sqlconn.Conn // nil after it was found unusable; opened again with the next request
	closeErr error         // of the last connection, set before stopped is closed
}

func newWriter(first *sqlconn.Conn, w *witness, open func() (*sqlconn.Conn, error)) *writer {
	return &writer{
		open: open,
		commit: func(c *sqlconn.Conn) error {
			_, err := c.Exec("COMMIT")
			return err
		},
		queue:   make(chan *request, queueLength),
		stop:    make(chan struct{}),
		stopped: make(chan struct{}),
		conn:    first,
		witness: w,
	}
}

// do has the writer carry out r and waits for the answer.
//
// When ctx is done first, the answer depends on how far r has come. Before COMMIT
// it is taken back, and the error is ctx's. Once COMMIT is sent, nobody can take it
// back, and do does not wait for a disk that hangs: the error is ErrUnknownOutcome.
func (w *writer) do(r *request) error {
	ctx := r.ctx
	r.sent, r.done = make(chan struct{}), make(chan error, 1)
	if err := context.Cause(ctx); err != nil {
		return err
	}
	select {
	case w.queue <- r:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-w.stop:
		return checkpoint.ErrClosed
	}
	select {
	case err := <-r.done:
		return err
	case <-w.stopped:
		return r.answerOr(checkpoint.ErrClosed)
	case <-ctx.Done():
	}
	if r.state.CompareAndSwap(requestQueued, requestLeft) {
		return context.Cause(ctx)
	}
	// The writer is reading what the caller gave it, so wait until it lets go: it looks
	// at ctx between statements.
	select {
	case err := <-r.done:
		return err
	case <-r.sent:
		return r.answerOr(fmt.Errorf("%w: %w", checkpoint.ErrUnknownOutcome, context.Cause(ctx)))
	}
}

// answerOr is the answer if it is there already.
func (r *request) answerOr(otherwise error) error {
	select {
	case err := <-r.done:
		return err
	default:
		return otherwise
	}
}

// serve is the writer's goroutine; it ends when stop is closed.
func (w *writer) serve() {
	defer close(w.stopped)
	sync := time.NewTicker(witnessEvery)
	defer sync.Stop()
	for {
		select {
		case r := <-w.queue:
			w.run(w.gather(r))
		case <-sync.C:
			w.witness.sync()
		case <-w.stop:
			// Requests still in the queue are answered by stopped.
			w.closeErr = w.witness.close(w.conn)
			if w.conn != nil {
				w.closeErr = errors.Join(w.closeErr, w.conn.Close())
			}
			return
		}
	}
}

// gather takes what waits in the queue as well, up to the bounds of a group.
func (w *writer) gather(r *request) []*request {
	var group []*request
	size := 0
	for {
		if r.state.CompareAndSwap(requestQueued, requestRunning) {
			group = append(group, r)
			size += r.size
		}
		if len(group) >= groupRequests || size >= groupBytes {
			return group
		}
		select {
		case r = <-w.queue:
		default:
			return group
		}
	}
}

// run carries out a group. When one of several can not be applied, nothing of the
// group was, and each is carried out alone: the others must not suffer from it.
func (w *writer) run(group []*request) {
	if len(group) == 0 || w.transact(group) {
		return
	}
	for _, r := range group {
		w.transact([]*request{r})
	}
}

// transact carries out a group in one transaction and answers every request in it.
// It returns false when it has rolled back and answered nobody, for a group of
// several only.
func (w *writer) transact(group []*request) bool {
	c, err := w.begin()
	if err != nil {
		answer(group, explain(err))
		return true
	}
	refused := make([]error, len(group))
	changed := false
	for i, r := range group {
		err := r.apply(r.ctx, c)
		if _, ok := errors.AsType[*rules.Refusal](err); err != nil && !ok {
			w.rollback()
			if len(group) > 1 {
				return false
			}
			r.done <- explain(err)
			return true
		}
		refused[i] = err
		changed = changed || err == nil
	}
	if !changed {
		w.rollback()
	}
	for _, r := range group {
		r.state.Store(requestSent)
		close(r.sent)
	}
	if changed {
		err = w.commit(c)
	}
	if err != nil {
		// Closing the connection rolls back what COMMIT has left open, if anything.
		w.drop()
	}
	var unnoted error
	if changed && err == nil {
		unnoted = w.note(group, refused)
	}
	for i, r := range group {
		switch {
		case refused[i] != nil:
			r.done <- refused[i]
		case err != nil:
			r.done <- w.outcome(r, explain(err))
		default:
			r.done <- unnoted
		}
	}
	return true
}

// note notes outside the database what is about to be acknowledged. What cannot be noted must not
// be acknowledged, and stands in the database all the same.
func (w *writer) note(group []*request, refused []error) error {
	for i, r := range group {
		if refused[i] == nil && r.acked != nil {
			r.acked(w.witness)
		}
	}
	if err := w.witness.flush(); err != nil {
		return fmt.Errorf("%w: %w", checkpoint.ErrUnknownOutcome, err)
	}
	return nil
}

func answer(group []*request, err error) {
	for _, r := range group {
		r.done <- err
	}
}

// begin opens a transaction that holds the write lock.
func (w *writer) begin() (*sqlconn.Conn, error) {
	if err := w.connect(); err != nil {
		return nil, err
	}
	if _, err := w.conn.Exec("BEGIN IMMEDIATE"); err != nil {
		return nil, err
	}
	return w.conn, nil
}

// connect opens the connection again after it was dropped.
func (w *writer) connect() error {
	if w.conn != nil {
		return nil
	}
	c, err := w.open()
	if err != nil {
		return err
	}
	w.conn = c
	return nil
}

// rollback undoes the open transaction. SQLite itself may have done so already, on a
// full disk for one; then it says so with an error, and a new connection is the
// simplest way to be sure.
func (w *writer) rollback() {
	if _, err := w.conn.Exec("ROLLBACK"); err != nil {
		w.drop()
	}
}

// drop closes the connection, and with it whatever was under way.
func (w *writer) drop() {
	if w.conn != nil {
		_ = w.conn.Close() // nothing depends on it: the next request opens another
		w.conn = nil
	}
}

// outcome decides what became of a request whose COMMIT has failed. SQLite says that
// it was rolled back. A request that can be looked for is looked for all the same,
// on a new connection: the commit may stand in the file though its fsync failed.
func (w *writer) outcome(r *request, failed error) error {
	if r.applied == nil {
		return failed
	}
	applied := true
	err := w.connect()
	if err == nil {
		applied, err = r.applied(w.conn)
	}
	if applied || err != nil {
		return fmt.Errorf("%w: %w", checkpoint.ErrUnknownOutcome, errors.Join(failed, err))
	}
	return failed
}

// close ends the writer and waits for it. Requests that still wait are answered with checkpoint.ErrClosed.
func (w *writer) close() error {
	close(w.stop)
	<-w.stopped
	return w.closeErr
}
