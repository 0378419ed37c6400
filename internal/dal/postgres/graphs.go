package postgres

import (
	"context"
	"math"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/dal/postgres/pushkeys"
	"github.com/graphd/graphd/internal/dal/rules"
	"github.com/jackc/pgx/v5"
)

const (
	pgInsertEvent = `INSERT INTO recovery_event (tenant, graph, shard, at, component, kind, reason, stack, attempt,
		delay, outcome, incarnation)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`
	pgListEvents = `SELECT id, at, graph, shard, component, kind, reason, stack, attempt, delay, outcome, incarnation
		FROM recovery_event WHERE tenant = $1 AND graph = $2 AND id < $3 ORDER BY id DESC LIMIT $4`
	pgPruneEvents = `DELETE FROM recovery_event WHERE id = ANY (ARRAY (SELECT id FROM recovery_event WHERE at < $1 ` +
		`LIMIT $2))`
)

// AddRecoveryEvent appends to the supervisor's log and numbers the event; see [checkpoint.RecoveryEvents].
func (p *Store) AddRecoveryEvent(ctx context.Context, id checkpoint.ID, ev checkpoint.RecoveryEvent) error {
	_, err := p.exec(ctx, p.control, pgInsertEvent, id.Tenant, id.Graph, id.Shard, rules.Nanos(ev.At),
		storable(ev.Component), storable(ev.Kind), storable(ev.Reason),
		storable(ev.Stack), ev.Attempt, int64(ev.Delay), storable(ev.Outcome), ev.Incarnation)
	return rules.Wrap(err, "add recovery event of graph %s", id)
}

// RecoveryEvents lists the supervisor's log of one graph; see [checkpoint.RecoveryEvents].
func (p *Store) RecoveryEvents(ctx context.Context, id checkpoint.ID, q checkpoint.Query) (
	items []checkpoint.RecoveryEvent, next string, err error) {
	below, err := rules.RecoveryBound(q.Before)
	if err != nil {
		return nil, "", rules.Wrap(err, "list recovery events of graph %s", id)
	}
	size := rules.PageSize(q)
	err = p.rows(ctx, pgListEvents, []any{id.Tenant, id.Graph, below, size + 1}, func(r pgx.Rows) error {
		var ev checkpoint.RecoveryEvent
		var at, delay int64
		err := r.Scan(&ev.ID, &at, &ev.Graph, &ev.Shard, &ev.Component, &ev.Kind, &ev.Reason, &ev.Stack, &ev.Attempt,
			&delay, &ev.Outcome, &ev.Incarnation)
		ev.At, ev.Delay = rules.FromNanos(at), time.Duration(delay)
		items = append(items, ev)
		return err
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
func (p *Store) PruneRecoveryEvents(ctx context.Context, olderThan time.Time) (removed int64, err error) {
	before := rules.Nanos(olderThan)
	if olderThan.IsZero() {
		before = math.MinInt64
	}
	for {
		deleted, err := p.execFor(ctx, p.bulk, longTimeout, pgPruneEvents, before, rules.PruneBatch)
		if err != nil {
			return removed, rules.Wrap(err, "prune recovery events")
		}
		removed += deleted
		if deleted < rules.PruneBatch {
			return removed, nil
		}
	}
}

// pgSweeps removes a batch of a dropped state's rows, one table each.
var pgSweeps = []string{
	`DELETE FROM cell WHERE ctid = ANY (ARRAY (SELECT ctid FROM cell WHERE state = $1 LIMIT $2))`,
	`DELETE FROM firing WHERE ctid = ANY (ARRAY (SELECT ctid FROM firing WHERE state = $1 LIMIT $2))`,
	`DELETE FROM dead_letter WHERE ctid = ANY (ARRAY (SELECT ctid FROM dead_letter WHERE state = $1 LIMIT $2))`,
	`DELETE FROM journal WHERE ctid = ANY (ARRAY (SELECT ctid FROM journal WHERE state = $1 LIMIT $2))`,
	`DELETE FROM outbox WHERE ctid = ANY (ARRAY (SELECT ctid FROM outbox WHERE state = $1 LIMIT $2))`,
	pushkeys.Sweep,
}

// sweep removes all rows of all deleted graphs, a batch at a time. Daemons that sweep at the
// same time do some of it twice, which is harmless.
func (p *Store) sweep(ctx context.Context) error {
	const batch = 5000
	for {
		var state int64
		found, err := p.row(ctx, p.control, `SELECT state FROM dropped_state LIMIT 1`, nil, &state)
		if err != nil || !found {
			return err
		}
		for _, text := range pgSweeps {
			for n := int64(batch); n == batch; {
				if n, err = p.execFor(ctx, p.bulk, longTimeout, text, state, batch); err != nil {
					return err
				}
			}
		}
		if _, err := p.exec(ctx, p.control, `DELETE FROM dropped_state WHERE state = $1`, state); err != nil {
			return err
		}
	}
}
