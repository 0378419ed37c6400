package sqlite

import (
	"context"
	"errors"
	"fmt"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/dal/rules"
	"github.com/graphd/graphd/internal/dal/sqlite/sqlconn"
)

// Redeal applies r in one transaction; see [checkpoint.Deals]. All fences are looked at before anything is changed.
func (s *Store) Redeal(ctx context.Context, r *checkpoint.Redeal) (revision int64, err error) {
	d := &r.Declaration
	last := *r.Commits[len(r.Commits)-1] // its numbers outlive the caller's use of r
	seqs := map[checkpoint.ID]int64{}
	for _, c := range r.Commits {
		seqs[c.ID] = c.Seq
	}
	err = s.writer.do(&request{
		ctx: ctx, size: groupBytes,
		apply: func(ctx context.Context, conn *sqlconn.Conn) error {
			for _, c := range r.Commits {
				if err := mayCommit(conn, c); err != nil {
					return err
				}
			}
			if err := mayDeclare(conn, d, r.IfRevision); err != nil {
				return err
			}
			revision, err = redeal(ctx, conn, r)
			return err
		},
		applied: func(conn *sqlconn.Conn) (bool, error) {
			row, err := conn.First(selectFence, last.ID.Tenant, last.ID.Graph, int64(last.ID.Shard))
			return row != nil && row.Int(0) == last.Fence && row.Int(1) == last.Seq, err
		},
		acked: func(w *witness) {
			for id, seq := range seqs {
				w.note(id, func(s *slot) { s.seq = seq })
			}
		},
	})
	if err != nil {
		return 0, rules.Wrap(err, "deal the keys of graph %s anew", last.ID.Whole())
	}
	return revision, nil
}

// redeal makes the changes. What is refused here is no refusal any more, for something was changed: it undoes all.
func redeal(ctx context.Context, conn *sqlconn.Conn, r *checkpoint.Redeal) (int64, error) {
	for _, c := range r.Commits {
		err := commit(ctx, conn, c)
		if refused, ok := errors.AsType[*rules.Refusal](err); ok {
			err = refused.Err
		}
		if err != nil {
			return 0, fmt.Errorf("shard %d: %w", c.ID.Shard, err)
		}
	}
	return declare(conn, &r.Declaration)
}

// mayCommit refuses a commit that does not fit on its head.
func mayCommit(conn *sqlconn.Conn, c *checkpoint.Commit) error {
	r, err := conn.First(selectFence, c.ID.Tenant, c.ID.Graph, int64(c.ID.Shard))
	if err != nil {
		return err
	}
	if r == nil {
		return rules.CheckCommit(c, false, 0, 0)
	}
	return rules.CheckCommit(c, true, r.Int(0), r.Int(1))
}
