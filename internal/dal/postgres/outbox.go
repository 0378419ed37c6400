package postgres

import (
	"context"
	"fmt"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/dal/postgres/pushkeys"
	"github.com/graphd/graphd/internal/dal/postgres/schema"
	"github.com/graphd/graphd/internal/dal/postgres/together"
	"github.com/graphd/graphd/internal/dal/rules"
	"github.com/jackc/pgx/v5"
)

const (
	// The bytes are bounded by the server: what does not fit the page is not sent.
	pgOutbox = `SELECT seq, epoch, key, firing_id, at, sum, data FROM (
			SELECT *, sum(size) OVER (ORDER BY seq) AS upto, row_number() OVER (ORDER BY seq) AS place
			FROM (SELECT * FROM outbox WHERE` + pgState + ` AND output = $4 AND seq > $5 ORDER BY seq
				LIMIT $6) few) page
		WHERE place = 1 OR upto <= $7 ORDER BY seq`
	pgDepths = `SELECT output, count(*), sum(size)::bigint, min(seq), max(seq), min(at) FROM outbox WHERE` + pgState +
		` GROUP BY output ORDER BY output`

	pgAppendJournal = `WITH head AS (
			UPDATE graph_journal j SET last = $4 FROM graph_head h
			WHERE h.tenant = $1 AND h.graph = $2 AND h.shard = $3 AND j.state = h.state AND j.fence = $5
				AND j.last = $6 AND ` + schema.Readable + ` RETURNING j.state
		), added AS (
			INSERT INTO journal (state, seq, at, sum, data)
			SELECT head.state, u.* FROM head, unnest($7::bigint[], $8::bigint[], $9::bigint[], $10::bytea[]) u)
` + pgAppended
	pgAppended = `
		SELECT count(*) FROM head`
	pgJournalEnd  = `SELECT fence, last FROM graph_journal WHERE` + pgState
	pgReadJournal = `SELECT j.last, e.seq, e.at, e.sum, e.data FROM graph_journal j LEFT
		JOIN journal e ON e.state = j.state AND e.seq > $4
		WHERE j.state = (SELECT state FROM graph_head WHERE tenant = $1 AND graph = $2 AND shard = $3) ORDER BY e.seq`
)

// outbox adds a commit's entries, removes what is delivered, and trims the journal. What is
// delivered and new at once is not written at all.
func (s *statement) outbox(c *checkpoint.Commit) {
	upTo := map[string]int64{}
	for _, d := range c.Delivered {
		upTo[d.Output] = max(upTo[d.Output], d.UpTo)
	}
	var outputs, keys, ids []string
	var seqs, epochs, at, sizes, sums []int64
	var data [][]byte
	for i := range c.Outbox {
		e := &c.Outbox[i]
		if e.Seq <= upTo[e.Output] {
			continue
		}
		outputs, keys, ids = append(outputs, e.Output), append(keys, storable(e.Key)), append(ids, e.FiringID)
		seqs, epochs, at = append(seqs, e.Seq), append(epochs, e.Epoch), append(at, rules.Nanos(e.At))
		sizes, sums, data = append(sizes, int64(len(e.Data))), append(sums, rules.EntrySum(e)),
			append(data, rules.OrEmpty(e.Data))
	}
	if len(outputs) > 0 {
		s.part(`, queued AS (INSERT INTO outbox (state, output, seq, epoch, key, firing_id, at, size, sum, data)
			SELECT head.state, u.* FROM head,
			unnest(%s::text[], %s::bigint[], %s::bigint[], %s::text[], %s::text[], %s::bigint[], %s::bigint[],
				%s::bigint[], %s::bytea[]) u)`,
			outputs, seqs, epochs, keys, ids, at, sizes, sums, data)
	}
	if len(c.Delivered) > 0 {
		var names []string
		var ends []int64
		for _, d := range c.Delivered {
			names, ends = append(names, d.Output), append(ends, d.UpTo)
		}
		s.part(`, delivered AS (DELETE FROM outbox o USING head, unnest(%s::text[], %s::bigint[]) d (output, upto)
			WHERE o.state = head.state AND o.output = d.output AND o.seq <= d.upto)`, names, ends)
	}
	if c.JournalTo > 0 {
		s.part(`, covered AS (DELETE FROM journal WHERE state = (SELECT state FROM head) AND seq <= %s)`, c.JournalTo)
	}
}

// Outbox lists entries; see [checkpoint.Outbox]. A damaged one is checkpoint.ErrCorrupt.
func (p *Store) Outbox(ctx context.Context, id checkpoint.ID, output string, after int64, limit int, maxBytes int64) (
	page []checkpoint.OutboxEntry, err error) {
	bound := rules.NewOutboxPage(limit, maxBytes)
	err = p.rows(ctx, pgOutbox, []any{id.Tenant, id.Graph, id.Shard, output, after, bound.Limit, bound.Bytes},
		func(r pgx.Rows) error {
			e := checkpoint.OutboxEntry{Output: output}
			var at, sum int64
			if err := r.Scan(&e.Seq, &e.Epoch, &e.Key, &e.FiringID, &at, &sum, &e.Data); err != nil {
				return err
			}
			if rules.EntrySum(&e) != sum {
				return fmt.Errorf("%w: the checksum of entry %d does not fit; restore the database from a backup, or "+
					"delete the graph with its state", checkpoint.ErrCorrupt, e.Seq)
			}
			e.At = rules.FromNanos(at)
			page = append(page, e)
			return nil
		})
	if err != nil {
		return nil, rules.Wrap(err, "read the outbox of output %s of graph %s", output, id)
	}
	return page, nil
}

// OutboxDepths is what waits; see [checkpoint.Outbox].
func (p *Store) OutboxDepths(ctx context.Context, id checkpoint.ID) (depths []checkpoint.OutboxDepth, err error) {
	err = p.rows(ctx, pgDepths, []any{id.Tenant, id.Graph, id.Shard}, func(r pgx.Rows) error {
		var d checkpoint.OutboxDepth
		var oldest int64
		err := r.Scan(&d.Output, &d.Entries, &d.Bytes, &d.First, &d.Last, &oldest)
		d.Oldest = rules.FromNanos(oldest)
		depths = append(depths, d)
		return err
	})
	return depths, rules.Wrap(err, "look at the outboxes of graph %s", id)
}

// AppendJournal adds entries in one statement; see [checkpoint.Journal]. It does not wait
// for a commit of the same graph.
func (p *Store) AppendJournal(ctx context.Context, id checkpoint.ID, fence int64,
	entries []checkpoint.JournalEntry) error {
	if len(entries) == 0 {
		return nil
	}
	return rules.Wrap(p.appendJournal(ctx, id, fence, entries), "journal of graph %s", id)
}

func (p *Store) appendJournal(ctx context.Context, id checkpoint.ID, fence int64,
	entries []checkpoint.JournalEntry) error {
	before := entries[0].Seq - 1
	if err := rules.CheckAppend(entries, fence, true, fence, before); err != nil {
		return err
	}
	n := len(entries)
	seqs, at, sums, data := make([]int64, n), make([]int64, n), make([]int64, n), make([][]byte, n)
	size := int64(0)
	for i := range entries {
		e := &entries[i]
		size += int64(len(e.Data))
		seqs[i], at[i], sums[i], data[i] = e.Seq, rules.Nanos(e.At), rules.JournalSum(e), rules.OrEmpty(e.Data)
	}
	text, args, more := pushkeys.Put(pgAppendJournal, pgAppended,
		[]any{id.Tenant, id.Graph, id.Shard, seqs[n-1], fence, before, seqs, at, sums, data}, entries)
	call := together.Call{Text: text, Args: args, Bytes: size + more}
	if err := p.changes.Do(ctx, &call); err != nil || call.Answer == 1 {
		return err
	}
	if err := p.lookAgain(ctx); err != nil {
		return err
	}
	var have, last int64
	found, err := p.row(ctx, p.bulk, pgJournalEnd, []any{id.Tenant, id.Graph, id.Shard}, &have, &last)
	if err != nil {
		return err
	}
	if err := rules.CheckAppend(entries, fence, found, have, last); err != nil {
		return err
	}
	return fmt.Errorf("the append changed nothing although it fits: %w", checkpoint.ErrUnknownOutcome)
}

// ReadJournal visits entries in one snapshot; see [checkpoint.Journal]. A damaged or
// missing entry is checkpoint.ErrCorrupt. visit may call the store.
func (p *Store) ReadJournal(ctx context.Context, id checkpoint.ID, after int64,
	visit func(checkpoint.JournalEntry) error) error {
	found, next, last := false, after, int64(0)
	err := p.rows(ctx, pgReadJournal, []any{id.Tenant, id.Graph, id.Shard, after}, func(r pgx.Rows) error {
		found = true
		var seq, at, sum *int64
		var data []byte
		if err := r.Scan(&last, &seq, &at, &sum, &data); err != nil {
			return err
		}
		if seq == nil {
			return nil
		}
		e := checkpoint.JournalEntry{Seq: *seq, At: rules.FromNanos(*at), Data: rules.OrEmpty(data)}
		if err := rules.Follows(next, e.Seq); err != nil {
			return err
		}
		if rules.JournalSum(&e) != *sum {
			return fmt.Errorf("%w: the checksum of journal entry %d does not fit; restore the database from a "+
				"backup, or delete the graph with its state", checkpoint.ErrCorrupt, e.Seq)
		}
		next = e.Seq
		return visit(e)
	})
	if err == nil && !found {
		err = checkpoint.ErrNotFound
	}
	if err == nil {
		err = rules.JournalEnd(next, last)
	}
	return rules.Wrap(err, "read the journal of graph %s", id)
}
