// Package together has the statements of one moment share a round trip, and a sync of the server's disk: a daemon of a
// thousand graphs commits for each of them every second.
//
// A statement that finds fewer on their way than may be goes at once and alone, as if this package were not there.
// One that does not waits until some are back, and goes with all that have come meanwhile: who is alone never
// waits for company. Those of a group are one transaction, so that a refusal of one takes back all; each is then sent
// again alone, and only the one that is to be refused is. They change rows of one graph each, and so not the same.
package together

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Call is a statement that answers one number.
type Call struct {
	Text string
	Args []any
	// Bytes is about how much it carries.
	Bytes int64
	// Answer is there when the call is through.
	Answer int64
}

const (
	// maxFlights is how many Sends are on their way before calls wait to go together: with fewer a short call would
	// wait behind a long one, and with more each would carry little.
	maxFlights = 3
	// maxCalls and maxBytes bound those that go together, so that none is long on its way for the others' sake.
	maxCalls = 64
	maxBytes = 256 << 10
	// lockTimeout is how long those that go together wait for a row that somebody else has locked: then each goes
	// alone, and only the one that has to wait does.
	lockTimeout = "200ms"
)

// Sender sends calls. Safe for concurrent use.
type Sender struct {
	send func(ctx context.Context, calls []*Call) error

	mu      sync.Mutex
	flying  int
	waiting []*waiter // in order
	flights sync.WaitGroup
}

type waiter struct {
	call  *Call
	ended chan error // capacity 1
}

// New makes a Sender. send carries out calls in one transaction and fills in their answers, which mean nothing after
// an error. One that leaves open whether the transaction was made is a [checkpoint.ErrUnknownOutcome].
func New(send func(ctx context.Context, calls []*Call) error) *Sender { return &Sender{send: send} }

// Do sends a call and waits for its answer. When ctx ends before the call is sent, that is the error; after that, and
// where the connection ends, it is a [checkpoint.ErrUnknownOutcome]. Any other error says that nothing was changed.
func (s *Sender) Do(ctx context.Context, c *Call) error {
	if c.Bytes > maxBytes {
		return s.send(ctx, []*Call{c})
	}
	s.mu.Lock()
	if s.flying < maxFlights {
		s.flying++
		s.mu.Unlock()
		defer s.landed()
		return s.send(ctx, []*Call{c})
	}
	w := &waiter{call: &Call{Text: c.Text, Args: c.Args, Bytes: c.Bytes}, ended: make(chan error, 1)}
	s.waiting = append(s.waiting, w)
	s.mu.Unlock()
	select {
	case err := <-w.ended:
		c.Answer = w.call.Answer
		if err != nil && refused(err) {
			return s.send(ctx, []*Call{c})
		}
		return err
	case <-ctx.Done():
	}
	if s.withdraw(w) {
		return context.Cause(ctx)
	}
	return fmt.Errorf("%w: %w", checkpoint.ErrUnknownOutcome, context.Cause(ctx))
}

// Waiting is how many calls wait to go together.
func (s *Sender) Waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.waiting)
}

// Wait returns when nothing is on its way any more. Nothing may be sent from then on.
func (s *Sender) Wait() { s.flights.Wait() }

// withdraw takes back a call that waits, and reports whether it did.
func (s *Sender) withdraw(w *waiter) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, other := range s.waiting {
		if other == w {
			s.waiting = append(s.waiting[:i], s.waiting[i+1:]...)
			return true
		}
	}
	return false
}

// landed ends a flight; who waits takes its place.
func (s *Sender) landed() {
	if group := s.next(); group != nil {
		s.flights.Go(func() { // it outlives each of its callers, and ends as Send does
			for ; group != nil; group = s.next() {
				s.fly(group)
			}
		})
	}
}

// next are those that go now, or nil: then the flight has ended.
func (s *Sender) next() []*waiter {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, bytes := 0, int64(0)
	for n < len(s.waiting) && n < maxCalls {
		if bytes += s.waiting[n].call.Bytes; n > 0 && bytes > maxBytes {
			break
		}
		n++
	}
	if n == 0 {
		s.flying--
		return nil
	}
	group := append([]*waiter(nil), s.waiting[:n]...)
	rest := copy(s.waiting, s.waiting[n:])
	clear(s.waiting[rest:])
	s.waiting = s.waiting[:rest]
	return group
}

func (s *Sender) fly(group []*waiter) {
	calls := make([]*Call, len(group))
	for i, w := range group {
		calls[i] = w.call
	}
	err := s.send(context.Background(), calls)
	for _, w := range group {
		w.ended <- err
	}
}

// refused says that the server has answered a transaction with an error: nothing of it was done.
func refused(err error) bool {
	_, answered := errors.AsType[*pgconn.PgError](err)
	return answered && !errors.Is(err, checkpoint.ErrUnknownOutcome)
}

// Bytes is about how much calls carry.
func Bytes(calls []*Call) (n int64) {
	for _, c := range calls {
		n += c.Bytes
	}
	return n
}

// Send carries out calls in one transaction.
func Send(ctx context.Context, conn *pgxpool.Conn, calls []*Call) error {
	if c := calls[0]; len(calls) == 1 {
		return conn.QueryRow(ctx, c.Text, c.Args...).Scan(&c.Answer)
	}
	batch := &pgx.Batch{}
	batch.Queue("SELECT set_config('lock_timeout', $1, true)", lockTimeout)
	for _, c := range calls {
		batch.Queue(c.Text, c.Args...)
	}
	answers := conn.SendBatch(ctx, batch)
	if _, err := answers.Exec(); err != nil {
		_ = answers.Close()
		return err
	}
	for _, c := range calls {
		if err := answers.QueryRow().Scan(&c.Answer); err != nil {
			_ = answers.Close() // says the same
			return err
		}
	}
	return answers.Close() // with this the transaction is made
}
