package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/dal/rules"
)

const (
	pgHolder = `SELECT n.owner, l.owner IS NOT NULL, coalesce(l.name, '')
		FROM graph_number n LEFT JOIN lease l ON l.owner = n.owner WHERE n.tenant = $1 AND n.graph = $2`

	// One statement raises the fence, names the owner, and counts the approach in the crash
	// ledger (see rules.Ledger). It changes nothing when the owner is not the one that
	// was seen to be dead, or the taker's own lease is gone.
	pgAcquire = `WITH number AS (
		INSERT INTO graph_number AS n (tenant, graph, fence, revision, owner)
		SELECT $1, $2, 1 + coalesce((SELECT fence FROM graph_head WHERE tenant = $1 AND graph = $2), 0), 0, $3::text
		WHERE $3::text = '' OR EXISTS (SELECT FROM lease WHERE owner = $3)
		ON CONFLICT (tenant, graph) DO UPDATE SET fence = greatest(n.fence + 1, excluded.fence), owner = excluded.owner
			WHERE n.owner IN (excluded.owner, $4)
		RETURNING fence
	), head AS (
		INSERT INTO graph_head AS h (tenant, graph, instance, incarnation, fence, epoch, seq, at,
			attempts, attempted_epoch, unclean_starts, firings, ring_incarnation, ring_epoch, sum, meta)
		SELECT $1, $2, $5, 1, fence, 0, 0, 0, 1, 1, 1, 0, -1, -1, $6, '' FROM number
		ON CONFLICT (tenant, graph) DO UPDATE SET fence = excluded.fence, incarnation = h.incarnation + 1,
			attempts = CASE WHEN h.attempts > 0 AND h.attempted_epoch = h.epoch + 1 THEN h.attempts + 1 ELSE 1 END,
			attempted_epoch = h.epoch + 1, unclean_starts = h.unclean_starts + 1
		RETURNING state, instance, incarnation, fence, epoch, seq, at, attempts, unclean_starts, sum, meta
	), journal AS (
		INSERT INTO graph_journal AS j (state, fence, last) SELECT state, fence, 0 FROM head
		ON CONFLICT (state) DO UPDATE SET fence = excluded.fence
		RETURNING last
	) SELECT instance, incarnation, fence, epoch, seq, at, attempts, unclean_starts, sum, meta, last FROM head, journal`

	pgRelease = `UPDATE graph_head SET attempts = 0, unclean_starts = 0 WHERE tenant = $1 AND graph = $2 AND fence = $3`
	pgFence   = `SELECT fence, seq FROM graph_head WHERE tenant = $1 AND graph = $2`

	// A graph without cells is one row of nulls, one that is not there none.
	pgLoad = `SELECT c.kind, c.name, c.key, c.sum, c.data FROM graph_head h LEFT JOIN cell c ON c.state = h.state
		WHERE h.tenant = $1 AND h.graph = $2`

	// pgState finds a graph's state for a statement that knows the graph by name.
	pgState = ` state = (SELECT state FROM graph_head WHERE tenant = $1 AND graph = $2)`

	// acquireTries is how often a taking is tried again because another daemon came between.
	acquireTries = 5
)

// Acquire takes a graph; see [checkpoint.Checkpoints]. While another daemon's lease lives
// that owns the graph the error is a *checkpoint.OwnedError.
func (p *Store) Acquire(ctx context.Context, id checkpoint.ID) (checkpoint.Head, error) {
	for range acquireTries {
		head, taken, err := p.acquire(ctx, id)
		if err != nil {
			return checkpoint.Head{}, rules.Wrap(err, "acquire graph %s", id)
		}
		if taken {
			return head, nil
		}
	}
	return checkpoint.Head{}, fmt.Errorf("acquire graph %s: other daemons have taken it from each other %d times; try again", id, acquireTries)
}

func (p *Store) acquire(ctx context.Context, id checkpoint.ID) (head checkpoint.Head, taken bool, err error) {
	me := p.owner()
	holder, err := p.holder(ctx, id)
	if err != nil {
		return head, false, err
	}
	if holder.alive && holder.owner != me {
		return head, false, &checkpoint.OwnedError{Owner: holder.name}
	}
	instance, err := uuid.NewRandom()
	if err != nil {
		return head, false, fmt.Errorf("make an instance id: %w", err)
	}
	var at, sum int64
	taken, err = p.row(ctx, p.control, pgAcquire,
		[]any{id.Tenant, id.Graph, me, holder.owner, instance.String(), rules.HeadSum(0, 0, 0, nil)},
		&head.Instance, &head.Incarnation, &head.Fence, &head.Epoch, &head.Seq, &at, &head.Attempts, &head.UncleanStarts, &sum, &head.Meta, &head.Journal)
	if err != nil {
		return head, false, err
	}
	if !taken {
		return head, false, p.checkLease(ctx, me)
	}
	if rules.HeadSum(head.Epoch, head.Seq, at, head.Meta) != sum {
		return head, false, fmt.Errorf("%w: the head's checksum does not fit; restore the store from a backup, or delete the graph with its state", checkpoint.ErrCorrupt)
	}
	head.At, head.Meta = rules.FromNanos(at), rules.OrNil(head.Meta)
	return head, true, nil
}

// holder is who owns a graph; owner is "" when nobody ever has, or it was given up.
type holder struct {
	owner, name string
	alive       bool
}

func (p *Store) holder(ctx context.Context, id checkpoint.ID) (h holder, err error) {
	_, err = p.row(ctx, p.control, pgHolder, []any{id.Tenant, id.Graph}, &h.owner, &h.alive, &h.name)
	return h, err
}

// Load hands every cell to visit, in one snapshot; see [checkpoint.Checkpoints]. A graph
// that was never acquired is ErrNotFound; a damaged cell is checkpoint.ErrCorrupt. Cells are read one
// at a time. visit may call the store.
func (p *Store) Load(ctx context.Context, id checkpoint.ID, visit func(checkpoint.Cell) error) error {
	found := false
	err := p.rows(ctx, pgLoad, []any{id.Tenant, id.Graph}, func(r pgx.Rows) error {
		found = true
		var kind, name, key *string
		var sum *int64
		var data []byte
		if err := r.Scan(&kind, &name, &key, &sum, &data); err != nil {
			return err
		}
		if kind == nil {
			return nil
		}
		cell := checkpoint.Cell{Kind: *kind, Name: *name, Key: *key, Data: rules.OrEmpty(data)}
		if rules.CellSum(&cell) != *sum {
			return fmt.Errorf("%w: the checksum of cell %s %q %q does not fit; restore the database from a backup, or delete the graph with its state",
				checkpoint.ErrCorrupt, cell.Kind, cell.Name, cell.Key)
		}
		return visit(cell)
	})
	if err == nil && !found {
		err = checkpoint.ErrNotFound
	}
	return rules.Wrap(err, "load graph %s", id)
}

// Release notes a clean stop; see [checkpoint.Checkpoints]. The graph stays this daemon's
// until it is yielded.
func (p *Store) Release(ctx context.Context, id checkpoint.ID, fence int64) error {
	changed, err := p.exec(ctx, p.control, pgRelease, id.Tenant, id.Graph, fence)
	if err == nil && changed == 0 {
		err = errors.Join(errors.New("another owner has it, or its state is gone"), checkpoint.ErrFenced)
	}
	return rules.Wrap(err, "release graph %s", id)
}
