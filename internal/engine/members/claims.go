package members

import (
	"context"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/lease"
)

const (
	// claimAgain is how often a claim is asked for that another one has, disclaimTime how long giving one up may take.
	claimAgain   = 200 * time.Millisecond
	disclaimTime = 2 * time.Second
)

// Hold makes a claim on a graph this daemon's, and waits while another one has it: [checkpoint.ErrClaimed] when ctx is
// done by then. held ends with ctx, and when the claim may be another's: this daemon's lease was not renewed in time.
// release gives it up.
func (s *Members) Hold(ctx context.Context, id checkpoint.ID, claim string) (
	held context.Context, release func(), err error) {
	again := time.NewTicker(claimAgain)
	defer again.Stop()
	for {
		term := s.Own.Term()
		granted := false
		if term != nil && term.Holds() {
			if granted, err = s.Claims.Claim(ctx, id, claim); err != nil {
				s.disclaim(term, id, claim) // the store may have it, and nobody would give it up
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
				s.disclaim(term, id, claim)
			}, nil
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return nil, nil, checkpoint.ErrClaimed
		}
	}
}

// disclaim gives a claim up. One that cannot be is tried again until it is, or the store's lease is over: that may
// outlast the term, and then the claim would be nobody's.
func (s *Members) disclaim(term *lease.Term, id checkpoint.ID, claim string) {
	again := time.NewTicker(claimAgain)
	defer again.Stop()
	for {
		ctx, cancel := context.WithTimeout(context.Background(), disclaimTime)
		err := s.Claims.Disclaim(ctx, id, claim)
		cancel()
		if err == nil || term.Gone() {
			return
		}
		s.Log.Warn("a claim on a graph could not be given up; it is tried again until this daemon's lease is over",
			"graph", id.Graph, "tenant", id.Tenant, "claim", claim, "err", err)
		<-again.C
	}
}
