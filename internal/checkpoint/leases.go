package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrLeaseLost says that this daemon's lease had expired and was taken away: others may run
// its graphs. It stops them, and joins again with the next RenewLease.
var ErrLeaseLost = errors.New("the lease has expired: other daemons may run the graphs of this one")

// OwnedError is the answer to an Acquire of a graph that another daemon runs.
type OwnedError struct {
	// Owner is what that daemon calls itself, for people.
	Owner string
}

func (e *OwnedError) Error() string { return fmt.Sprintf("the graph is run by daemon %s", e.Owner) }

// Lease is what a renewal learns.
type Lease struct {
	// Declarations changes whenever any daemon has changed a declaration.
	Declarations int64
	// Sole says that this process has the store to itself: the lease needs no renewal, and
	// never ends.
	Sole bool
}

// Leases says which of the daemons on one store runs a graph (M45). A daemon has one lease;
// Acquire makes it the owner of a graph as long as the lease lives. In a store of one process
// every graph is that process's. Safe for concurrent use.
type Leases interface {
	// RenewLease makes this daemon's lease last for ttl from now on, by the store's clock; the
	// first call, and that after ErrLeaseLost, makes a new one. It also takes away the expired
	// leases of others, and ends what those daemons may still have under way in the store. An
	// error other than ErrLeaseLost leaves unknown whether the lease lasts longer now.
	RenewLease(ctx context.Context, ttl time.Duration) (Lease, error)
	// Owned names the other daemons that own graphs, by graph. What is not in it is this
	// daemon's or free.
	Owned(ctx context.Context) (map[ID]string, error)
	// Yield gives a graph up that its owner has released, and tells the daemons that stand by.
	Yield(ctx context.Context, id ID) error
	// AwaitChange returns nil when another daemon may have yielded a graph or changed a
	// declaration since the last call. One goroutine calls it.
	AwaitChange(ctx context.Context) error
}
