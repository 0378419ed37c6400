package postgres

import (
	"cmp"
	"context"
	"errors"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/dal/postgres/members"
	"github.com/graphd/graphd/internal/dal/rules"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
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
		), noted AS (
			INSERT INTO revision (tenant, graph, revision, origin, updated, token, agent, host, change, text)
			SELECT $1, $2, revision, $3, $4, $7, $8, $9, $10, $5 FROM put
		), trimmed AS (
			DELETE FROM revision WHERE tenant = $1 AND graph = $2 AND EXISTS (SELECT FROM put)
			AND revision <= (SELECT revision FROM revision WHERE tenant = $1 AND graph = $2
				ORDER BY revision DESC LIMIT 1 OFFSET $11) -- it does not see the one that is noted
		), change AS (UPDATE declaration_change SET version = version + 1 WHERE EXISTS (SELECT FROM put))
		SELECT revision, pg_notify('` + members.Channel + `', current_schema()) FROM put`
	pgListRevisions = `SELECT revision, origin, updated, token, agent, host, change, '' FROM revision
		WHERE tenant = $1 AND graph = $2 ORDER BY revision DESC`
	pgOneRevision = `SELECT revision, origin, updated, token, agent, host, change, text FROM revision
		WHERE tenant = $1 AND graph = $2 AND revision = $3`
	pgListDeclarations = `SELECT tenant, graph, revision, text, origin, updated FROM declaration ORDER BY tenant, graph`

	// Nothing of a state is found any more without the head. graph_number stays: its numbers
	// must not be given again.
	pgDeleteGraph = `WITH declared AS (DELETE FROM declaration WHERE tenant = $1 AND graph = $2 RETURNING 1),
		head AS (DELETE FROM graph_head WHERE $3 AND tenant = $1 AND graph = $2 RETURNING state),
		journal AS (DELETE FROM graph_journal j USING head WHERE j.state = head.state),
		dropped AS (INSERT INTO dropped_state SELECT state FROM head),
		events AS (DELETE FROM recovery_event WHERE $3 AND tenant = $1 AND graph = $2 RETURNING 1),
		revisions AS (DELETE FROM revision WHERE $3 AND tenant = $1 AND graph = $2 RETURNING 1),
		change AS (UPDATE declaration_change SET version = version + 1 WHERE EXISTS (SELECT FROM declared))
		SELECT (SELECT count(*) FROM declared) + (SELECT count(*) FROM head) + (SELECT count(*)
			FROM events) + (SELECT count(*) FROM revisions), pg_notify('` + members.Channel + `', current_schema())`
)

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
		put, err := p.put(ctx, &d, have == 0 && d.Most > 0, &revision, declareArgs(&d, have))
		if err != nil || put {
			return revision, rules.Wrap(err, "put declaration")
		}
	}
}

// declareArgs are those of pgPutDeclaration.
func declareArgs(d *checkpoint.Declaration, over int64) []any {
	return []any{
		d.Tenant, d.Graph, d.Origin, rules.Nanos(d.Updated), d.Text, over,
		storable(d.By.Token), storable(d.By.Agent), storable(d.By.Host), storable(d.Change),
		checkpoint.KeepRevisions - 1,
	}
}

// put puts a declaration, counted where it makes a graph of a tenant with a bound: then others that do wait for it.
func (p *Store) put(ctx context.Context, d *checkpoint.Declaration, counted bool, revision *int64, args []any) (
	put bool, err error) {
	if !counted {
		return p.row(ctx, p.control, pgPutDeclaration, args, revision, nil)
	}
	err = p.on(ctx, p.control, func(ctx context.Context, c *pgxpool.Conn) error {
		return pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
			var have int
			_, err := tx.Exec(ctx, `SELECT FROM declaration_change FOR UPDATE`)
			if err == nil {
				err = tx.QueryRow(ctx, `SELECT count(*) FROM declaration WHERE tenant = $1`, d.Tenant).Scan(&have)
			}
			if err = cmp.Or(err, rules.CheckMost(d, have)); err == nil {
				err = tx.QueryRow(ctx, pgPutDeclaration, args...).Scan(revision, nil)
			}
			return err
		})
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
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

// Revisions lists the documents that a graph has had; see [checkpoint.Revisions].
func (p *Store) Revisions(ctx context.Context, id checkpoint.ID) ([]checkpoint.Declaration, error) {
	all, err := p.revisions(ctx, id, pgListRevisions, id.Tenant, id.Graph)
	return all, rules.Wrap(err, "list revisions of graph %s", id)
}

// Revision is one of them; see [checkpoint.Revisions].
func (p *Store) Revision(ctx context.Context, id checkpoint.ID, revision int64) (checkpoint.Declaration, error) {
	found, err := p.revisions(ctx, id, pgOneRevision, id.Tenant, id.Graph, revision)
	if err == nil && len(found) == 0 {
		err = checkpoint.ErrNotFound
	}
	if err != nil {
		return checkpoint.Declaration{}, rules.Wrap(err, "read revision %d of graph %s", revision, id)
	}
	return found[0], nil
}

func (p *Store) revisions(ctx context.Context, id checkpoint.ID, text string, args ...any) (
	all []checkpoint.Declaration, err error) {
	err = p.rows(ctx, text, args, func(r pgx.Rows) error {
		d := checkpoint.Declaration{Tenant: id.Tenant, Graph: id.Graph}
		var updated int64
		err := r.Scan(&d.Revision, &d.Origin, &updated, &d.By.Token, &d.By.Agent, &d.By.Host, &d.Change, &d.Text)
		d.Updated = rules.FromNanos(updated)
		all = append(all, d)
		return err
	})
	return all, err
}
