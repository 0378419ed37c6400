package sqlite

import (
	"context"
	"math"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/dal/rules"
	"github.com/graphd/graphd/internal/dal/sqlite/sqlconn"
)

const (
	insertEvent = `INSERT INTO recovery_event (tenant, graph, shard, at, component, kind, reason, stack, attempt,
		delay, outcome, incarnation)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	listEvents = `SELECT id, at, graph, shard, component, kind, reason, stack, attempt, delay, outcome, incarnation
		FROM recovery_event WHERE tenant = ? AND graph = ? AND id < ? ORDER BY id DESC LIMIT ?`
	pruneEvents = `DELETE FROM recovery_event WHERE id IN (SELECT id FROM recovery_event WHERE at < ? LIMIT ?)`

	selectRevision = `SELECT revision FROM declaration WHERE tenant = ? AND graph = ?`
	raiseRevision  = `INSERT INTO graph_number (tenant, graph, shard, fence, revision) VALUES (?, ?, 0, 0, 1)
		ON CONFLICT (tenant, graph, shard) DO UPDATE SET revision = revision + 1 RETURNING revision`
	putDeclaration = `INSERT INTO declaration (revision, origin, updated, text, tenant, graph) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (tenant, graph) DO UPDATE
		SET revision = excluded.revision, origin = excluded.origin, updated = excluded.updated, text = excluded.text`
	listDeclarations  = `SELECT tenant, graph, revision, text, origin, updated FROM declaration ORDER BY tenant, graph`
	deleteDeclaration = `DELETE FROM declaration WHERE tenant = ? AND graph = ?`

	selectShards = `SELECT shard FROM graph_head WHERE tenant = ? AND graph = ?`
	dropState    = `INSERT INTO dropped_state (state, tenant) SELECT state, tenant FROM graph_head WHERE tenant = ? ` +
		`AND graph = ?`
	// Nothing of the state is found any more without the head. graph_number stays: its
	// numbers must not be given again.
	deleteHead   = `DELETE FROM graph_head WHERE tenant = ? AND graph = ?`
	deleteEvents = `DELETE FROM recovery_event WHERE tenant = ? AND graph = ?`
)

// AddRecoveryEvent appends to the supervisor's log and numbers the event; see [checkpoint.RecoveryEvents].
func (s *Store) AddRecoveryEvent(ctx context.Context, id checkpoint.ID, ev checkpoint.RecoveryEvent) error {
	return rules.Wrap(s.write(ctx, len(ev.Stack), func(_ context.Context, c *sqlconn.Conn) error {
		_, err := c.Exec(insertEvent, id.Tenant, id.Graph, int64(id.Shard), rules.Nanos(ev.At), ev.Component, ev.Kind,
			ev.Reason, ev.Stack,
			int64(ev.Attempt), int64(ev.Delay), ev.Outcome, ev.Incarnation)
		return err
	}), "add recovery event of graph %s", id)
}

// RecoveryEvents lists the supervisor's log of one graph; see [checkpoint.RecoveryEvents].
func (s *Store) RecoveryEvents(ctx context.Context, id checkpoint.ID, q checkpoint.Query) (
	items []checkpoint.RecoveryEvent, next string, err error) {
	below, err := rules.RecoveryBound(q.Before)
	if err != nil {
		return nil, "", rules.Wrap(err, "list recovery events of graph %s", id)
	}
	size := rules.PageSize(q)
	err = s.read(ctx, func(c *sqlconn.Conn) error {
		return c.Query(ctx, listEvents, func(r sqlconn.Row) error {
			items = append(items, checkpoint.RecoveryEvent{
				ID: r.Int(0), At: rules.FromNanos(r.Int(1)), Graph: r.Text(2), Shard: int(r.Int(3)),
				Component: r.Text(4), Kind: r.Text(5),
				Reason: r.Text(6), Stack: r.Text(7), Attempt: int(r.Int(8)), Delay: time.Duration(r.Int(9)),
				Outcome: r.Text(10), Incarnation: r.Int(11),
			})
			return nil
		}, id.Tenant, id.Graph, below, int64(size+1))
	})
	if err != nil {
		return nil, "", rules.Wrap(err, "list recovery events of graph %s", id)
	}
	items, next = rules.Page(items, size, func(ev *checkpoint.RecoveryEvent) string {
		return rules.RecoveryCursor(ev.ID)
	})
	return items, next, nil
}

// PruneRecoveryEvents removes old events of all graphs, in steps; see [checkpoint.RecoveryEvents].
func (s *Store) PruneRecoveryEvents(ctx context.Context, olderThan time.Time) (removed int64, err error) {
	before := rules.Nanos(olderThan)
	if olderThan.IsZero() {
		before = math.MinInt64
	}
	for {
		var deleted int64
		err := s.write(ctx, 0, func(_ context.Context, c *sqlconn.Conn) (err error) {
			deleted, err = c.Exec(pruneEvents, before, int64(rules.PruneBatch))
			return err
		})
		if err != nil {
			return removed, rules.Wrap(err, "prune recovery events")
		}
		removed += deleted
		if deleted < rules.PruneBatch {
			return removed, nil
		}
	}
}

// PutDeclaration stores a document; see [checkpoint.Declarations]. Revisions go on
// counting when a graph is deleted and applied again.
func (s *Store) PutDeclaration(ctx context.Context, d checkpoint.Declaration, ifRevision int64) (
	revision int64, err error) {
	id := checkpoint.ID{Tenant: d.Tenant, Graph: d.Graph}
	err = s.write(ctx, len(d.Text), func(_ context.Context, c *sqlconn.Conn) error {
		current, err := c.First(selectRevision, d.Tenant, d.Graph)
		if err != nil {
			return err
		}
		var have int64
		if current != nil {
			have = current.Int(0)
		}
		if err := rules.CheckRevision(id, have, ifRevision); err != nil {
			return err
		}
		next, err := c.First(raiseRevision, d.Tenant, d.Graph)
		if err != nil {
			return err
		}
		revision = next.Int(0)
		_, err = c.Exec(putDeclaration, revision, d.Origin, rules.Nanos(d.Updated), d.Text, d.Tenant, d.Graph)
		return err
	})
	if err != nil {
		return 0, rules.Wrap(err, "put declaration")
	}
	return revision, nil
}

// Declarations lists all documents, by tenant and graph.
func (s *Store) Declarations(ctx context.Context) (all []checkpoint.Declaration, err error) {
	err = s.read(ctx, func(c *sqlconn.Conn) error {
		return c.Query(ctx, listDeclarations, func(r sqlconn.Row) error {
			all = append(all, checkpoint.Declaration{
				Tenant: r.Text(0), Graph: r.Text(1), Revision: r.Int(2), Text: r.Text(3), Origin: r.Text(4),
				Updated: rules.FromNanos(r.Int(5)),
			})
			return nil
		})
	})
	return all, rules.Wrap(err, "list declarations")
}

// DeleteDeclaration removes a graph; see [checkpoint.Declarations]. With state it is
// ErrNotFound only when there is neither a document nor anything persisted. The state is
// gone for every reader at once; the space it took is swept in the background, so
// that a graph of a million keys does not keep the others from their commits.
func (s *Store) DeleteDeclaration(ctx context.Context, id checkpoint.ID, state bool) error {
	texts := []string{deleteDeclaration}
	if state {
		texts = append(texts, dropState, deleteHead, deleteEvents)
	}
	err := s.write(ctx, 0, func(ctx context.Context, c *sqlconn.Conn) error {
		if state {
			if err := s.forget(ctx, c, id); err != nil {
				return err
			}
		}
		var changed int64
		for _, text := range texts {
			n, err := c.Exec(text, id.Tenant, id.Graph)
			if err != nil {
				return err
			}
			changed += n
		}
		if changed == 0 {
			return &rules.Refusal{Err: checkpoint.ErrNotFound}
		}
		return nil
	})
	if state && err == nil {
		s.sweeper.Wake()
	}
	return rules.Wrap(err, "delete graph %s", id)
}

// forget drops all shards of a graph from the witness. It comes before the deletion: a graph
// that is gone by mistake would be worse than one that is not watched until its next start.
func (s *Store) forget(ctx context.Context, c *sqlconn.Conn, id checkpoint.ID) error {
	return c.Query(ctx, selectShards, func(r sqlconn.Row) error {
		return s.writer.witness.forget(checkpoint.ID{Tenant: id.Tenant, Graph: id.Graph, Shard: int(r.Int(0))})
	}, id.Tenant, id.Graph)
}
