package postgres

import (
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Every call has an end of its own, on this side of the connection: a server that is gone, or a
// line that takes bytes and carries none, answers no statement_timeout.
const (
	// callTimeout is below the lease (3 s), so that a daemon whose store hangs knows of it
	// before others run its graphs.
	callTimeout = 2500 * time.Millisecond
	// leaseTimeout leaves a renewal time for a second attempt, on a connection of its own.
	leaseTimeout = 900 * time.Millisecond
	// longTimeout is for calls that work on many rows and keep nobody waiting: sweeping, pruning. It has no part in a
	// takeover, whose calls have callTimeout, and none of them a connection that takeovers wait for.
	longTimeout = 35 * time.Second
	// lockShare is the part of a call's time, in percent, for which the server waits for a row that somebody else has
	// locked: it answers then, and nothing was done. Without, a statement whose call has ended, or whose daemon hangs,
	// would wait there on and on with what it has locked itself, and hold up who takes its graphs over.
	lockShare = 80
	// slowest is how many bytes a second a line carries at least: what a call may take grows
	// with what it carries.
	slowest = 8 << 20
	// pingTimeout bounds the look at a connection that has been idle.
	pingTimeout = 500 * time.Millisecond
	// closeTimeout bounds the farewell to the server.
	closeTimeout = time.Second
)

// Timeouts are the ends of calls; zero means the constants above.
type Timeouts struct {
	// Call bounds a call, but for what its size allows it. Below the lease.
	Call time.Duration
	// Lease bounds the calls that keep the lease.
	Lease time.Duration
}

func (t Timeouts) withDefaults() Timeouts {
	if t.Call <= 0 {
		t.Call = callTimeout
	}
	if t.Lease <= 0 {
		t.Lease = leaseTimeout
	}
	return t
}

// budget is how long a call on a pool may take that carries so many bytes.
func (p *Store) budget(pool *pgxpool.Pool, bytes int64) time.Duration {
	if pool == p.leases {
		return p.timeouts.Lease
	}
	return p.timeouts.Call + time.Duration(bytes)*time.Second/slowest
}
