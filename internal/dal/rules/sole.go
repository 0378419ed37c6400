package rules

import (
	"cmp"
	"context"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
)

// SoleOwner is [checkpoint.Leases], [checkpoint.Members] and [checkpoint.Claims] of a store that one process has to
// itself: the lease always holds, and nobody else changes anything.
type SoleOwner struct {
	// Me is the one member. An id is made up where it has none.
	Me checkpoint.Member
}

// Self is the one member's id.
func (s *SoleOwner) Self() string { return cmp.Or(s.Me.ID, "sole") }

// Roster is the one member, and names no owners: every graph is its own.
func (s *SoleOwner) Roster(context.Context) (checkpoint.Roster, error) {
	me := s.Me
	me.ID = s.Self()
	return checkpoint.Roster{Members: []checkpoint.Member{me}}, nil
}

// Claim grants everything: nobody else could have it.
func (*SoleOwner) Claim(context.Context, checkpoint.ID, string) (bool, error) { return true, nil }

// Disclaim has nobody to tell.
func (*SoleOwner) Disclaim(context.Context, checkpoint.ID, string) error { return nil }

// Leave has nobody to tell.
func (*SoleOwner) Leave(context.Context) error { return nil }

// Drain finds the one member alone, and changes nothing: there is nobody else to run what it runs.
func (s *SoleOwner) Drain(_ context.Context, member string, _ bool) error {
	if member != s.Self() {
		return Wrap(checkpoint.ErrNotFound, "drain member %s", member)
	}
	return nil
}

// RenewLease always succeeds.
func (*SoleOwner) RenewLease(context.Context, time.Duration) (checkpoint.Lease, error) {
	return checkpoint.Lease{Sole: true}, nil
}

// Yield has nobody to yield to.
func (*SoleOwner) Yield(context.Context, checkpoint.ID, int64) error { return nil }

// AwaitChange waits until ctx is done.
func (*SoleOwner) AwaitChange(ctx context.Context) error {
	<-ctx.Done()
	return context.Cause(ctx)
}
