package sqlite

import (
	"context"
	"errors"
	"fmt"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/dal/rules"
	"github.com/graphd/graphd/internal/dal/sqlite/pushkeys"
	"github.com/graphd/graphd/internal/dal/sqlite/sqlconn"
)

const (
	insertEntry = `INSERT INTO outbox (tenant, state, output, seq, epoch, key, firing_id, at, size, sum, data) ` +
		`VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	deleteEntry  = `DELETE FROM outbox WHERE tenant = ? AND state = ? AND output = ? AND seq <= ?`
	trimJournal  = `DELETE FROM journal WHERE state = ? AND seq <= ?`
	selectOutbox = `SELECT seq, epoch, key, firing_id, at, sum, data FROM outbox
		WHERE` + stateOf + ` AND output = ?4 AND seq > ?5 ORDER BY seq`
	selectDepths = `SELECT output, count(*), sum(size), min(seq), max(seq), min(at) FROM outbox INDEXED BY outbox_depth
		WHERE state = (SELECT state FROM graph_head WHERE tenant = ? AND graph = ? AND shard = ?) GROUP BY output
			ORDER BY output`

	advanceJournal = `UPDATE graph_head SET journal = ? WHERE tenant = ? AND graph = ? AND shard = ? AND fence = ? ` +
		`AND journal = ? RETURNING state`
	insertJournal = `INSERT INTO journal (tenant, state, seq, at, sum, data) VALUES (?, ?, ?, ?, ?, ?)`
	selectEnd     = `SELECT fence, journal, state FROM graph_head WHERE tenant = ? AND graph = ? AND shard = ?`
	selectJournal = `SELECT seq, at, sum, data FROM journal WHERE tenant = ? AND state = ? AND seq > ? ORDER BY seq`
)

// writeOutbox adds a commit's entries, removes what is delivered, and trims the journal.
func writeOutbox(ctx context.Context, conn *sqlconn.Conn, c *checkpoint.Commit, state int64) error {
	for i := range c.Outbox {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		e := &c.Outbox[i]
		if _, err := conn.Exec(insertEntry, c.ID.Tenant, state, e.Output, e.Seq, e.Epoch, e.Key, e.FiringID,
			rules.Nanos(e.At),
			int64(len(e.Data)), rules.EntrySum(e), rules.OrEmpty(e.Data)); err != nil {
			return err
		}
	}
	for _, d := range c.Delivered {
		if _, err := conn.Exec(deleteEntry, c.ID.Tenant, state, d.Output, d.UpTo); err != nil {
			return err
		}
	}
	if c.JournalTo <= 0 {
		return nil
	}
	_, err := conn.Exec(trimJournal, state, c.JournalTo)
	return err
}

// errPageFull ends the reading of a page.
var errPageFull = errors.New("the page is full")

// Outbox lists entries; see [checkpoint.Outbox]. A damaged one is checkpoint.ErrCorrupt.
func (s *Store) Outbox(ctx context.Context, id checkpoint.ID, output string, after int64, limit int, maxBytes int64) (
	page []checkpoint.OutboxEntry, err error) {
	bound := rules.NewOutboxPage(limit, maxBytes)
	err = s.read(ctx, func(c *sqlconn.Conn) error {
		return c.Query(ctx, selectOutbox, func(r sqlconn.Row) error {
			e := checkpoint.OutboxEntry{
				Output: output, Seq: r.Int(0), Epoch: r.Int(1), Key: r.Text(2), FiringID: r.Text(3),
				At: rules.FromNanos(r.Int(4)), Data: r.Blob(6),
			}
			if rules.EntrySum(&e) != r.Int(5) {
				return fmt.Errorf("%w: the checksum of entry %d does not fit; restore the store from a backup, or "+
					"delete the graph with its state", checkpoint.ErrCorrupt, e.Seq)
			}
			if !bound.Fits(int64(len(e.Data))) {
				return errPageFull
			}
			page = append(page, e)
			return nil
		}, id.Tenant, id.Graph, int64(id.Shard), output, after)
	})
	if err != nil && !errors.Is(err, errPageFull) {
		return nil, rules.Wrap(err, "read the outbox of output %s of graph %s", output, id)
	}
	return page, nil
}

// OutboxDepths is what waits; see [checkpoint.Outbox].
func (s *Store) OutboxDepths(ctx context.Context, id checkpoint.ID) (depths []checkpoint.OutboxDepth, err error) {
	err = s.read(ctx, func(c *sqlconn.Conn) error {
		return c.Query(ctx, selectDepths, func(r sqlconn.Row) error {
			depths = append(depths, checkpoint.OutboxDepth{
				Output: r.Text(0), Entries: r.Int(1), Bytes: r.Int(2), First: r.Int(3), Last: r.Int(4),
				Oldest: rules.FromNanos(r.Int(5)),
			})
			return nil
		}, id.Tenant, id.Graph, int64(id.Shard))
	})
	return depths, rules.Wrap(err, "look at the outboxes of graph %s", id)
}

// AppendJournal adds entries in one transaction; see [checkpoint.Journal]. As with Commit,
// the fence is checked by the first statement.
func (s *Store) AppendJournal(ctx context.Context, id checkpoint.ID, fence int64,
	entries []checkpoint.JournalEntry) error {
	if len(entries) == 0 {
		return nil
	}
	size := 0
	for i := range entries {
		size += len(entries[i].Data) + 64
		for k := range entries[i].Keys {
			size += int(rules.KeySize(&entries[i].Keys[k])) + 128
		}
	}
	last := entries[len(entries)-1].Seq
	return rules.Wrap(s.writer.do(&request{
		ctx:  ctx,
		size: size,
		apply: func(ctx context.Context, conn *sqlconn.Conn) error {
			return appendJournal(ctx, conn, id, fence, entries)
		},
		applied: func(conn *sqlconn.Conn) (bool, error) {
			r, err := conn.First(selectEnd, id.Tenant, id.Graph, int64(id.Shard))
			return r != nil && r.Int(0) == fence && r.Int(1) == last, err
		},
		acked: func(w *witness) { w.note(id, func(s *slot) { s.journal = last }) },
	}), "journal of graph %s", id)
}

func appendJournal(ctx context.Context, conn *sqlconn.Conn, id checkpoint.ID, fence int64,
	entries []checkpoint.JournalEntry) error {
	first, last := entries[0].Seq, entries[len(entries)-1].Seq
	if err := rules.CheckAppend(entries, fence, true, fence, first-1); err != nil {
		return err
	}
	head, err := conn.First(advanceJournal, last, id.Tenant, id.Graph, int64(id.Shard), fence, first-1)
	if err != nil {
		return err
	}
	if head == nil {
		r, err := conn.First(selectEnd, id.Tenant, id.Graph, int64(id.Shard))
		if err != nil {
			return err
		}
		if r == nil {
			return rules.CheckAppend(entries, fence, false, 0, 0)
		}
		return rules.CheckAppend(entries, fence, true, r.Int(0), r.Int(1))
	}
	state := head.Int(0)
	for i := range entries {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		e := &entries[i]
		if _, err := conn.Exec(insertJournal, id.Tenant, state, e.Seq, rules.Nanos(e.At), rules.JournalSum(e),
			rules.OrEmpty(e.Data)); err != nil {
			return err
		}
	}
	return pushkeys.Put(conn, id.Tenant, state, entries)
}

// ReadJournal visits entries in one snapshot; see [checkpoint.Journal]. A damaged or
// missing entry is checkpoint.ErrCorrupt. visit must not call the store.
func (s *Store) ReadJournal(ctx context.Context, id checkpoint.ID, after int64,
	visit func(checkpoint.JournalEntry) error) error {
	return rules.Wrap(s.read(ctx, func(c *sqlconn.Conn) error {
		if _, err := c.Exec("BEGIN"); err != nil {
			return err
		}
		defer func() { _, _ = c.Exec("COMMIT") }() // it only ends the snapshot
		return readJournal(ctx, c, id, after, visit)
	}), "read the journal of graph %s", id)
}

func readJournal(ctx context.Context, c *sqlconn.Conn, id checkpoint.ID, after int64,
	visit func(checkpoint.JournalEntry) error) error {
	head, err := c.First(selectEnd, id.Tenant, id.Graph, int64(id.Shard))
	if err != nil {
		return err
	}
	if head == nil {
		return checkpoint.ErrNotFound
	}
	last, state := head.Int(1), head.Int(2)
	next := after
	err = c.Query(ctx, selectJournal, func(r sqlconn.Row) error {
		e := checkpoint.JournalEntry{Seq: r.Int(0), At: rules.FromNanos(r.Int(1)), Data: r.Blob(3)}
		if err := rules.Follows(next, e.Seq); err != nil {
			return err
		}
		if rules.JournalSum(&e) != r.Int(2) {
			return fmt.Errorf("%w: the checksum of journal entry %d does not fit; restore the store from a backup, "+
				"or delete the graph with its state", checkpoint.ErrCorrupt, e.Seq)
		}
		next = e.Seq
		return visit(e)
	}, id.Tenant, state, after)
	if err != nil {
		return err
	}
	return rules.JournalEnd(next, last)
}
