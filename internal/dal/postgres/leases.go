package postgres

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/dal/postgres/members"
	"github.com/graphd/graphd/internal/dal/postgres/schema"
	"github.com/graphd/graphd/internal/dal/postgres/wires"
	"github.com/graphd/graphd/internal/dal/rules"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	pgMakeLease = `INSERT INTO lease (owner, name, application, expires_at, member, address, version, capacity,
		started, drained, leaving, peer) VALUES ($1, $2, $3,
		clock_timestamp() + $4 * interval '1 microsecond', $5, $6, $7, $8, $9,
		coalesce((SELECT drained FROM member_drain WHERE member = $5), false), $10, $11)`
	// It answers with the leases that have expired, the owner's own never among them. A daemon of a release that has no
	// member_drain says of the lease alone that its member is drained: what the lease says is the later word.
	pgRenewLease = `WITH renewed AS (UPDATE lease SET expires_at = clock_timestamp() + $2 * interval '1 microsecond'
			WHERE owner = $1 RETURNING member, drained),
		said AS (INSERT INTO member_drain (member, drained) SELECT member, drained FROM renewed r
			WHERE drained <> coalesce((SELECT d.drained FROM member_drain d WHERE d.member = r.member), false)
			ON CONFLICT (member) DO UPDATE SET drained = excluded.drained, said = excluded.said)
		SELECT (SELECT version FROM declaration_change), ARRAY (SELECT owner FROM lease
			WHERE expires_at <= clock_timestamp() AND owner <> $1), ` + schema.Said + ` FROM renewed`
	pgHasLease = `SELECT EXISTS (SELECT FROM lease WHERE owner = $1)`
	// A backend of a dead owner may hold locks while its daemon hangs: they are ended first, in the same statement,
	// for what stands still meanwhile waits for the answer. An owner that has renewed in between is looked at again
	// when its row's lock is free, and stays.
	pgDropLeases = `WITH ended AS (SELECT count(pg_terminate_backend(a.pid)) AS n FROM lease l
			JOIN pg_stat_activity a ON a.application_name = l.application
			WHERE l.owner = ANY ($1) AND l.application <> $2 AND l.expires_at <= clock_timestamp()),
		gone AS (DELETE FROM lease WHERE (SELECT n FROM ended) >= 0 AND owner = ANY ($1)
			AND expires_at <= clock_timestamp() RETURNING 1)
		SELECT pg_notify('` + members.Channel + `', current_schema()) FROM gone`
	pgYield = `WITH given AS (UPDATE graph_number SET owner = '' WHERE tenant = $1 AND graph = $2 AND shard = $3
		AND owner = $4 AND fence = $5 RETURNING 1)
		SELECT pg_notify('` + members.Channel + `', current_schema()) FROM given`
	pgGone = `WITH gone AS (DELETE FROM lease WHERE owner = $1 RETURNING member),
		said AS (DELETE FROM member_drain WHERE member IN (SELECT member FROM gone))
		SELECT pg_notify('` + members.Channel + `', current_schema()) FROM gone`
)

// owner is the lease that this daemon acquires graphs under, "" when it has none.
func (p *Store) owner() string {
	if l := p.lease.Load(); l != nil {
		return *l
	}
	return ""
}

// RenewLease keeps this daemon the owner of its graphs; see [checkpoint.Leases].
//
// A taking looks for the owner's row, not at its clock: an owner is dead once its row is
// gone, and one that is gone never comes back, for every lease has a name of its own. So a
// renewal that comes a moment too late is either in time, and the row stays, or finds none.
func (p *Store) RenewLease(ctx context.Context, ttl time.Duration) (lease checkpoint.Lease, err error) {
	// What may not be written is not owned: the lease expires, and is made anew when the store can be read again.
	if p.raised.Refusal() != nil {
		if err := p.lookAgain(ctx); err != nil {
			return lease, rules.Wrap(err, "renew the lease")
		}
	}
	if p.owner() == "" {
		owner := fmt.Sprintf("%s/%d", p.Me.ID, p.terms.Add(1))
		if _, err := p.exec(ctx, p.leases, pgMakeLease, owner, storable(p.Me.Name), p.application(), ttl.Microseconds(),
			p.Me.ID, storable(p.Me.Address), storable(p.Me.Version), p.Me.Capacity, rules.Nanos(p.Me.Started),
			p.Leaving.Load(), storable(p.Me.Peer)); err != nil {
			return lease, rules.Wrap(err, "make a lease")
		}
		p.lease.Store(&owner)
	}
	owner := p.owner()
	var expired []string
	var version, format, readableFrom int64
	found, err := p.row(ctx, p.leases, pgRenewLease, []any{owner, ttl.Microseconds()}, &lease.Declarations,
		&expired, &version, &format, &readableFrom)
	if err == nil && found {
		err = p.raised.Take(version, format, readableFrom)
	}
	if err != nil {
		return lease, rules.Wrap(err, "renew the lease")
	}
	if !found {
		p.lease.Store(nil)
		// Whoever took the graphs has ended what this daemon had under way, its idle connections
		// too: they are not for the next lease to find dead.
		p.bulk.Reset()
		p.control.Reset()
		p.asks.Reset()
		return lease, checkpoint.ErrLeaseLost
	}
	if len(expired) > 0 {
		// What can not be done now is tried with the next renewal; the lease itself is renewed. Its caller
		// knows so only after this, which waits for no lock longer than lock_timeout allows on this pool.
		_ = p.dropExpired(ctx, expired)
	}
	return lease, nil
}

// lookAgain says whether a newer release has raised the store beyond what this one reads.
func (p *Store) lookAgain(ctx context.Context) error {
	var version, format, readableFrom int64
	if _, err := p.row(ctx, p.asks, schema.SaidAlone, nil, &version, &format, &readableFrom); err != nil {
		return err
	}
	return p.raised.Take(version, format, readableFrom)
}

// Ahead is how many migrations the store has that this release does not know: a newer one has raised it.
func (p *Store) Ahead() int64 { return p.raised.Ahead() }

// dropExpired ends what dead owners may still have under way, and takes their leases away.
func (p *Store) dropExpired(ctx context.Context, owners []string) error {
	slices.Sort(owners)
	_, err := p.exec(ctx, p.leases, pgDropLeases, owners, p.application())
	return err
}

// checkLease says whether a taking failed because the taker's own lease is gone.
func (p *Store) checkLease(ctx context.Context, me string) error {
	if me == "" {
		return nil
	}
	var lives bool
	_, err := p.row(ctx, p.control, pgHasLease, []any{me}, &lives)
	if err == nil && !lives {
		err = checkpoint.ErrLeaseLost
	}
	return err
}

// Yield gives a graph up; see [checkpoint.Leases].
func (p *Store) Yield(ctx context.Context, id checkpoint.ID, fence int64) error {
	_, err := p.exec(ctx, p.control, pgYield, id.Tenant, id.Graph, id.Shard, p.owner(), fence)
	return rules.Wrap(err, "yield graph %s", id)
}

// AwaitChange listens on a connection of its own; see [checkpoint.Leases]. When that was
// lost, it listens on a new one, and says that there may have been a change.
func (p *Store) AwaitChange(ctx context.Context) error {
	if p.listener == nil {
		return rules.Wrap(p.listen(ctx), "listen for other daemons")
	}
	for {
		n, err := p.hear(ctx)
		if err == nil && n == nil {
			continue // nothing was said, and the line carries
		}
		if err != nil {
			p.deafen()
			return rules.Wrap(p.away.Hide(ctx, wires.CauseOf(ctx, err)), "listen for other daemons")
		}
		if n.Payload == p.schema {
			return nil
		}
	}
}

// listenPause is after how long a silent listener looks whether its line still carries.
const listenPause = 5 * time.Second

// hear waits for a notification; nil says that none came for a while, and that the server answers.
func (p *Store) hear(ctx context.Context) (*pgconn.Notification, error) {
	wait, cancel := context.WithTimeout(ctx, listenPause)
	defer cancel()
	n, err := p.listener.WaitForNotification(wait)
	if err == nil || context.Cause(ctx) != nil || wait.Err() == nil {
		return n, err
	}
	ask := wires.Within(ctx, p.timeouts.Lease)
	defer ask.Stop()
	return nil, wires.CauseOf(ask, p.listener.Ping(ask))
}

func (p *Store) listen(ctx context.Context) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	s := wires.Within(ctx, p.timeouts.Lease)
	defer s.Stop()
	c, err := p.leases.Acquire(s)
	if err != nil {
		return p.away.Hide(s, explain(wires.CauseOf(s, err)))
	}
	p.listener = c.Hijack()
	if _, err := p.listener.Exec(s, "LISTEN "+members.Channel); err != nil {
		p.deafen()
		return p.away.Hide(s, explain(wires.CauseOf(s, err)))
	}
	return nil
}

// deafen closes the listener. It is for the goroutine that calls AwaitChange, or after its end.
func (p *Store) deafen() {
	if p.listener != nil {
		end, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = p.listener.Close(end) // nothing depends on it
		p.listener = nil
	}
}

// leave gives up the lease, if there is one.
func (p *Store) leave() error {
	p.deafen()
	owner := p.owner()
	if owner == "" {
		return nil
	}
	p.lease.Store(nil)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	_, err := p.exec(ctx, p.leases, pgGone, owner)
	return rules.Wrap(err, "give up the lease; it expires by itself")
}
