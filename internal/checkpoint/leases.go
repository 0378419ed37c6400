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
	// Owner is what that daemon calls itself, for people; Member is its id.
	Owner, Member string
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

// Member is a daemon on the store (M52). In a store of one process it is that one.
type Member struct {
	// ID is the process's, and never another's.
	ID string
	// Name, Address and Version are for people, and Address is where other daemons and clients
	// reach it; "" when it has not said.
	Name, Address, Version string
	// Peer is where other daemons forward requests to; "" when it takes none.
	Peer string
	// Capacity is its weight among the others. 0 stands by: it is given graphs only while no
	// member with a capacity is there.
	Capacity int
	Started  time.Time
	// Leaving says that it is about to end, Drained that it is to run nothing.
	Leaving, Drained bool
	// Expired says that its lease is over, by the store's clock, though nobody has taken it away yet.
	Expired bool
}

// Roster is who is there, and who owns what.
type Roster struct {
	Members []Member // by their ids
	// Owners are the members that own units, by unit, this one too. What is not in it is free.
	Owners map[ID]string
	// Declarations is [Lease.Declarations].
	Declarations int64
	// Left is in how long the first of the others' leases is over that is not renewed; 0 where that is not known.
	Left time.Duration
	// Dealers are the members that deal the keys of a graph anew ([ClaimDeal]), by graph: its shards are theirs to run.
	Dealers map[ID]string
}

// ErrClaimed says that another daemon has a claim.
var ErrClaimed = errors.New("another daemon on the store has the claim")

// The claims that there are.
const (
	// ClaimDeal is had by who deals the keys of a graph to another number of shards, and runs all of them for that.
	ClaimDeal = "deal"
	// ClaimLetters is had by who replays dead letters of a graph.
	ClaimLetters = "letters"
)

// Claims are what one daemon at a time does with a graph whose shards run at several. A claim ends with the lease that
// it was made under, which is when that is taken away: one that was over and is renewed before has its claims still.
// In a store of one process each is granted. Safe for concurrent use.
type Claims interface {
	// Claim makes it this daemon's, if it is nobody's or has been this daemon's before, and tells the others; false
	// while another one has it, or this one has no lease.
	Claim(ctx context.Context, id ID, claim string) (granted bool, err error)
	// Disclaim gives it up, and tells the others.
	Disclaim(ctx context.Context, id ID, claim string) error
}

// Members are the daemons on one store. Safe for concurrent use.
type Members interface {
	// Self is this daemon's id.
	Self() string
	// Roster reads who is there.
	Roster(ctx context.Context) (Roster, error)
	// Leave says that this daemon is about to end, and tells the others.
	Leave(ctx context.Context) error
	// Drain says that a member is to run nothing, or, drained being false, that it may again, and
	// tells all; ErrNotFound when it is not there. It lasts as long as the member's process.
	Drain(ctx context.Context, member string, drained bool) error
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
	// Yield gives a graph up that was taken under this fence and released, and tells the daemons that stand
	// by. Where it was taken again since, by whomever, it changes nothing: it may arrive late.
	Yield(ctx context.Context, id ID, fence int64) error
	// AwaitChange returns nil when another daemon may have yielded a graph or changed a
	// declaration since the last call. One goroutine calls it.
	AwaitChange(ctx context.Context) error
}
