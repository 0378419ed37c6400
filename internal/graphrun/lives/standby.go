package lives

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/graphrun/life"
	"github.com/graphd/graphd/internal/graphrun/told"
	"github.com/graphd/graphd/internal/lease"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/rest"
	"github.com/graphd/graphd/internal/supervisor"
)

// yieldTimeout bounds the giving up of a graph; one that is not goes on here or, when the daemon
// ends, is free with the lease.
const yieldTimeout = 2 * time.Second

// once is one run of the graph under its supervisor: nil when it was stopped, an error
// when it is to be rebuilt. It rests while the run goes on.
func (s *Shard) once(ctx context.Context, _ int) error { return s.runs(ctx, &away{}) }

// stint is a run that goes on.
type stint struct {
	run        *life.Run
	term       *lease.Term
	away       *away
	began      time.Time
	handedBack bool // when it is over
}

// runs is one run after another, until one ends that is not to be followed by the next at once.
func (s *Shard) runs(ctx context.Context, away *away) error {
	for {
		r, t, err := s.take(ctx, away)
		if errors.Is(err, reactor.ErrDealt) && s.host.DealtOtherwise != nil {
			s.awaitDeal(ctx, err)
		}
		if err != nil || r == nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		st := &stint{run: r, term: t, away: away, began: time.Now()}
		if again, err := s.stint(ctx, st, func() error { return s.live(ctx, st) }); !again {
			return err
		}
	}
}

// stint is the life of a run, or what follows on a rest of it, and then does what its end calls for: again says to
// go on with another one.
func (s *Shard) stint(ctx context.Context, st *stint, piece func() error) (again bool, err error) {
	err = piece()
	if r := rest.Of(err); r != nil {
		return false, r.Within(func() error {
			if again, err := s.stint(ctx, st, r.Resume); !again {
				return err
			}
			return s.runs(ctx, st.away)
		})
	}
	r := st.run
	s.survived(r.Head.Fence, err)
	if ctx.Err() != nil {
		if err != nil && errors.Is(context.Cause(ctx), supervisor.ErrOperatorRestart) {
			s.left(r, givenUp(err, st.term.Holds()), err)
		}
		return false, s.ended(ctx, r, err)
	}
	if !st.handedBack || !supervisor.StuckAlone(err) {
		s.left(r, givenUp(err, st.term.Holds()), err)
	}
	if st.handedBack && supervisor.StuckAlone(err) {
		s.yield(r.Head.Fence) // a source that has not ended reaches nothing of it any more
		r.GivenUp()
		return true, nil
	}
	if storeAway(err) {
		st.away.lived(time.Since(st.began))
		s.awaitStore(ctx, st.away, err)
		return true, nil
	}
	if st.term.Holds() {
		return false, s.ended(ctx, r, err)
	}
	s.log().Warn("the graph stands down, for this daemon is not known to own it any more", "graph", s.ref.Name,
		"tenant", s.ref.Tenant, "epoch", r.Reactor.Core.Epoch())
	return true, nil
}

// ended is the answer to the supervisor when the last run has ended with err.
func (s *Shard) ended(ctx context.Context, r *life.Run, err error) error {
	if ctx.Err() != nil && s.host.Closing() {
		s.shut() // nobody here takes what waits
		if err == nil {
			s.yield(r.Head.Fence)
		}
	}
	s.mu.Lock()
	s.failure = nil
	if ctx.Err() != nil {
		s.failure = err
		err = nil
	}
	s.mu.Unlock()
	return err
}

// take waits until this daemon may run the graph and makes a run of it, under the term that
// ends it. Both are nil when ctx is done.
func (s *Shard) take(ctx context.Context, away *away) (*life.Run, *lease.Term, error) {
	for {
		t := s.stand(ctx)
		if t == nil {
			return nil, nil, nil
		}
		if !s.isShown(away) {
			s.SetHealth(reactor.HealthStarting, "", "")
		}
		r, err := s.load(ctx, t)
		var owned *checkpoint.OwnedError
		switch {
		case errors.As(err, &owned):
			s.host.Lease.Learn(s.ID(), owned)
		case errors.Is(err, checkpoint.ErrLeaseLost):
			s.host.Lease.Lost(t, err)
		case storeAway(err):
			s.awaitStore(ctx, away, err)
		case errors.Is(err, errGone):
			wait(ctx, lookAgain)
		default:
			return r, t, err
		}
	}
}

// stand waits, as standby, until this daemon may run the graph; nil when ctx is done. A push that waits here is told
// so, and does not wait for a run that is another daemon's.
func (s *Shard) stand(ctx context.Context) *lease.Term {
	defer func() {
		for _, box := range s.cfg.Mailboxes {
			box.Open()
		}
	}()
	return s.host.Lease.Stand(ctx, s.ID(), func(at lease.Standing) {
		s.setOwner(at)
		s.SetHealth(reactor.HealthStandby, at.Code, at.Detail)
		s.shut()
	})
}

// shut has the inputs turn away pushes, those that wait too.
func (s *Shard) shut() {
	for _, box := range s.cfg.Mailboxes {
		box.Shut()
	}
}

// StandsBy says that the graph is another daemon's, or about to be.
func (s *Shard) StandsBy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.run == nil && s.health == reactor.HealthStandby
}

func (s *Shard) setOwner(at lease.Standing) {
	s.mu.Lock()
	s.owner, s.ownerAt = at.Owner, at.Address
	s.pardon = s.pardon && at.Owner == "" // what crashes there has not been looked at yet
	s.mu.Unlock()
}

// Elsewhere refuses what only the shard's owner can do, while it stands by here; nil otherwise.
func (s *Shard) Elsewhere(status int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run != nil || s.health != reactor.HealthStandby {
		return nil
	}
	return s.standbyError(status)
}

// standbyError refuses what only the graph's owner can do. s.mu is held.
func (s *Shard) standbyError(status int) error {
	e := &api.Error{
		Status: status, Code: "graph_standby", Detail: fmt.Sprintf("graph %s stands by here: %s", s.ref.Name,
			told.Cause(s.reason, "")),
	}
	if s.owner != "" {
		e.Extra = map[string]any{"owner": s.owner}
		if s.ownerAt != "" {
			e.Extra["owner_address"] = s.ownerAt
		}
	}
	return e
}

// GiveUp gives a shard of a graph up that has been removed, if it was this daemon's: applied again, it
// is not waited for here. What was taken a moment ago nobody knows of yet but the store.
func (s *Shard) GiveUp() {
	s.mu.Lock()
	taken := s.taken
	s.mu.Unlock()
	if taken > 0 && !s.host.Lease.Sole() {
		s.yield(taken)
	}
}

// Vacate gives a shard up that the graph has no more, also where its last taking was not answered, as when the stop
// came upon the call: the store may know it as this daemon's, and as long as this one lives nobody could deal the keys
// to it. It is taken once more then, which says whose it is.
func (s *Shard) Vacate() {
	s.mu.Lock()
	unknown := s.unanswered > 0
	s.mu.Unlock()
	if unknown && !s.host.Lease.Sole() {
		ctx, cancel := s.briefly(yieldTimeout)
		defer cancel()
		if head, _, err := s.Acquire(ctx); err != nil {
			s.log().Warn("it is not known whether a shard that the graph has no more is this daemon's", "graph",
				s.ref.Name, "tenant", s.ref.Tenant, "shard", s.cfg.Number, "err", err)
		} else if gone := s.host.Store.Relinquish(ctx, s.ID(), head.Fence); gone != nil {
			s.survived(head.Fence, nil) // its next owner clears it: nothing ran
		}
	}
	s.GiveUp()
}

// yield gives a graph whose run under this fence has stopped to whoever is to run it.
func (s *Shard) yield(fence int64) {
	ctx, cancel := s.briefly(yieldTimeout)
	defer cancel()
	if err := s.host.Lease.Yield(ctx, s.ID(), fence); err != nil {
		s.log().Warn("the graph was not given up; it stays this daemon's until that ends or has lost its lease",
			"graph", s.ref.Name, "tenant", s.ref.Tenant, "err", err)
	}
}
