package members

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/lease"
	"github.com/graphd/graphd/internal/supervisor"
)

// sole is a store with one lease, which lasts for ever.
type sole struct{ lease.Store }

func (sole) Self() string { return "a" }

func (sole) RenewLease(context.Context, time.Duration) (checkpoint.Lease, error) {
	return checkpoint.Lease{Sole: true}, nil
}

// unanswered grants claims, and is not heard.
type unanswered struct {
	has   bool
	fails int // so many times more a claim cannot be given up
	ends  func()
}

var errLost = errors.New("the answer is lost")

func (u *unanswered) Claim(context.Context, checkpoint.ID, string) (bool, error) {
	u.has = true
	if u.ends != nil {
		u.ends()
	}
	return false, errLost
}

func (u *unanswered) Disclaim(context.Context, checkpoint.ID, string) error {
	if u.fails--; u.fails >= 0 {
		return errLost
	}
	u.has = false
	return nil
}

// M54: a claim of which the answer was lost is given up: nobody else would, and all shards of the graph would stay
// here.
func TestM54AClaimThatIsNotAnsweredIsGivenUp(t *testing.T) {
	for _, gone := range []bool{false, true} { // who asked has gone meanwhile
		synctest.Test(t, func(t *testing.T) {
			own := lease.New(lease.Config{Store: sole{}, Log: slog.New(slog.DiscardHandler), TTL: 3 * time.Second})
			if err := own.Begin(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			u := &unanswered{fails: 3}
			if gone {
				u.ends = cancel
			}
			s := &Members{Claims: u, Log: slog.New(slog.DiscardHandler), Own: own, Tasks: tasks()}
			_, _, err := s.Hold(ctx, checkpoint.ID{Tenant: "t", Graph: "g"}, checkpoint.ClaimDeal)
			if want := errLost; !gone && !errors.Is(err, want) || gone && !errors.Is(err, checkpoint.ErrClaimed) {
				t.Errorf("who asked has gone: %v: %v", gone, err)
			}
			if err := s.Tasks.Wait(); err != nil {
				t.Error(err)
			}
			if u.has {
				t.Errorf("who asked has gone: %v: the claim is had still", gone)
			}
		})
	}
}

// granting grants claims, and cannot have them given up so many times.
type granting struct{ unanswered }

func (g *granting) Claim(context.Context, checkpoint.ID, string) (bool, error) {
	g.has = true
	return true, nil
}

// M54: a claim is given up although the term that it was made in has ended meanwhile: the store's lease may go on, in
// another term, and the claim would be had as long as that and be nobody's.
func TestM54AClaimIsGivenUpBehindItsTerm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		own := lease.New(lease.Config{Store: sole{}, Log: slog.New(slog.DiscardHandler), TTL: 3 * time.Second})
		if err := own.Begin(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		g := &granting{unanswered{fails: 100}} // for longer than any lease
		s := &Members{Claims: g, Log: slog.New(slog.DiscardHandler), Own: own, Tasks: tasks()}
		held, release, err := s.Hold(t.Context(), checkpoint.ID{Tenant: "t", Graph: "g"}, checkpoint.ClaimDeal)
		if err != nil {
			t.Fatal(err)
		}
		own.Lost(own.Term(), lease.ErrLost)
		<-held.Done()
		release()
		if err := s.Tasks.Wait(); err != nil {
			t.Error(err)
		}
		if g.has {
			t.Error("the claim is had still")
		}
	})
}

// M54: a claim that is still to be given up is not made again before it is: giving it up would take the new one away.
func TestM54AClaimIsMadeAgainWhenItIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		own := lease.New(lease.Config{Store: sole{}, Log: slog.New(slog.DiscardHandler), TTL: 3 * time.Second})
		if err := own.Begin(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		g := &granting{unanswered{fails: 20}}
		s := &Members{Claims: g, Log: slog.New(slog.DiscardHandler), Own: own, Tasks: tasks()}
		id := checkpoint.ID{Tenant: "t", Graph: "g"}
		for range 2 {
			_, release, err := s.Hold(t.Context(), id, checkpoint.ClaimDeal)
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
			if synctest.Wait(); !g.has {
				t.Error("the claim was taken away")
			}
			release()
		}
		if err := s.Tasks.Wait(); err != nil || g.has {
			t.Errorf("%v; the claim is had still: %v", err, g.has)
		}
	})
}

// M54: who waits for a claim to be given up ends with the daemon.
func TestM54GivingUpAClaimEndsWithTheDaemon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Members{Claims: &granting{unanswered{fails: 1 << 30}}, Log: slog.New(slog.DiscardHandler), Tasks: tasks()}
		s.disclaim(checkpoint.ID{Tenant: "t", Graph: "g"}, checkpoint.ClaimDeal)
		s.Tasks.Stop()
		if err := s.Tasks.Wait(); err != nil {
			t.Error(err)
		}
	})
}

func tasks() *supervisor.Group { return supervisor.NewTree(time.Now).Root("graphd").NewGroup() }

// slow grants claims, and has not heard yet that one is given up.
type slow struct {
	granted int
	hears   chan struct{}
}

func (s *slow) Claim(context.Context, checkpoint.ID, string) (bool, error) {
	s.granted++
	return true, nil
}

func (s *slow) Disclaim(context.Context, checkpoint.ID, string) error {
	<-s.hears
	return nil
}

// M54: while a claim is on its way to being given up it is not made again: the word would arrive behind the new one,
// and take that away.
func TestM54NoClaimWhileTheLastIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		own := lease.New(lease.Config{Store: sole{}, Log: slog.New(slog.DiscardHandler), TTL: 3 * time.Second})
		if err := own.Begin(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		store := &slow{hears: make(chan struct{})}
		s := &Members{Claims: store, Log: slog.New(slog.DiscardHandler), Own: own, Tasks: tasks()}
		id := checkpoint.ID{Tenant: "t", Graph: "g"}
		_, release, err := s.Hold(t.Context(), id, checkpoint.ClaimDeal)
		if err != nil {
			t.Fatal(err)
		}
		again := make(chan error)
		go release()
		go func() {
			synctest.Wait()
			_, _, err := s.Hold(t.Context(), id, checkpoint.ClaimDeal)
			again <- err
		}()
		time.Sleep(disclaimTime / 2) // of the bubble's clock
		if store.granted != 1 {
			t.Errorf("granted %d times before the store has heard of the first", store.granted)
		}
		close(store.hears)
		if err := <-again; err != nil || store.granted != 2 {
			t.Errorf("not granted behind it: %v", err)
		}
	})
}
