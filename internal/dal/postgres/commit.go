package postgres

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/dal/postgres/together"
	"github.com/graphd/graphd/internal/dal/rules"
	"github.com/jackc/pgx/v5/pgxpool"
)

// maxCommitBytes bounds one commit: a message to the server may have 1 GB, and binary data
// takes as much as it has.
const maxCommitBytes = 768 << 20

// statement is one SQL statement of many parts, put together for what a commit carries. The
// same parts give the same text, so the server has it prepared.
type statement struct {
	text strings.Builder
	args []any
}

// arg adds a parameter and returns its place.
func (s *statement) arg(v any) string {
	s.args = append(s.args, v)
	return "$" + strconv.Itoa(len(s.args))
}

// part adds text; every %s of it takes one argument's place.
func (s *statement) part(text string, args ...any) {
	places := make([]any, len(args))
	for i, v := range args {
		places[i] = s.arg(v)
	}
	fmt.Fprintf(&s.text, text, places...)
}

// Commit applies c in one statement and one round trip; see [checkpoint.Checkpoints]. The
// first part updates the head where fence and sequence number match, and every other part
// works on the rows that it returns: none, when it was fenced. No lock is held while this
// process thinks, so one that hangs holds up nobody.
//
// A ctx that is done before the statement is sent takes the commit back; after that the
// answer is ErrUnknownOutcome. An error that the server answers is clean.
func (p *Store) Commit(ctx context.Context, c *checkpoint.Commit) error {
	return checkpoint.CommitError(c.ID, c.Seq, p.commit(ctx, c))
}

func (p *Store) commit(ctx context.Context, c *checkpoint.Commit) error {
	if err := fitsOne(c); err != nil {
		return err
	}
	firings := rules.RingTail(c.Firings, c.KeepFirings)
	applied, err := false, error(nil)
	if ascending(firings) {
		applied, err = p.apply(ctx, c, firings, true)
	}
	if err == nil && !applied {
		if err = p.whyRefused(ctx, c); err == nil {
			// Fence and sequence fit: the records are older than those in the ring.
			applied, err = p.apply(ctx, c, unique(firings), false)
			if err == nil && !applied {
				err = p.whyRefused(ctx, c)
			}
		}
	}
	if err != nil && len(c.Rows) > 0 {
		err = p.refusedRow(ctx, c, err)
	}
	return err
}

// fitsOne refuses a commit that is more than one statement can carry.
func fitsOne(c *checkpoint.Commit) error {
	if size := commitSize(c); size > maxCommitBytes {
		return fmt.Errorf("the changes are %d MB, more than the %d MB that one commit may have: checkpoint more "+
			"often, or keep less in this graph",
			size>>20, maxCommitBytes>>20)
	}
	return nil
}

// apply sends the commit; ordered says that the records follow on those in the ring.
func (p *Store) apply(ctx context.Context, c *checkpoint.Commit, firings []checkpoint.Firing, ordered bool) (
	applied bool, err error) {
	s := commitStatement(c, firings, ordered)
	call := together.Call{Text: s.text.String(), Args: s.args, Bytes: commitSize(c)}
	if len(c.Rows) > 0 { // others' tables: what they lock is not ours to know
		err = p.send(ctx, []*together.Call{&call})
	} else {
		err = p.changes.Do(ctx, &call)
	}
	return err == nil && call.Answer == 1, err
}

// send carries out calls in one transaction.
func (p *Store) send(ctx context.Context, calls []*together.Call) error {
	return p.onFor(ctx, p.bulk, p.budget(p.bulk, together.Bytes(calls)),
		func(ctx context.Context, conn *pgxpool.Conn) error { return outcomeOf(together.Send(ctx, conn, calls)) })
}

// commitStatement is the statement of a commit. It answers one number: 1, or 0 when it was refused.
func commitStatement(c *checkpoint.Commit, firings []checkpoint.Firing, ordered bool) *statement {
	s := &statement{}
	at := rules.Nanos(c.At)
	meta := rules.OrEmpty(c.Meta)
	s.part(`WITH head AS (UPDATE graph_head h SET epoch = %s, seq = %s, at = %s, sum = %s, meta = %s`, c.Epoch, c.Seq,
		at, rules.HeadSum(c.Epoch, c.Seq, at, c.Meta), meta)
	if c.Proven {
		s.part(`, unclean_starts = 0`)
	}
	if c.Tried {
		s.part(`, attempts = 0, attempted_epoch = 0, attempted_by = 0`)
	}
	s.firings(c, firings, ordered)
	s.cells(c)
	s.deadLetters(c.DeadLetters, c.Discard)
	s.outbox(c)
	for i := range c.Rows {
		s.sinkRows(&c.Rows[i])
	}
	s.part(` SELECT count(*) FROM head`)
	return s
}

// whyRefused looks for the reason why no head was advanced; nil says that the head fits.
func (p *Store) whyRefused(ctx context.Context, c *checkpoint.Commit) error {
	if err := p.lookAgain(ctx); err != nil {
		return err
	}
	var fence, seq int64
	found, err := p.row(ctx, p.bulk, pgFence, []any{c.ID.Tenant, c.ID.Graph, c.ID.Shard}, &fence, &seq)
	if err != nil {
		return err
	}
	return rules.CheckCommit(c, found, fence, seq)
}

func commitSize(c *checkpoint.Commit) (n int64) {
	n = int64(len(c.Meta))
	for i := range c.Cells {
		n += int64(len(c.Cells[i].Data) + len(c.Cells[i].Key) + 64)
	}
	for i := range c.Firings {
		n += int64(len(c.Firings[i].Data) + 64)
	}
	for i := range c.DeadLetters {
		n += int64(len(c.DeadLetters[i].Payload) + 256)
	}
	for i := range c.Outbox {
		n += int64(len(c.Outbox[i].Data) + 256)
	}
	return n
}

// cells adds the changes of cells. Of several changes of one cell the last counts.
func (s *statement) cells(c *checkpoint.Commit) {
	var put, gone struct{ kinds, names, keys []string }
	var sums []int64
	var data [][]byte
	last := lastOfEach(c.Cells)
	for i := range c.Cells {
		cell := &c.Cells[i]
		if last != nil && last[cellName{cell.Kind, cell.Name, cell.Key}] != i {
			continue
		}
		if cell.Data == nil {
			gone.kinds, gone.names, gone.keys = append(gone.kinds, cell.Kind), append(gone.names, cell.Name),
				append(gone.keys, cell.Key)
			continue
		}
		put.kinds, put.names, put.keys = append(put.kinds, cell.Kind), append(put.names, cell.Name),
			append(put.keys, cell.Key)
		sums, data = append(sums, rules.CellSum(cell)), append(data, cell.Data)
	}
	if len(data) > 0 {
		s.part(`, put AS (INSERT INTO cell (state, kind, name, key, sum, data)
			SELECT head.state, u.* FROM head, unnest(%s::text[], %s::text[], %s::text[], %s::bigint[], %s::bytea[]) u
			ON CONFLICT (state, kind, name, key) DO UPDATE SET sum = excluded.sum, data = excluded.data)`,
			put.kinds, put.names, put.keys, sums, data)
	}
	if len(gone.kinds) > 0 {
		s.part(`, gone AS (DELETE FROM cell c USING head, unnest(%s::text[], %s::text[], %s::text[]) d (kind, name, key)
			WHERE c.state = head.state AND c.kind = d.kind AND c.name = d.name AND c.key = d.key)`,
			gone.kinds, gone.names, gone.keys)
	}
}

type cellName struct{ kind, name, key string }

// lastOfEach is the place of the last change of each cell; nil when no cell comes twice.
func lastOfEach(cells []checkpoint.Cell) map[cellName]int {
	if len(cells) < 2 {
		return nil
	}
	last := make(map[cellName]int, len(cells))
	for i := range cells {
		last[cellName{cells[i].Kind, cells[i].Name, cells[i].Key}] = i
	}
	if len(last) == len(cells) {
		return nil
	}
	return last
}
