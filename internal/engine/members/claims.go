package members

import (
	"context"
	"sync"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/supervisor"
)

const (
	// claimAgain is how often a claim is asked for that another one has, disclaimTime how long giving one up may take.
	claimAgain   = 200 * time.Millisecond
	disclaimTime = 2 * time.Second
)

// owed are the claims that the store may have for this daemon and that nobody here holds: to be given up before they
// are made again.
type owed struct {
	mu     sync.Mutex
	claims map[owedClaim]bool
}

type owedClaim struct {
	graph checkpoint.ID
	claim string
}

func (o *owed) has(c owedClaim) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.claims[c]
}

func (o *owed) add(c owedClaim) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.claims == nil {
		o.claims = map[owedClaim]bool{}
	}
	o.claims[c] = true
}

func (o *owed) drop(c owedClaim) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.claims, c)
}

// Hold makes a claim on a graph this daemon's, and waits while another one has it: [checkpoint.ErrClaimed] when ctx is
// done by then. held ends with ctx, and when the claim may be another's: this daemon's lease was not renewed in time.
// release gives it up, or has it given up as soon as the store can be reached.
func (s *Members) Hold(ctx context.Context, id checkpoint.ID, claim string) (
	held context.Context, release func(), err error) {
	again := time.NewTicker(claimAgain)
	defer again.Stop()
	for {
		term := s.Own.Term()
		granted := false
		if term != nil && term.Holds() && !s.owed.has(owedClaim{id, claim}) {
			if granted, err = s.Claims.Claim(ctx, id, claim); err != nil {
				s.disclaim(id, claim) // the store may have it, and nobody would give it up
				if ctx.Err() == nil {
					return nil, nil, err
				}
			}
		}
		if granted {
			held, cancel := context.WithCancel(ctx)
			stop := context.AfterFunc(term.Context(), cancel)
			return held, func() {
				stop()
				cancel()
				s.disclaim(id, claim)
			}, nil
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return nil, nil, checkpoint.ErrClaimed
		}
	}
}

// disclaim gives a claim up. One that cannot be is tried again until it is, for as long as the daemon lives: the store
// renews a lease that is over and that nobody has taken away, as behind its own outage, and the claim would go on with
// it and be nobody's.
func (s *Members) disclaim(id checkpoint.ID, claim string) {
	c := owedClaim{id, claim}
	// From here on: what is on its way to the store may arrive behind a claim that is made meanwhile. Who asked may
	// have gone.
	s.owed.add(c)
	if s.giveUp(context.Background(), id, claim) {
		s.owed.drop(c)
		return
	}
	s.Tasks.Go(context.Background(), "claims", func(ctx context.Context, _ *supervisor.Node) error {
		again := time.NewTicker(claimAgain)
		defer again.Stop()
		for {
			select {
			case <-again.C:
			case <-ctx.Done():
				return nil // the daemon ends, and with it its lease
			}
			if s.giveUp(ctx, id, claim) {
				s.owed.drop(c)
				return nil
			}
		}
	})
}

// giveUp tells the store once that a claim is nobody's, and says whether it has heard.
func (s *Members) giveUp(ctx context.Context, id checkpoint.ID, claim string) bool {
	within, cancel := context.WithTimeout(ctx, disclaimTime)
	defer cancel()
	err := s.Claims.Disclaim(within, id, claim)
	if err != nil && ctx.Err() == nil {
		s.Log.Warn("a claim on a graph could not be given up; it is tried again until it is", "graph", id.Graph,
			"tenant", id.Tenant, "claim", claim, "err", err)
	}
	return err == nil
}
