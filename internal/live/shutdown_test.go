package live

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/live/delivery"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/sink"
)

// hanging is a store that answers nothing any more once it hangs: only the end of the
// caller's context brings it back.
type hanging struct {
	checkpoint.Store
	hangs bool
}

func (s *hanging) Commit(ctx context.Context, c *checkpoint.Commit) error {
	if !s.hangs {
		return s.Store.Commit(ctx, c)
	}
	<-ctx.Done()
	return checkpoint.ErrUnknownOutcome
}

func (s *hanging) Relinquish(ctx context.Context, id checkpoint.ID, fence int64) error {
	if !s.hangs {
		return s.Store.Relinquish(ctx, id, fence)
	}
	<-ctx.Done()
	return ctx.Err()
}

// stopIn has a reactor's shutdown end after so long.
func stopIn(o *bedding, d time.Duration) {
	o.Shutdown = func() context.Context {
		ctx, cancel := context.WithTimeout(context.Background(), d)
		context.AfterFunc(ctx, cancel)
		return ctx
	}
}

// M38: a shutdown keeps to its one deadline, also when the store hangs with a commit on its way.
func TestM38ShutdownKeepsToItsDeadline(t *testing.T) {
	for name, inFlight := range map[string]bool{"a commit in flight": true, "the last commit": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &hanging{}
				s := newShell(t, func(_ *reactor.Config, o *bedding) {
					store.Store = o.Store.(checkpoint.Store)
					o.Store = store
					stopIn(o, 3*time.Second)
				})
				store.hangs = true
				received := int64(0)
				s.push(&received, 3)
				synctest.Wait()
				if inFlight {
					time.Sleep(2 * time.Second) // the interval is over, and the commit hangs
				}
				began := time.Now()
				err := s.end()
				if d := time.Since(began); err == nil || d != 3*time.Second {
					t.Errorf("the stop took %v and came to %v, want an error after 3s", d, err)
				}
			})
		})
	}
}

// M38: what is in an outbox is durable: a slow sink delays the stop by a second, and no more.
func TestM38OutboxDoesNotDelayTheStop(t *testing.T) { outboxDelays(t, false, flushOutbox) }

// M52: where another daemon waits to go on it is for as long as what is on its way may take.
func TestM52OutboxDoesNotDelayTheHandOver(t *testing.T) { outboxDelays(t, true, handOutbox) }

// outboxDelays holds for how long a sink that takes nothing delays a stop.
func outboxDelays(t *testing.T, handedOver bool, want time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		s, written := delivering(t, &stuck{goOn: make(chan struct{})}, handedOver)
		received := int64(0)
		s.push(&received, 3)
		time.Sleep(time.Second)
		began := time.Now()
		if err := s.end(); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(began); d != want {
			t.Errorf("the stop took %v, want %v", d, want)
		}
		if err := <-written; err != nil {
			t.Error(err)
		}
	})
}

// delivering is a shell that delivers from its outbox, and what becomes of its writer.
func delivering(t *testing.T, to sink.Sink, handedOver bool) (s *shell, written chan error) {
	written = make(chan error, 1)
	s = newShell(t, func(cfg *reactor.Config, o *bedding) {
		cfg.Routes = []reactor.Route{{Path: reactor.PathOutbox}}
		read := func(context.Context, int64) ([]sink.Message, error) { return nil, errors.New("not asked for") }
		w := delivery.NewWriter(delivery.Config{Output: "out", Sink: to, Room: func() {
			s.Room()
		}, Outbox: &delivery.Outbox{Read: read}})
		o.Writers[0], o.Store = w, &committing{Store: o.Store.(checkpoint.Store)}
		o.Flush = func(ctx context.Context) {
			select {
			case err := <-written:
				written <- err
			case <-ctx.Done():
			}
		}
		stopIn(o, 10*time.Second)
		o.HandOver = func() bool { return handedOver }
	})
	go func() { written <- s.Writers[0].Run(context.WithoutCancel(t.Context())) }()
	return s, written
}

// committing counts commits.
type committing struct {
	checkpoint.Store
	commits int
}

func (s *committing) Commit(ctx context.Context, c *checkpoint.Commit) error {
	s.commits++
	return s.Store.Commit(ctx, c)
}

// slow takes so long for a delivery.
type slow struct {
	takes time.Duration
	had   int
}

func (s *slow) Deliver(_ context.Context, batch []sink.Message) error {
	time.Sleep(s.takes)
	s.had += len(batch)
	return nil
}

func (s *slow) Close(context.Context) error { return nil }

// M52: a stop for another daemon waits for the delivery that is on its way, and begins none: what has not been
// committed is in one commit with everything else, and in the outbox behind it. A stop for good commits it before, and
// delivers it.
func TestM52HandOverWaitsForWhatIsOnItsWay(t *testing.T) {
	for name, c := range map[string]struct {
		handedOver   bool
		took         time.Duration
		had, commits int
	}{
		"handed over": {true, 20 * time.Millisecond, 2, 1},
		"stopped":     {false, 60 * time.Millisecond, 6, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				to := &slow{takes: 40 * time.Millisecond}
				s, written := delivering(t, to, c.handedOver)
				store, received := s.Store.(*committing), int64(0)
				s.push(&received, 2)
				time.Sleep(linger + 10*time.Millisecond) // they are committed, and on their way
				s.push(&received, 3)
				time.Sleep(linger + 5*time.Millisecond) // these are committed, too, and wait for their turn
				s.push(&received, 1)
				synctest.Wait() // it has fired, and waits for others to share its commit
				began, before := time.Now(), store.commits
				if err := s.end(); err != nil {
					t.Fatal(err)
				}
				if d, n := time.Since(began), store.commits-before; d != c.took || n != c.commits {
					t.Errorf("the stop took %v and %d commits, want %v and %d", d, n, c.took, c.commits)
				}
				if err := <-written; err != nil || to.had != c.had {
					t.Errorf("%d were delivered, %v; want %d", to.had, err, c.had)
				}
				entries, err := store.Outbox(t.Context(), s.Core.Config().ID, "out", 0, 0, 0)
				if err != nil || len(entries) != 6-c.had {
					t.Errorf("%d are in the outbox, %v; want %d", len(entries), err, 6-c.had)
				}
			})
		})
	}
}
