package sqlite

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/dal/rules"
	"github.com/graphd/graphd/internal/dal/sqlite/sqlconn"
)

const (
	selectHead = `SELECT instance, incarnation, fence, epoch, seq, at, attempts, attempted_epoch, unclean_starts, sum,
		meta, journal, attempted_by, clean
		FROM graph_head WHERE tenant = ? AND graph = ? AND shard = ?`
	selectHeads = `SELECT shard, epoch, meta FROM graph_head WHERE tenant = ? AND graph = ? ORDER BY shard`
	insertHead  = `INSERT INTO graph_head (tenant, graph, shard, instance, incarnation, fence, epoch, seq, at,
		attempts, attempted_epoch, attempted_by, unclean_starts, clean, cells, firings, sum, journal, meta)
		VALUES (?, ?, ?, ?, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, ?, 0, x'')`
	// The head's own fence is looked at too: whichever of the two were damaged, the next fence is higher.
	raiseFence = `INSERT INTO graph_number (tenant, graph, shard, fence, revision) VALUES (?, ?, ?, ? + 1, 0)
		ON CONFLICT (tenant, graph, shard) DO UPDATE SET fence = max(fence + 1, excluded.fence) RETURNING fence`
	ownHead = `UPDATE graph_head SET fence = ?, incarnation = incarnation + 1, attempts = ?, attempted_epoch = ?,
		attempted_by = ?, unclean_starts = ?, clean = 0
		WHERE tenant = ? AND graph = ? AND shard = ?`
	// It answers how many, and nothing where the fence is another's.
	noteAttempt = `UPDATE graph_head SET attempted_epoch = ?1, attempted_by = ?2,
		attempts = CASE WHEN attempted_epoch <> ?1 THEN 1 WHEN attempted_by <> ?2 THEN attempts + 1 ELSE attempts END
		WHERE tenant = ?3 AND graph = ?4 AND shard = ?5 AND fence = ?2 RETURNING attempts`
	absolveHead = `UPDATE graph_head SET unclean_starts = CASE WHEN ?1 = ?5 THEN unclean_starts ELSE
		max(unclean_starts - 1, 1) END,
		attempts = CASE WHEN attempted_by = ?1 THEN max(attempts - 1, 0) ELSE attempts END,
		attempted_by = CASE WHEN attempted_by = ?1 THEN 0 ELSE attempted_by END
		WHERE tenant = ?2 AND graph = ?3 AND shard = ?4 AND fence = ?5`
	relinquishHead = `UPDATE graph_head SET attempts = 0, attempted_epoch = 0, attempted_by = 0, unclean_starts = ` +
		`0, clean = 1 WHERE tenant = ? AND graph = ? AND shard = ? AND fence = ?`

	advanceHead = `UPDATE graph_head SET epoch = ?1, seq = ?2, at = ?3, sum = ?4, meta = ?5,
		unclean_starts = CASE WHEN ?6 THEN 0 ELSE unclean_starts END,
		attempts = CASE WHEN ?7 THEN 0 ELSE attempts END,
		attempted_epoch = CASE WHEN ?7 THEN 0 ELSE attempted_epoch END,
		attempted_by = CASE WHEN ?7 THEN 0 ELSE attempted_by END
		WHERE tenant = ?8 AND graph = ?9 AND shard = ?10 AND fence = ?11 AND seq = ?2 - 1
		RETURNING state, cells, firings`
	countHead   = `UPDATE graph_head SET cells = ?, firings = ? WHERE state = ?`
	selectFence = `SELECT fence, seq FROM graph_head WHERE tenant = ? AND graph = ? AND shard = ?`
	selectState = `SELECT state, cells FROM graph_head WHERE tenant = ? AND graph = ? AND shard = ?`
	updateCell  = `UPDATE cell SET sum = ?, data = ? WHERE tenant = ? AND state = ? AND kind = ? AND name = ? AND ` +
		`key = ?`
	insertCell  = `INSERT OR IGNORE INTO cell (sum, data, tenant, state, kind, name, key) VALUES (?, ?, ?, ?, ?, ?, ?)`
	deleteCell  = `DELETE FROM cell WHERE tenant = ? AND state = ? AND kind = ? AND name = ? AND key = ?`
	selectCells = `SELECT kind, name, key, sum, data FROM cell WHERE tenant = ? AND state = ?`
)

// Acquire takes a graph; see [checkpoint.Checkpoints]. A head whose checksum does not
// fit is checkpoint.ErrCorrupt.
func (s *Store) Acquire(ctx context.Context, id checkpoint.ID) (checkpoint.Head, error) {
	var head checkpoint.Head
	err := s.writer.do(&request{
		ctx: ctx,
		apply: func(_ context.Context, c *sqlconn.Conn) (err error) {
			head, err = acquire(c, s.writer.witness, &s.takings, id)
			return err
		},
		acked: func(w *witness) {
			w.note(id, func(s *slot) { s.incarnation, s.seq, s.journal = head.Incarnation, head.Seq, head.Journal })
		},
	})
	if err != nil {
		return checkpoint.Head{}, rules.Wrap(err, "acquire graph %s", id)
	}
	return head, nil
}

func acquire(c *sqlconn.Conn, w *witness, taken *rules.Takings, id checkpoint.ID) (checkpoint.Head, error) {
	head, ledger, err := readHead(c, id)
	if err != nil {
		return head, err
	}
	if err := w.check(id, &head); err != nil {
		return head, &rules.Refusal{Err: err}
	}
	if err := w.room(id); err != nil {
		return head, err
	}
	if head.Instance == "" {
		head.Clean = true
		instance, err := uuid.NewRandom()
		if err != nil {
			return head, fmt.Errorf("make an instance id: %w", err)
		}
		head.Instance = instance.String()
		if _, err := c.Exec(insertHead, id.Tenant, id.Graph, int64(id.Shard), head.Instance,
			rules.HeadSum(0, 0, 0, nil)); err != nil {
			return head, err
		}
	}
	numbers, err := c.First(raiseFence, id.Tenant, id.Graph, int64(id.Shard), head.Fence)
	if err != nil {
		return head, err
	}
	ledger = ledger.Acquired(head.Epoch)
	head.Fence, head.Prior = numbers.Int(0), head.Fence
	taken.Found(id, head.Fence-1, true) // nobody else has the file
	head.Own = taken.Before(id, head.Fence)
	head.Incarnation++
	head.Attempts, head.AttemptedBy, head.UncleanStarts = ledger.Attempts, ledger.AttemptedBy, ledger.Unclean
	_, err = c.Exec(ownHead, head.Fence, int64(ledger.Attempts), ledger.AttemptedEpoch, ledger.AttemptedBy,
		int64(ledger.Unclean), id.Tenant, id.Graph, int64(id.Shard))
	return head, err
}

// readHead returns the head as it stands; one without an Instance is not there.
func readHead(c *sqlconn.Conn, id checkpoint.ID) (head checkpoint.Head, l rules.Ledger, err error) {
	r, err := c.First(selectHead, id.Tenant, id.Graph, int64(id.Shard))
	if err != nil || r == nil {
		return head, l, err
	}
	at, meta := r.Int(5), r.Blob(10)
	head = checkpoint.Head{
		Instance: r.Text(0), Incarnation: r.Int(1), Fence: r.Int(2),
		Epoch: r.Int(3), Seq: r.Int(4), At: rules.FromNanos(at), Meta: rules.OrNil(meta),
		Journal: r.Int(11), AttemptedBy: r.Int(12), Clean: r.Int(13) != 0,
	}
	l = rules.Ledger{
		Attempts: int(r.Int(6)), AttemptedEpoch: r.Int(7), Unclean: int(r.Int(8)), AttemptedBy: head.AttemptedBy,
	}
	if rules.HeadSum(head.Epoch, head.Seq, at, meta) != r.Int(9) {
		return head, l, fmt.Errorf("%w: the head's checksum does not fit; restore the store from a backup, or "+
			"delete the graph with its state", checkpoint.ErrCorrupt)
	}
	return head, l, nil
}

// ShardHeads lists the shards of a graph; see [checkpoint.Deals].
func (s *Store) ShardHeads(ctx context.Context, graph checkpoint.ID) (all []checkpoint.ShardHead, err error) {
	err = s.read(ctx, func(c *sqlconn.Conn) error {
		return c.Query(ctx, selectHeads, func(r sqlconn.Row) error {
			all = append(all, checkpoint.ShardHead{Shard: int(r.Int(0)), Epoch: r.Int(1), Meta: rules.OrNil(r.Blob(2))})
			return nil
		}, graph.Tenant, graph.Graph)
	})
	return all, rules.Wrap(err, "look at the shards of graph %s", graph)
}

// Load hands every cell to visit, in one snapshot; see [checkpoint.Checkpoints]. A graph
// that was never acquired is ErrNotFound; a damaged or missing cell is checkpoint.ErrCorrupt, told
// at the latest when all others have been visited. visit must not call the store.
func (s *Store) Load(ctx context.Context, id checkpoint.ID, visit func(checkpoint.Cell) error) error {
	return rules.Wrap(s.read(ctx, func(c *sqlconn.Conn) error {
		if _, err := c.Exec("BEGIN"); err != nil {
			return err
		}
		defer func() { _, _ = c.Exec("COMMIT") }() // it only ends the snapshot
		return load(ctx, c, id, visit)
	}), "load graph %s", id)
}

func load(ctx context.Context, c *sqlconn.Conn, id checkpoint.ID, visit func(checkpoint.Cell) error) error {
	r, err := c.First(selectState, id.Tenant, id.Graph, int64(id.Shard))
	if err != nil {
		return err
	}
	if r == nil {
		return checkpoint.ErrNotFound
	}
	state, want, have := r.Int(0), r.Int(1), int64(0)
	err = c.Query(ctx, selectCells, func(r sqlconn.Row) error {
		cell := checkpoint.Cell{Kind: r.Text(0), Name: r.Text(1), Key: r.Text(2), Data: r.Blob(4)}
		if rules.CellSum(&cell) != r.Int(3) {
			return fmt.Errorf("%w: the checksum of cell %s %q %q does not fit; restore the store from a backup, or "+
				"delete the graph with its state",
				checkpoint.ErrCorrupt, cell.Kind, cell.Name, cell.Key)
		}
		have++
		return visit(cell)
	}, id.Tenant, state)
	if err == nil && have != want {
		err = fmt.Errorf("%w: %d cells were found where %d were written; restore the store from a backup, or delete "+
			"the graph with its state",
			checkpoint.ErrCorrupt, have, want)
	}
	return err
}

// Commit applies c in one transaction; see [checkpoint.Checkpoints]. The fence is checked
// by the first statement, which changes the head only where fence and sequence number
// match; when it changes nothing, nothing else is tried.
//
// A done ctx takes the commit back as long as COMMIT has not been sent; after that
// the answer is ErrUnknownOutcome. A full disk, an I/O error or another program's lock
// undoes the transaction: the error is clean, and the next commit is tried afresh.
// A cell may have up to 1 GB, which is SQLite's bound. Firings and dead letters that
// are in the store already stay as they are.
func (s *Store) Commit(ctx context.Context, c *checkpoint.Commit) error {
	size := len(c.Meta)
	for i := range c.Cells {
		size += len(c.Cells[i].Data) + 64
	}
	for i := range c.Firings {
		size += len(c.Firings[i].Data) + 64
	}
	for i := range c.DeadLetters {
		size += len(c.DeadLetters[i].Payload) + 256
	}
	for i := range c.Outbox {
		size += len(c.Outbox[i].Data) + 256
	}
	// Both numbers outlive the caller's use of c, which ends when COMMIT is sent.
	id, fence, seq := c.ID, c.Fence, c.Seq
	return checkpoint.CommitError(id, seq, s.writer.do(&request{
		ctx:   ctx,
		size:  size,
		apply: func(ctx context.Context, conn *sqlconn.Conn) error { return commit(ctx, conn, c) },
		applied: func(conn *sqlconn.Conn) (bool, error) {
			r, err := conn.First(selectFence, id.Tenant, id.Graph, int64(id.Shard))
			return r != nil && r.Int(0) == fence && r.Int(1) == seq, err
		},
		acked: func(w *witness) { w.note(id, func(s *slot) { s.seq = seq }) },
	}))
}

func commit(ctx context.Context, conn *sqlconn.Conn, c *checkpoint.Commit) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	var proven, tried int64
	if c.Proven {
		proven = 1
	}
	if c.Tried {
		tried = 1
	}
	if len(c.Rows) > 0 {
		return rules.Refuse("%w; use the outbox for this output, or the store that holds the table",
			checkpoint.ErrNoTables)
	}
	at := rules.Nanos(c.At)
	head, err := conn.First(advanceHead, c.Epoch, c.Seq, at, rules.HeadSum(c.Epoch, c.Seq, at, c.Meta),
		rules.OrEmpty(c.Meta), proven, tried,
		c.ID.Tenant, c.ID.Graph, int64(c.ID.Shard), c.Fence)
	if err != nil {
		return err
	}
	if head == nil {
		return mayCommit(conn, c)
	}
	state, cells, firings := head.Int(0), head.Int(1), head.Int(2)
	grown, err := writeCells(ctx, conn, c, state)
	if err != nil {
		return err
	}
	held, err := writeFirings(ctx, conn, c, state, firings)
	if err != nil {
		return err
	}
	if err := writeDeadLetters(ctx, conn, c, state); err != nil {
		return err
	}
	if err := writeOutbox(ctx, conn, c, state); err != nil {
		return err
	}
	if grown == 0 && held == firings {
		return nil
	}
	_, err = conn.Exec(countHead, cells+grown, held, state)
	return err
}

// writeCells returns by how many the graph's cells have grown.
//
// Whether a cell is there already is told by what the statement changed, so one that
// guesses right is one statement. The guess is that of the cell before: cells that
// are there come together, and so do those that are new.
func writeCells(ctx context.Context, conn *sqlconn.Conn, c *checkpoint.Commit, state int64) (grown int64, err error) {
	tenant := c.ID.Tenant
	there := true
	for _, cell := range inKeyOrder(c.Cells) {
		if err := context.Cause(ctx); err != nil {
			return 0, err
		}
		if cell.Data == nil {
			deleted, err := conn.Exec(deleteCell, tenant, state, cell.Kind, cell.Name, cell.Key)
			if err != nil {
				return 0, err
			}
			grown -= deleted
			continue
		}
		sum := rules.CellSum(cell)
		for guess := 0; ; guess++ {
			text := insertCell
			if there {
				text = updateCell
			}
			changed, err := conn.Exec(text, sum, cell.Data, tenant, state, cell.Kind, cell.Name, cell.Key)
			if err != nil {
				return 0, err
			}
			if changed > 0 {
				break
			}
			if guess > 0 {
				return 0, fmt.Errorf("%w: cell %s %q %q is both there and not", checkpoint.ErrCorrupt, cell.Kind,
					cell.Name, cell.Key)
			}
			there = !there
		}
		if !there {
			grown++
		}
	}
	return grown, nil
}

// inKeyOrder is the cells in the order of their index where that matters: a large
// commit in another order goes to and fro between more pages than the cache holds.
// Cells of one name keep their order.
func inKeyOrder(cells []checkpoint.Cell) []*checkpoint.Cell {
	const large = 1000
	ordered := make([]*checkpoint.Cell, len(cells))
	for i := range cells {
		ordered[i] = &cells[i]
	}
	if len(cells) >= large {
		slices.SortStableFunc(ordered, func(a, b *checkpoint.Cell) int {
			return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.Name, b.Name),
				strings.Compare(a.Key, b.Key))
		})
	}
	return ordered
}

// Attempt notes that an epoch is tried; see [checkpoint.Ledger].
func (s *Store) Attempt(ctx context.Context, id checkpoint.ID, fence, epoch int64) (attempts int, err error) {
	err = s.write(ctx, 0, func(_ context.Context, c *sqlconn.Conn) error {
		r, err := c.First(noteAttempt, epoch, fence, id.Tenant, id.Graph, int64(id.Shard))
		if err == nil && r == nil {
			return rules.Refuse("another owner has it, or its state is gone: %w", checkpoint.ErrFenced)
		}
		if err == nil {
			attempts = int(r.Int(0))
		}
		return err
	})
	return attempts, rules.Wrap(err, "note that epoch %d of graph %s is tried", epoch, id)
}

// Absolve takes an owner's start out of the count; see [checkpoint.Ledger].
func (s *Store) Absolve(ctx context.Context, id checkpoint.ID, fence, of int64) error {
	return rules.Wrap(s.write(ctx, 0, func(_ context.Context, c *sqlconn.Conn) error {
		changed, err := c.Exec(absolveHead, of, id.Tenant, id.Graph, int64(id.Shard), fence)
		if err == nil && changed == 0 {
			return rules.Refuse("another owner has it, or its state is gone: %w", checkpoint.ErrFenced)
		}
		return err
	}), "clear the crash ledger of graph %s", id)
}

// Relinquish notes a clean stop; see [checkpoint.Checkpoints].
func (s *Store) Relinquish(ctx context.Context, id checkpoint.ID, fence int64) error {
	return rules.Wrap(s.write(ctx, 0, func(_ context.Context, c *sqlconn.Conn) error {
		changed, err := c.Exec(relinquishHead, id.Tenant, id.Graph, int64(id.Shard), fence)
		if err == nil && changed == 0 {
			return rules.Refuse("another owner has it, or its state is gone: %w", checkpoint.ErrFenced)
		}
		return err
	}), "relinquish graph %s", id)
}
