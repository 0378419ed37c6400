package rules

import (
	"context"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
)

// SoleOwner is [checkpoint.Leases] of a store that one process has to itself: the lease
// always holds, and nobody else changes anything.
type SoleOwner struct{}

// RenewLease always succeeds.
func (SoleOwner) RenewLease(context.Context, time.Duration) (checkpoint.Lease, error) {
	return checkpoint.Lease{Sole: true}, nil
}

// Owned is empty.
func (SoleOwner) Owned(context.Context) (map[checkpoint.ID]string, error) { return nil, nil }

// Yield has nobody to yield to.
func (SoleOwner) Yield(context.Context, checkpoint.ID) error { return nil }

// AwaitChange waits until ctx is done.
func (SoleOwner) AwaitChange(ctx context.Context) error {
	<-ctx.Done()
	return context.Cause(ctx)
}
