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
		held := &stuck{goOn: make(chan struct{})}
		var s *shell
		written := make(chan error, 1)
		s = newShell(t, func(cfg *reactor.Config, o *bedding) {
			cfg.Routes = []reactor.Route{{Path: reactor.PathOutbox}}
			read := func(context.Context, int64) ([]sink.Message, error) { return nil, errors.New("not asked for") }
			w := delivery.NewWriter(delivery.Config{Output: "out", Sink: held, Room: func() {
				s.Room()
			}, Outbox: &delivery.Outbox{Read: read}})
			o.Writers[0] = w
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
