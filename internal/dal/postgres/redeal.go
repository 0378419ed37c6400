package postgres

import (
	"context"
	"errors"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/dal/postgres/together"
	"github.com/graphd/graphd/internal/dal/rules"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Redeal applies r in one transaction; see [checkpoint.Deals].
func (p *Store) Redeal(ctx context.Context, r *checkpoint.Redeal) (revision int64, err error) {
	calls := make([]*together.Call, len(r.Commits))
	for i, c := range r.Commits {
		if err := fitsOne(c); err != nil {
			return 0, checkpoint.CommitError(c.ID, c.Seq, err)
		}
		s := commitStatement(c, nil, true)
		calls[i] = &together.Call{Text: s.text.String(), Args: s.args, Bytes: commitSize(c)}
	}
	id := r.Commits[0].ID.Whole()
	var have int64
	if _, err := p.row(ctx, p.control, pgRevision, []any{id.Tenant, id.Graph}, &have); err != nil {
		return 0, rules.Wrap(err, "deal the keys of graph %s anew", id)
	}
	if err := rules.CheckRevision(id, have, r.IfRevision); err != nil {
		return 0, rules.Wrap(err, "deal the keys of graph %s anew", id)
	}
	refused := -1
	err = p.onFor(ctx, p.bulk, p.budget(p.bulk, together.Bytes(calls)),
		func(ctx context.Context, conn *pgxpool.Conn) (err error) {
			revision, refused, err = redeal(ctx, conn, calls, declareArgs(&r.Declaration, have))
			return err
		})
	if refused >= 0 && err == nil {
		if err = p.whyRefused(ctx, r.Commits[refused]); err == nil {
			err = checkpoint.ErrConflict // it fits by now: somebody else's change has come and gone
		}
	}
	return revision, rules.Wrap(err, "deal the keys of graph %s anew", id)
}

// redeal sends the commits and the declaration; refused is the first commit that no head was there for, -1 for none.
// The declaration comes last: its change is counted in a row that all of them share.
func redeal(ctx context.Context, conn *pgxpool.Conn, calls []*together.Call, declaration []any) (
	revision int64, refused int, err error) {
	tx, err := conn.Begin(ctx)
	if err != nil {
		return 0, -1, err
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }() // of what was committed it takes back nothing
	for i, c := range calls {
		if err := tx.QueryRow(ctx, c.Text, c.Args...).Scan(&c.Answer); err != nil {
			return 0, -1, err
		}
		if c.Answer != 1 {
			return 0, i, nil
		}
	}
	switch err := tx.QueryRow(ctx, pgPutDeclaration, declaration...).Scan(&revision, nil); {
	case errors.Is(err, pgx.ErrNoRows):
		return 0, -1, checkpoint.ErrConflict
	case err != nil:
		return 0, -1, err
	}
	return revision, -1, outcomeOf(tx.Commit(ctx))
}
