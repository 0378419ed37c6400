package sqlite

import (
	"context"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/dal/rules"
	"github.com/graphd/graphd/internal/dal/sqlite/sqlconn"
)

const (
	selectRevision = `SELECT revision FROM declaration WHERE tenant = ? AND graph = ?`
	raiseRevision  = `INSERT INTO graph_number (tenant, graph, shard, fence, revision) VALUES (?, ?, 0, 0, 1)
		ON CONFLICT (tenant, graph, shard) DO UPDATE SET revision = revision + 1 RETURNING revision`
	putDeclaration = `INSERT INTO declaration (revision, origin, updated, text, tenant, graph) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (tenant, graph) DO UPDATE
		SET revision = excluded.revision, origin = excluded.origin, updated = excluded.updated, text = excluded.text`
	noteRevision = `INSERT INTO revision (tenant, graph, revision, origin, updated, token, agent, host, change, text)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	trimRevisions = `DELETE FROM revision WHERE tenant = ?1 AND graph = ?2 AND revision <= (SELECT revision
		FROM revision WHERE tenant = ?1 AND graph = ?2 ORDER BY revision DESC LIMIT 1 OFFSET ?3)`
	listRevisions = `SELECT revision, origin, updated, token, agent, host, change FROM revision
		WHERE tenant = ? AND graph = ? ORDER BY revision DESC`
	selectText = `SELECT revision, origin, updated, token, agent, host, change, text FROM revision
		WHERE tenant = ? AND graph = ? AND revision = ?`
	listDeclarations  = `SELECT tenant, graph, revision, text, origin, updated FROM declaration ORDER BY tenant, graph`
	countGraphs       = `SELECT count(*) FROM declaration WHERE tenant = ?`
	deleteDeclaration = `DELETE FROM declaration WHERE tenant = ? AND graph = ?`

	selectShards = `SELECT shard FROM graph_head WHERE tenant = ? AND graph = ?`
	dropState    = `INSERT INTO dropped_state (state, tenant) SELECT state, tenant FROM graph_head WHERE tenant = ? ` +
		`AND graph = ?`
	// Nothing of the state is found any more without the head. graph_number stays: its
	// numbers must not be given again.
	deleteHead      = `DELETE FROM graph_head WHERE tenant = ? AND graph = ?`
	deleteEvents    = `DELETE FROM recovery_event WHERE tenant = ? AND graph = ?`
	deleteRevisions = `DELETE FROM revision WHERE tenant = ? AND graph = ?`
)

// PutDeclaration stores a document; see [checkpoint.Declarations]. Revisions go on
// counting when a graph is deleted and applied again.
func (s *Store) PutDeclaration(ctx context.Context, d checkpoint.Declaration, ifRevision int64) (
	revision int64, err error) {
	err = s.write(ctx, 2*len(d.Text), func(_ context.Context, c *sqlconn.Conn) error {
		if err := mayDeclare(c, &d, ifRevision); err != nil {
			return err
		}
		revision, err = declare(c, &d)
		return err
	})
	if err != nil {
		return 0, rules.Wrap(err, "put declaration")
	}
	return revision, nil
}

// mayDeclare refuses a declaration that is to follow another revision than the present one, or makes a graph too many.
func mayDeclare(c *sqlconn.Conn, d *checkpoint.Declaration, ifRevision int64) error {
	current, err := c.First(selectRevision, d.Tenant, d.Graph)
	if err != nil {
		return err
	}
	var have int64
	if current != nil {
		have = current.Int(0)
	}
	err = rules.CheckRevision(checkpoint.ID{Tenant: d.Tenant, Graph: d.Graph}, have, ifRevision)
	if err != nil || d.Most == 0 || have > 0 {
		return err
	}
	there, err := c.First(countGraphs, d.Tenant)
	if err != nil {
		return err
	}
	return rules.CheckMost(d, int(there.Int(0)))
}

// declare puts a declaration under the next revision.
func declare(c *sqlconn.Conn, d *checkpoint.Declaration) (revision int64, err error) {
	next, err := c.First(raiseRevision, d.Tenant, d.Graph)
	if err != nil {
		return 0, err
	}
	revision = next.Int(0)
	_, err = c.Exec(putDeclaration, revision, d.Origin, rules.Nanos(d.Updated), d.Text, d.Tenant, d.Graph)
	if err != nil {
		return 0, err
	}
	return revision, addRevision(c, revision, d)
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
		texts = append(texts, dropState, deleteHead, deleteEvents, deleteRevisions)
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

// addRevision puts d into the graph's history, and takes out what is past its bound.
func addRevision(c *sqlconn.Conn, revision int64, d *checkpoint.Declaration) error {
	_, err := c.Exec(noteRevision, d.Tenant, d.Graph, revision, d.Origin, rules.Nanos(d.Updated), d.By.Token,
		d.By.Agent, d.By.Host, d.Change, d.Text)
	if err != nil {
		return err
	}
	_, err = c.Exec(trimRevisions, d.Tenant, d.Graph, int64(checkpoint.KeepRevisions))
	return err
}

func revisionOf(id checkpoint.ID, r sqlconn.Row) checkpoint.Declaration {
	return checkpoint.Declaration{
		Tenant: id.Tenant, Graph: id.Graph, Revision: r.Int(0), Origin: r.Text(1), Updated: rules.FromNanos(r.Int(2)),
		By: checkpoint.Author{Token: r.Text(3), Agent: r.Text(4), Host: r.Text(5)}, Change: r.Text(6),
	}
}

// Revisions lists the documents that a graph has had; see [checkpoint.Revisions].
func (s *Store) Revisions(ctx context.Context, id checkpoint.ID) (all []checkpoint.Declaration, err error) {
	err = s.read(ctx, func(c *sqlconn.Conn) error {
		return c.Query(ctx, listRevisions, func(r sqlconn.Row) error {
			all = append(all, revisionOf(id, r))
			return nil
		}, id.Tenant, id.Graph)
	})
	return all, rules.Wrap(err, "list revisions of graph %s", id)
}

// Revision is one of them; see [checkpoint.Revisions].
func (s *Store) Revision(ctx context.Context, id checkpoint.ID, revision int64) (d checkpoint.Declaration, err error) {
	err = s.read(ctx, func(c *sqlconn.Conn) error {
		r, err := c.First(selectText, id.Tenant, id.Graph, revision)
		if err == nil && r == nil {
			err = checkpoint.ErrNotFound
		}
		if err == nil {
			d = revisionOf(id, r)
			d.Text = r.Text(7)
		}
		return err
	})
	return d, rules.Wrap(err, "read revision %d of graph %s", revision, id)
}
