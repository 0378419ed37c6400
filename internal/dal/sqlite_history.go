package dal

import (
	"context"

	"github.com/graphd/graphd/internal/checkpoint"
)

const (
	insertFiring = `INSERT OR IGNORE INTO firing (tenant, graph, incarnation, epoch, key, data) VALUES (?, ?, ?, ?, ?, ?)`
	trimFirings  = `DELETE FROM firing WHERE rowid IN (
		SELECT rowid FROM firing WHERE tenant = ? AND graph = ? ORDER BY incarnation, epoch LIMIT ?)`
	listFirings = `SELECT incarnation, epoch, key, data FROM firing
		WHERE tenant = ? AND graph = ? AND (incarnation, epoch) < (?, ?)
		ORDER BY incarnation DESC, epoch DESC LIMIT ?`
	listFiringsOfKey = `SELECT incarnation, epoch, key, data FROM firing
		WHERE tenant = ? AND graph = ? AND (incarnation, epoch) < (?, ?) AND key = ?
		ORDER BY incarnation DESC, epoch DESC LIMIT ?`
	// It goes down the incarnations that are in the ring, one look each, instead of
	// through all records.
	selectFiring = `WITH RECURSIVE started (incarnation) AS (
			SELECT max(incarnation) FROM firing WHERE tenant = ?1 AND graph = ?2
			UNION ALL
			SELECT (SELECT max(f.incarnation) FROM firing f WHERE f.tenant = ?1 AND f.graph = ?2 AND f.incarnation < started.incarnation)
			FROM started WHERE started.incarnation IS NOT NULL)
		SELECT f.incarnation, f.epoch, f.key, f.data FROM started CROSS JOIN firing f
		WHERE f.tenant = ?1 AND f.graph = ?2 AND f.incarnation = started.incarnation AND f.epoch = ?3 LIMIT 1`
)

// writeFirings adds a commit's records to the ring, trims it, and returns how many
// records it holds then. The head keeps that number, for to count a full ring with
// every commit would cost more than the commit.
func writeFirings(ctx context.Context, conn *conn, c *checkpoint.Commit, held int64) (int64, error) {
	tenant, graph := c.ID.Tenant, c.ID.Graph
	for _, f := range ringTail(c.Firings, c.KeepFirings) {
		if err := context.Cause(ctx); err != nil {
			return 0, err
		}
		added, err := conn.exec(insertFiring, tenant, graph, f.Incarnation, f.Epoch, f.Key, orEmpty(f.Data))
		if err != nil {
			return 0, err
		}
		held += added
	}
	over := held - int64(max(c.KeepFirings, 0))
	if over <= 0 {
		return held, nil
	}
	trimmed, err := conn.exec(trimFirings, tenant, graph, over)
	return held - trimmed, err
}

// Firings lists the history; see [checkpoint.History].
func (s *SQLite) Firings(ctx context.Context, id checkpoint.ID, q checkpoint.Query) (items []checkpoint.Firing, next string, err error) {
	below, err := firingPlace(q.Before)
	if err != nil {
		return nil, "", wrap(err, "list firings of graph %s", id)
	}
	size := pageSize(q)
	text, args := listFirings, []any{id.Tenant, id.Graph, below.incarnation, below.epoch}
	if q.Key != "" {
		text, args = listFiringsOfKey, append(args, q.Key)
	}
	err = s.read(ctx, func(c *conn) error {
		return c.query(ctx, text, func(r row) error {
			items = append(items, firingOf(r))
			return nil
		}, append(args, int64(size+1))...)
	})
	if err != nil {
		return nil, "", wrap(err, "list firings of graph %s", id)
	}
	items, next = page(items, size, func(f *checkpoint.Firing) string { return firingCursor(firingPlaceOf(f)) })
	return items, next, nil
}

// Firing is one record of the history; see [checkpoint.History].
func (s *SQLite) Firing(ctx context.Context, id checkpoint.ID, epoch int64) (f checkpoint.Firing, err error) {
	err = s.read(ctx, func(c *conn) error {
		r, err := c.first(selectFiring, id.Tenant, id.Graph, epoch)
		if err == nil && r == nil {
			return notFound("firing of epoch", epoch, id)
		}
		if err == nil {
			f = firingOf(r)
		}
		return err
	})
	return f, wrap(err, "read firing")
}

func firingOf(r row) checkpoint.Firing {
	return checkpoint.Firing{Incarnation: r.int(0), Epoch: r.int(1), Key: r.text(2), Data: r.blob(3)}
}
