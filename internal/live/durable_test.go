package live

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/reactor"
)

// gated is a store whose commits wait to be let through.
type gated struct {
	checkpoint.Store
	pass chan struct{}
}

func (s *gated) Commit(ctx context.Context, c *checkpoint.Commit) error {
	<-s.pass
	return s.Store.Commit(ctx, c)
}

// M28: a commit that is in flight covers nothing that came after its seal: who asks meanwhile
// is answered by the next one.
func TestM28DurableWaitsForTheNextCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &gated{pass: make(chan struct{})}
		s := newShell(t, func(_ *reactor.Config, o *bedding) {
			store.Store = o.Store.(checkpoint.Store)
			o.Store = store
		})
		defer func() { close(store.pass); _ = s.end() }()
		received := int64(0)
		s.push(&received, 1)
		first := make(chan int64, 1)
		ask := func(answers chan<- int64) {
			epoch, err := s.Durable(t.Context())
			if err != nil {
				t.Error(err)
			}
			answers <- epoch
		}
		go ask(first)
		synctest.Wait() // the commit of epoch 1 is in flight
		s.push(&received, 1)
		synctest.Wait()
		second := make(chan int64, 1)
		go ask(second)
		synctest.Wait()
		store.pass <- struct{}{}
		synctest.Wait()
		if len(first) != 1 || len(second) != 0 || s.View().Checkpoint.Epoch != 1 {
			t.Fatalf("answered %d and %d when epoch %d was durable", len(first), len(second), s.View().Checkpoint.Epoch)
		}
		store.pass <- struct{}{}
		synctest.Wait()
		if len(second) != 1 || <-second != 2 {
			t.Error("epoch 2 is durable, and nobody was told")
		}
	})
}

// M2, M5: what accumulators say of themselves is taken in while nothing can be admitted, and
// does not pile up: the newest of each is kept.
func TestM5HealthWhileNothingIsAdmitted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &gated{pass: make(chan struct{})}
		s := newShell(t, func(_ *reactor.Config, o *bedding) {
			store.Store = o.Store.(checkpoint.Store)
			o.Store = store
		})
		defer func() { close(store.pass); _ = s.end() }()
		for n := 0; n < reactor.MaxDeadLetters; n += maxWaitingLetters {
			h := &accumulator.Handoff{DeadLetters: make([]checkpoint.DeadLetter, maxWaitingLetters)}
			if err := s.port[0].Put(t.Context(), h); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		for range 1000 {
			s.port[0].Health(accumulator.Live, "", "")
			s.port[0].Health(accumulator.Disconnected, "away", "gone")
		}
		s.Inbox.mu.Lock()
		n := len(s.Inbox.health)
		s.Inbox.mu.Unlock()
		if n > 1 {
			t.Errorf("%d healths of one input wait", n)
		}
		synctest.Wait()
		if v := s.View(); v.Health != reactor.HealthDegraded || v.Code != "away" {
			t.Errorf("health %s %s while dead letters wait for the store", v.Health, v.Code)
		}
	})
}
