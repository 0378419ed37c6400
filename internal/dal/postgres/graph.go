package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/dal/postgres/members"
	"github.com/graphd/graphd/internal/dal/postgres/schema"
	"github.com/graphd/graphd/internal/dal/rules"
	"github.com/jackc/pgx/v5"
)

const (
	pgHolder = `SELECT n.owner, l.owner IS NOT NULL, coalesce(l.name, ''), coalesce(` + members.Member + `, ''), n.fence
		FROM graph_number n LEFT JOIN lease l ON l.owner = n.owner WHERE n.tenant = $1 AND n.graph = $2
			AND n.shard = $3`

	// One statement raises the fence, names the owner, and counts the start in the crash
	// ledger (see rules.Ledger). It changes nothing when the owner is not the one that
	// was seen to be dead, or the taker's own lease is gone.
	pgAcquire = `WITH before AS (
		SELECT fence, clean FROM graph_head WHERE tenant = $1 AND graph = $2 AND shard = $3
	), number AS (
		INSERT INTO graph_number AS n (tenant, graph, shard, fence, revision, owner)
		SELECT $1, $2, $3, 1 + coalesce((SELECT fence FROM before), 0), 0, $4::text
		WHERE ($4::text = '' OR EXISTS (SELECT FROM lease WHERE owner = $4)) AND ` + schema.Readable + `
		ON CONFLICT (tenant, graph, shard) DO UPDATE SET fence = greatest(n.fence + 1, excluded.fence), owner =
			excluded.owner
			WHERE n.owner IN (excluded.owner, $5)
		RETURNING fence
	), head AS (
		INSERT INTO graph_head AS h (tenant, graph, shard, instance, incarnation, fence, epoch, seq, at,
			attempts, attempted_epoch, attempted_by, unclean_starts, firings, ring_incarnation, ring_epoch, sum, meta)
		SELECT $1, $2, $3, $6, 1, fence, 0, 0, 0, 0, 0, 0, 1, 0, -1, -1, $7, '' FROM number
		ON CONFLICT (tenant, graph, shard) DO UPDATE SET fence = excluded.fence, incarnation = h.incarnation + 1,
			attempts = CASE WHEN h.attempted_epoch > h.epoch THEN h.attempts ELSE 0 END,
			attempted_by = CASE WHEN h.attempted_epoch > h.epoch THEN h.attempted_by ELSE 0 END,
			attempted_epoch = CASE WHEN h.attempted_epoch > h.epoch THEN h.attempted_epoch ELSE 0 END,
			unclean_starts = h.unclean_starts + 1, clean = false
		RETURNING state, instance, incarnation, fence, epoch, seq, at, attempts, attempted_by, unclean_starts, sum, meta
	), journal AS (
		INSERT INTO graph_journal AS j (state, fence, last) SELECT state, fence, 0 FROM head
		ON CONFLICT (state) DO UPDATE SET fence = excluded.fence
		RETURNING last
	) SELECT instance, incarnation, fence, epoch, seq, at, attempts, attempted_by, unclean_starts, sum, meta, last,
		coalesce((SELECT fence FROM before), 0), coalesce((SELECT clean FROM before), true) FROM head, journal`

	// It answers how many owners have, and nothing where the fence is another's.
	pgAttempt = `UPDATE graph_head SET attempted_epoch = $5, attempted_by = $4,
		attempts = CASE WHEN attempted_epoch <> $5 THEN 1 WHEN attempted_by <> $4 THEN attempts + 1 ELSE attempts END
		WHERE tenant = $1 AND graph = $2 AND shard = $3 AND fence = $4 RETURNING attempts`
	pgAbsolve = `UPDATE graph_head SET unclean_starts = CASE WHEN $5 = $4 THEN unclean_starts ELSE
		greatest(unclean_starts - 1, 1) END,
		attempts = CASE WHEN attempted_by = $5 THEN greatest(attempts - 1, 0) ELSE attempts END,
		attempted_by = CASE WHEN attempted_by = $5 THEN 0 ELSE attempted_by END
		WHERE tenant = $1 AND graph = $2 AND shard = $3 AND fence = $4`
	pgRelinquish = `UPDATE graph_head SET attempts = 0, attempted_epoch = 0, attempted_by = 0, unclean_starts = 0, ` +
		`clean = true WHERE tenant = $1 AND graph = $2 AND shard = $3 AND fence = $4`
	pgFence = `SELECT fence, seq FROM graph_head WHERE tenant = $1 AND graph = $2 AND shard = $3`

	pgHeads = `SELECT shard, epoch, meta FROM graph_head WHERE tenant = $1 AND graph = $2 ORDER BY shard`

	// A graph without cells is one row of nulls, one that is not there none.
	pgLoad = `SELECT c.kind, c.name, c.key, c.sum, c.data FROM graph_head h LEFT JOIN cell c ON c.state = h.state
		WHERE h.tenant = $1 AND h.graph = $2 AND h.shard = $3`

	// pgState finds a graph's state for a statement that knows the graph by name.
	pgState = ` state = (SELECT state FROM graph_head WHERE tenant = $1 AND graph = $2 AND shard = $3)`

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
	return checkpoint.Head{},
		fmt.Errorf("acquire graph %s: other daemons have taken it from each other %d times; try again", id,
			acquireTries)
}

func (p *Store) acquire(ctx context.Context, id checkpoint.ID) (head checkpoint.Head, taken bool, err error) {
	me := p.owner()
	holder, err := p.holder(ctx, id)
	if err != nil {
		return head, false, err
	}
	if holder.alive && holder.owner != me {
		return head, false, &checkpoint.OwnedError{Owner: holder.name, Member: holder.member}
	}
	p.takings.Found(id, holder.fence, p.mine(holder.owner))
	instance, err := uuid.NewRandom()
	if err != nil {
		return head, false, fmt.Errorf("make an instance id: %w", err)
	}
	var at, sum int64
	taken, err = p.row(ctx, p.control, pgAcquire,
		[]any{id.Tenant, id.Graph, id.Shard, me, holder.owner, instance.String(), rules.HeadSum(0, 0, 0, nil)},
		&head.Instance, &head.Incarnation, &head.Fence, &head.Epoch, &head.Seq, &at, &head.Attempts, &head.AttemptedBy,
		&head.UncleanStarts,
		&sum, &head.Meta, &head.Journal, &head.Prior, &head.Clean)
	if err != nil {
		return head, false, err
	}
	if !taken {
		if err := p.lookAgain(ctx); err != nil {
			return head, false, err
		}
		return head, false, p.checkLease(ctx, me)
	}
	if rules.HeadSum(head.Epoch, head.Seq, at, head.Meta) != sum {
		return head, false, fmt.Errorf("%w: the head's checksum does not fit; restore the store from a backup, or "+
			"delete the graph with its state", checkpoint.ErrCorrupt)
	}
	head.At, head.Meta, head.Own = rules.FromNanos(at), rules.OrNil(head.Meta), p.takings.Before(id, head.Fence)
	return head, true, nil
}

// holder is who owns a graph; owner is "" when nobody ever has, or it was given up.
type holder struct {
	owner, name, member string
	alive               bool
	fence               int64
}

// mine says whether an owner is this process, under this lease or one that it had before.
func (p *Store) mine(owner string) bool {
	return strings.HasPrefix(owner, p.Me.ID+"/") || owner == "" && p.owner() == ""
}

func (p *Store) holder(ctx context.Context, id checkpoint.ID) (h holder, err error) {
	_, err = p.row(ctx, p.control, pgHolder, []any{id.Tenant, id.Graph, id.Shard}, &h.owner, &h.alive, &h.name,
		&h.member, &h.fence)
	return h, err
}

// ShardHeads lists the shards of a graph; see [checkpoint.Deals].
func (p *Store) ShardHeads(ctx context.Context, graph checkpoint.ID) (all []checkpoint.ShardHead, err error) {
	err = p.rows(ctx, pgHeads, []any{graph.Tenant, graph.Graph}, func(r pgx.Rows) error {
		var h checkpoint.ShardHead
		err := r.Scan(&h.Shard, &h.Epoch, &h.Meta)
		h.Meta = rules.OrNil(h.Meta)
		all = append(all, h)
		return err
	})
	return all, rules.Wrap(err, "look at the shards of graph %s", graph)
}

// Load hands every cell to visit, in one snapshot; see [checkpoint.Checkpoints]. A graph
// that was never acquired is ErrNotFound; a damaged cell is checkpoint.ErrCorrupt. Cells are read one
// at a time. visit may call the store.
func (p *Store) Load(ctx context.Context, id checkpoint.ID, visit func(checkpoint.Cell) error) error {
	found := false
	err := p.rows(ctx, pgLoad, []any{id.Tenant, id.Graph, id.Shard}, func(r pgx.Rows) error {
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
			return fmt.Errorf("%w: the checksum of cell %s %q %q does not fit; restore the database from a backup, "+
				"or delete the graph with its state",
				checkpoint.ErrCorrupt, cell.Kind, cell.Name, cell.Key)
		}
		return visit(cell)
	})
	if err == nil && !found {
		err = checkpoint.ErrNotFound
	}
	return rules.Wrap(err, "load graph %s", id)
}

// Attempt notes that an epoch is tried; see [checkpoint.Ledger].
func (p *Store) Attempt(ctx context.Context, id checkpoint.ID, fence, epoch int64) (attempts int, err error) {
	found, err := p.row(ctx, p.control, pgAttempt, []any{id.Tenant, id.Graph, id.Shard, fence, epoch}, &attempts)
	return attempts, rules.Wrap(owned(found, err), "note that epoch %d of graph %s is tried", epoch, id)
}

// Absolve takes an owner's start out of the count; see [checkpoint.Ledger].
func (p *Store) Absolve(ctx context.Context, id checkpoint.ID, fence, of int64) error {
	changed, err := p.exec(ctx, p.control, pgAbsolve, id.Tenant, id.Graph, id.Shard, fence, of)
	return rules.Wrap(owned(changed > 0, err), "clear the crash ledger of graph %s", id)
}

// Relinquish notes a clean stop; see [checkpoint.Checkpoints]. The graph stays this daemon's
// until it is yielded.
func (p *Store) Relinquish(ctx context.Context, id checkpoint.ID, fence int64) error {
	changed, err := p.exec(ctx, p.control, pgRelinquish, id.Tenant, id.Graph, id.Shard, fence)
	return rules.Wrap(owned(changed > 0, err), "relinquish graph %s", id)
}

// owned is what became of a write that finds the graph only while it is the owner's.
func owned(found bool, err error) error {
	if err == nil && !found {
		return fmt.Errorf("another owner has it, or its state is gone: %w", checkpoint.ErrFenced)
	}
	return err
}
