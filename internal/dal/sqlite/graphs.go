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
