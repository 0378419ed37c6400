package dal

import (
	"context"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
)

// soleOwner is [checkpoint.Leases] of a store that one process has to itself: the lease
// always holds, and nobody else changes anything.
type soleOwner struct{}

// RenewLease always succeeds.
func (soleOwner) RenewLease(context.Context, time.Duration) (checkpoint.Lease, error) {
	return checkpoint.Lease{Sole: true}, nil
}

// Owned is empty.
func (soleOwner) Owned(context.Context) (map[checkpoint.ID]string, error) { return nil, nil }

// Yield has nobody to yield to.
func (soleOwner) Yield(context.Context, checkpoint.ID) error { return nil }

// AwaitChange waits until ctx is done.
func (soleOwner) AwaitChange(ctx context.Context) error {
	<-ctx.Done()
	return context.Cause(ctx)
}
