package postgres

import (
	"context"
	"math"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/dal/rules"
	"github.com/jackc/pgx/v5"
)

// pgChannel is where daemons on one database hear of each other: a graph was yielded, a
// declaration has changed. The schema is the payload: other stores may be in the database.
const pgChannel = "graphd"

const (
	pgInsertEvent = `INSERT INTO recovery_event (tenant, graph, shard, at, component, kind, reason, stack, attempt,
		delay, outcome, incarnation)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`
	pgListEvents = `SELECT id, at, graph, shard, component, kind, reason, stack, attempt, delay, outcome, incarnation
		FROM recovery_event WHERE tenant = $1 AND graph = $2 AND id < $3 ORDER BY id DESC LIMIT $4`
	pgPruneEvents = `DELETE FROM recovery_event WHERE id = ANY (ARRAY (SELECT id FROM recovery_event WHERE at < $1 ` +
		`LIMIT $2))`

	pgRevision = `SELECT revision FROM declaration WHERE tenant = $1 AND graph = $2`
	// It puts over the revision that was seen ($7, 0 for none), or not at all.
	pgPutDeclaration = `WITH number AS (
			INSERT INTO graph_number AS n (tenant, graph, shard, fence, revision) VALUES ($1, $2, 0, 0, 1)
			ON CONFLICT (tenant, graph, shard) DO UPDATE SET revision = n.revision + 1 RETURNING revision
		), put AS (
			INSERT INTO declaration AS d (tenant, graph, revision, origin, updated, text)
			SELECT $1, $2, revision, $3, $4, $5 FROM number
			WHERE $6::bigint = 0 OR EXISTS (SELECT FROM declaration WHERE tenant = $1 AND graph = $2 AND revision = $6)
			ON CONFLICT (tenant, graph) DO UPDATE
			SET revision = excluded.revision, origin = excluded.origin, updated = excluded.updated, text = excluded.text
			WHERE d.revision = $6
			RETURNING revision
		), change AS (UPDATE declaration_change SET version = version + 1 WHERE EXISTS (SELECT FROM put))
		SELECT revision, pg_notify('` + pgChannel + `', current_schema()) FROM put`
	pgListDeclarations = `SELECT tenant, graph, revision, text, origin, updated FROM declaration ORDER BY tenant, graph`

	// Nothing of a state is found any more without the head. graph_number stays: its numbers
	// must not be given again.
	pgDeleteGraph = `WITH declared AS (DELETE FROM declaration WHERE tenant = $1 AND graph = $2 RETURNING 1),
		head AS (DELETE FROM graph_head WHERE $3 AND tenant = $1 AND graph = $2 RETURNING state),
		journal AS (DELETE FROM graph_journal j USING head WHERE j.state = head.state),
		dropped AS (INSERT INTO dropped_state SELECT state FROM head),
		events AS (DELETE FROM recovery_event WHERE $3 AND tenant = $1 AND graph = $2 RETURNING 1),
		change AS (UPDATE declaration_change SET version = version + 1 WHERE EXISTS (SELECT FROM declared))
		SELECT (SELECT count(*) FROM declared) + (SELECT count(*) FROM head) + (SELECT count(*)
			FROM events), pg_notify('` + pgChannel + `', current_schema())`
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

// PutDeclaration stores a document; see [checkpoint.Declarations]. Revisions go on counting
// when a graph is deleted and applied again. When another daemon puts at the same time, the
// condition is looked at again.
func (p *Store) PutDeclaration(ctx context.Context, d checkpoint.Declaration, ifRevision int64) (
	revision int64, err error) {
	id := checkpoint.ID{Tenant: d.Tenant, Graph: d.Graph}
	for {
		var have int64
		if _, err := p.row(ctx, p.control, pgRevision, []any{d.Tenant, d.Graph}, &have); err != nil {
			return 0, rules.Wrap(err, "put declaration")
		}
		if err := rules.CheckRevision(id, have, ifRevision); err != nil {
			return 0, rules.Wrap(err, "put declaration")
		}
		put, err := p.row(ctx, p.control, pgPutDeclaration, []any{
			d.Tenant, d.Graph, d.Origin, rules.Nanos(d.Updated), d.Text, have,
		}, &revision, nil)
		if err != nil || put {
			return revision, rules.Wrap(err, "put declaration")
		}
	}
}

// Declarations lists all documents, by tenant and graph.
func (p *Store) Declarations(ctx context.Context) (all []checkpoint.Declaration, err error) {
	err = p.rows(ctx, pgListDeclarations, nil, func(r pgx.Rows) error {
		var d checkpoint.Declaration
		var updated int64
		err := r.Scan(&d.Tenant, &d.Graph, &d.Revision, &d.Text, &d.Origin, &updated)
		d.Updated = rules.FromNanos(updated)
		all = append(all, d)
		return err
	})
	return all, rules.Wrap(err, "list declarations")
}

// DeleteDeclaration removes a graph; see [checkpoint.Declarations]. With state it is
// ErrNotFound only when there is neither a document nor anything persisted. The state is
// gone for every reader at once; the space it took is swept in the background.
func (p *Store) DeleteDeclaration(ctx context.Context, id checkpoint.ID, state bool) error {
	var changed int64
	_, err := p.row(ctx, p.control, pgDeleteGraph, []any{id.Tenant, id.Graph, state}, &changed, nil)
	if err == nil && changed == 0 {
		err = checkpoint.ErrNotFound
	}
	if state && err == nil {
		p.sweeper.Wake()
	}
	return rules.Wrap(err, "delete graph %s", id)
}

// pgSweeps removes a batch of a dropped state's rows, one table each.
var pgSweeps = []string{
	`DELETE FROM cell WHERE ctid = ANY (ARRAY (SELECT ctid FROM cell WHERE state = $1 LIMIT $2))`,
	`DELETE FROM firing WHERE ctid = ANY (ARRAY (SELECT ctid FROM firing WHERE state = $1 LIMIT $2))`,
	`DELETE FROM dead_letter WHERE ctid = ANY (ARRAY (SELECT ctid FROM dead_letter WHERE state = $1 LIMIT $2))`,
	`DELETE FROM journal WHERE ctid = ANY (ARRAY (SELECT ctid FROM journal WHERE state = $1 LIMIT $2))`,
	`DELETE FROM outbox WHERE ctid = ANY (ARRAY (SELECT ctid FROM outbox WHERE state = $1 LIMIT $2))`,
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
