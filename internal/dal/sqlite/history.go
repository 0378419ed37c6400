package sqlite

import (
	"context"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/dal/rules"
	"github.com/graphd/graphd/internal/dal/sqlite/sqlconn"
)

// stateOf finds a graph's state for a read that knows the graph by name.
const stateOf = ` tenant = ?1 AND state = (SELECT state FROM graph_head WHERE tenant = ?1 AND graph = ?2 AND shard ` +
	`= ?3)`

const (
	insertFiring = `INSERT OR IGNORE INTO firing (tenant, state, incarnation, epoch, key, data) VALUES (?, ?, ?, ?, ` +
		`?, ?)`
	trimFirings = `DELETE FROM firing WHERE rowid IN (
		SELECT rowid FROM firing WHERE state = ? ORDER BY incarnation, epoch LIMIT ?)`
	listFirings = `SELECT incarnation, epoch, key, data FROM firing
		WHERE` + stateOf + ` AND (incarnation, epoch) < (?4, ?5)
		ORDER BY incarnation DESC, epoch DESC LIMIT ?6`
	listFiringsOfKey = `SELECT incarnation, epoch, key, data FROM firing
		WHERE` + stateOf + ` AND (incarnation, epoch) < (?4, ?5) AND key = ?7
		ORDER BY incarnation DESC, epoch DESC LIMIT ?6`
	// It goes down the incarnations that are in the ring, one look each, instead of
	// through all records.
	selectFiring = `WITH RECURSIVE started (incarnation) AS (
			SELECT max(incarnation) FROM firing WHERE` + stateOf + `
			UNION ALL
			SELECT (SELECT max(incarnation) FROM firing WHERE` + stateOf + `
				AND firing.incarnation < started.incarnation)
			FROM started WHERE started.incarnation IS NOT NULL)
		SELECT firing.incarnation, epoch, key, data FROM started CROSS JOIN firing
		WHERE` + stateOf + ` AND firing.incarnation = started.incarnation AND epoch = ?4 LIMIT 1`
)

// writeFirings adds a commit's records to the ring, trims it, and returns how many
// records it holds then. The head keeps that number, for to count a full ring with
// every commit would cost more than the commit.
func writeFirings(ctx context.Context, conn *sqlconn.Conn, c *checkpoint.Commit, state, held int64) (int64, error) {
	for _, f := range rules.RingTail(c.Firings, c.KeepFirings) {
		if err := context.Cause(ctx); err != nil {
			return 0, err
		}
		added, err := conn.Exec(insertFiring, c.ID.Tenant, state, f.Incarnation, f.Epoch, f.Key, rules.OrEmpty(f.Data))
		if err != nil {
			return 0, err
		}
		held += added
	}
	over := held - int64(max(c.KeepFirings, 0))
	if over <= 0 {
		return held, nil
	}
	trimmed, err := conn.Exec(trimFirings, state, over)
	return held - trimmed, err
}

// Firings lists the history; see [checkpoint.History].
func (s *Store) Firings(ctx context.Context, id checkpoint.ID, q checkpoint.Query) (
	items []checkpoint.Firing, next string, err error) {
	below, err := rules.FiringPlace(id, q.Before)
	if err != nil {
		return nil, "", rules.Wrap(err, "list firings of graph %s", id)
	}
	size := rules.PageSize(q)
	text, args := listFirings, []any{id.Tenant, id.Graph, int64(id.Shard), below.Incarnation, below.Epoch,
		int64(size + 1)}
	if q.Key != "" {
		text, args = listFiringsOfKey, append(args, q.Key)
	}
	err = s.read(ctx, func(c *sqlconn.Conn) error {
		return c.Query(ctx, text, func(r sqlconn.Row) error {
			items = append(items, firingOf(r))
			return nil
		}, args...)
	})
	if err != nil {
		return nil, "", rules.Wrap(err, "list firings of graph %s", id)
	}
	items, next = rules.Page(items, size, func(f *checkpoint.Firing) string {
		return rules.FiringCursor(id, rules.PlaceOf(f))
	})
	return items, next, nil
}

// Firing is one record of the history; see [checkpoint.History].
func (s *Store) Firing(ctx context.Context, id checkpoint.ID, epoch int64) (f checkpoint.Firing, err error) {
	err = s.read(ctx, func(c *sqlconn.Conn) error {
		r, err := c.First(selectFiring, id.Tenant, id.Graph, int64(id.Shard), epoch)
		if err == nil && r == nil {
			return rules.NotFound("firing of epoch", epoch, id)
		}
		if err == nil {
			f = firingOf(r)
		}
		return err
	})
	return f, rules.Wrap(err, "read firing")
}

func firingOf(r sqlconn.Row) checkpoint.Firing {
	return checkpoint.Firing{Incarnation: r.Int(0), Epoch: r.Int(1), Key: r.Text(2), Data: r.Blob(3)}
}
