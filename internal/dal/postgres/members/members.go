// Package members is the table of leases in a PostgreSQL store, read as who is there. Start at [Roll].
package members

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/dal/rules"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Channel is where daemons on one database hear of each other: a graph was given up, a daemon has
// left or is about to, a declaration has changed. The schema is the payload: other stores may be in
// the database.
const Channel = "graphd"

const (
	// Member is, of a row l of lease, who that is: of a release before members the lease's owner.
	Member = `coalesce(nullif(l.member, ''), l.owner)`
	// One statement, so that who is there and who owns what is of one moment.
	roster = `SELECT ` + Member + `, l.name, l.address, l.version, l.capacity, l.started, l.leaving, l.drained, l.peer,
			l.expires_at <= clock_timestamp(), (SELECT version FROM declaration_change), o.tenants, o.graphs, o.shards,
			c.tenants, c.graphs, (extract(epoch FROM l.expires_at - clock_timestamp()) * 1000000)::bigint
		FROM lease l CROSS JOIN LATERAL (SELECT coalesce(array_agg(n.tenant), '{}') AS tenants,
			coalesce(array_agg(n.graph), '{}') AS graphs, coalesce(array_agg(n.shard), '{}') AS shards
			FROM graph_number n WHERE n.owner = l.owner) o
			CROSS JOIN LATERAL (SELECT coalesce(array_agg(tenant), '{}') AS tenants,
			coalesce(array_agg(graph), '{}') AS graphs
			FROM graph_claim WHERE owner = l.owner AND claim = '` + checkpoint.ClaimDeal + `') c ORDER BY 1`
	// A claim of a lease that is gone is gone with it.
	claim = `WITH said AS (INSERT INTO graph_claim (tenant, graph, claim, owner)
			SELECT $1, $2, $3, owner FROM lease WHERE owner = $4
			ON CONFLICT (tenant, graph, claim) DO UPDATE SET owner = excluded.owner
			WHERE graph_claim.owner = excluded.owner RETURNING 1)
		SELECT pg_notify('` + Channel + `', current_schema()) FROM said`
	disclaim = `WITH said AS (DELETE FROM graph_claim
			WHERE tenant = $1 AND graph = $2 AND claim = $3 AND owner = $4 RETURNING 1)
		SELECT pg_notify('` + Channel + `', current_schema()) FROM said`
	leave = `WITH said AS (UPDATE lease SET leaving = true WHERE owner = $1 RETURNING 1)
		SELECT pg_notify('` + Channel + `', current_schema()) FROM said`
	// A lease may be taken away before its member has heard, which then makes another: what is said stands beside it,
	// until the member leaves, or is long gone.
	drain = `WITH said AS (UPDATE lease l SET drained = $2 WHERE ` + Member + ` = $1 RETURNING 1),
		kept AS (INSERT INTO member_drain (member, drained) SELECT $1, $2 FROM said LIMIT 1
			ON CONFLICT (member) DO UPDATE SET drained = excluded.drained, said = excluded.said),
		gone AS (DELETE FROM member_drain d WHERE d.said < clock_timestamp() - interval '7 days' AND d.member <> $1
			AND NOT EXISTS (SELECT FROM lease l WHERE ` + Member + ` = d.member))
		SELECT pg_notify('` + Channel + `', current_schema()) FROM said`
)

// Use runs statements on a connection.
type Use = func(ctx context.Context, c *pgxpool.Conn) error

// Roll is [checkpoint.Members] and [checkpoint.Claims] over the store's connections: On lends one for as long as use
// runs.
type Roll struct {
	// Me is this daemon, Owner the lease that it has, "" for none.
	Me    checkpoint.Member
	Owner func() string
	On    func(ctx context.Context, use Use) error
	// Leaving is what this daemon has said of itself, which goes with it from one lease to the next.
	Leaving atomic.Bool
}

// Self is this daemon's id.
func (t *Roll) Self() string { return t.Me.ID }

// Roster reads who is there.
func (t *Roll) Roster(ctx context.Context) (r checkpoint.Roster, err error) {
	r.Owners, r.Dealers = map[checkpoint.ID]string{}, map[checkpoint.ID]string{}
	err = t.On(ctx, func(ctx context.Context, c *pgxpool.Conn) error {
		rows, err := c.Query(ctx, roster)
		if err != nil {
			return err
		}
		var m checkpoint.Member
		var started int64
		var tenants, graphs []string
		var dealtTenants, dealtGraphs []string
		var shards []int
		var left int64 // of the lease, in microseconds
		_, err = pgx.ForEachRow(rows, []any{&m.ID, &m.Name, &m.Address, &m.Version, &m.Capacity, &started, &m.Leaving,
			&m.Drained, &m.Peer, &m.Expired, &r.Declarations, &tenants, &graphs, &shards,
			&dealtTenants, &dealtGraphs, &left}, func() error {
			m.Started = rules.FromNanos(started)
			r.Members = append(r.Members, m)
			l := time.Duration(left) * time.Microsecond
			if m.ID != t.Me.ID && l > 0 && (r.Left == 0 || l < r.Left) {
				r.Left = l
			}
			for i := range tenants {
				r.Owners[checkpoint.ID{Tenant: tenants[i], Graph: graphs[i], Shard: shards[i]}] = m.ID
			}
			for i := range dealtTenants {
				r.Dealers[checkpoint.ID{Tenant: dealtTenants[i], Graph: dealtGraphs[i]}] = m.ID
			}
			return nil
		})
		return err
	})
	return r, rules.Wrap(err, "read who is on the store")
}

// Leave says that this daemon is about to end.
func (t *Roll) Leave(ctx context.Context) error {
	t.Leaving.Store(true)
	_, err := t.tell(ctx, leave, t.Owner())
	return rules.Wrap(err, "tell the other daemons that this one leaves")
}

// Drain says that a member is to run nothing, or that it may again.
func (t *Roll) Drain(ctx context.Context, member string, drained bool) error {
	found, err := t.tell(ctx, drain, member, drained)
	if err == nil && !found {
		err = checkpoint.ErrNotFound
	}
	return rules.Wrap(err, "drain member %s", member)
}

// Claim makes a claim on a graph this daemon's.
func (t *Roll) Claim(ctx context.Context, id checkpoint.ID, name string) (granted bool, err error) {
	granted, err = t.tell(ctx, claim, id.Tenant, id.Graph, name, t.Owner())
	return granted, rules.Wrap(err, "claim graph %s (%s)", id, name)
}

// Disclaim gives one up.
func (t *Roll) Disclaim(ctx context.Context, id checkpoint.ID, name string) error {
	_, err := t.tell(ctx, disclaim, id.Tenant, id.Graph, name, t.Owner())
	return rules.Wrap(err, "give up the claim on graph %s (%s)", id, name)
}

// tell changes a row, and says whether there is one.
func (t *Roll) tell(ctx context.Context, text string, args ...any) (found bool, err error) {
	err = t.On(ctx, func(ctx context.Context, c *pgxpool.Conn) error {
		tag, err := c.Exec(ctx, text, args...)
		found = tag.RowsAffected() > 0
		return err
	})
	return found, err
}
