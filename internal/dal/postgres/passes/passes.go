// Package passes is the table of browsers' sessions and tickets in a PostgreSQL store. Start at [Passes].
package passes

import (
	"context"
	"crypto/sha256"
	"errors"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/dal/rules"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// Who else removes them at this moment is not waited for.
	clean = `DELETE FROM pass WHERE sum IN (SELECT sum FROM pass WHERE ends <= $1 ORDER BY ends LIMIT 1000
		FOR UPDATE SKIP LOCKED)`
	held = `SELECT (SELECT count(*) FROM pass WHERE kind = $1 AND holder = $2 AND ends > $5),
		(SELECT count(*) FROM pass WHERE kind = $1 AND tenant = $3 AND ends > $5),
		(SELECT count(*) FROM pass WHERE kind = $1 AND ends > $5),
		EXISTS (SELECT FROM pass WHERE sum = $4)`
	ofHolder = `DELETE FROM pass WHERE sum IN
		(SELECT sum FROM pass WHERE kind = $1 AND holder = $2 ORDER BY made, sum LIMIT $3)`
	ofMost = `DELETE FROM pass WHERE sum IN (SELECT sum FROM pass WHERE kind = $1 AND tenant =
		(SELECT tenant FROM pass WHERE kind = $1 GROUP BY tenant ORDER BY count(*) DESC, tenant LIMIT 1)
		ORDER BY made, sum LIMIT $2)`
	insert = `INSERT INTO pass (` + rules.PassColumns + `) VALUES ($1, $2, $3, $4, $5, $6, $7)
		ON CONFLICT (sum) DO NOTHING`
	one  = `SELECT ` + rules.PassColumns + ` FROM pass WHERE sum = $1 AND kind = $2 AND ends > $3`
	take = `DELETE FROM pass WHERE sum = $1 AND kind = $2 AND ends > $3 RETURNING ` + rules.PassColumns
	drop = `DELETE FROM pass WHERE holder = $1`
)

// Use is what is done with a connection.
type Use = func(context.Context, *pgxpool.Conn) error

// Passes is [checkpoint.Passes] over the store's connections.
type Passes struct {
	on func(ctx context.Context, use Use) error
}

// New makes them; on lends a connection for as long as use runs.
func New(on func(ctx context.Context, use Use) error) Passes { return Passes{on} }

// AddPass keeps a new pass; see [checkpoint.Passes].
func (t *Passes) AddPass(ctx context.Context, p checkpoint.Pass, b checkpoint.PassBounds) error {
	return rules.Wrap(t.on(ctx, func(ctx context.Context, c *pgxpool.Conn) error { return add(ctx, c, &p, &b) }),
		"add a %s", p.Kind)
}

// add counts and inserts in two round trips. What another one adds in between is counted by the next.
func add(ctx context.Context, c *pgxpool.Conn, p *checkpoint.Pass, b *checkpoint.PassBounds) error {
	var first, second pgx.Batch
	first.Queue(clean, rules.Nanos(p.Made))
	var h rules.PassesHeld
	first.Queue(held, p.Kind, p.Holder, p.Tenant, p.Sum[:], rules.Nanos(p.Made)).QueryRow(func(r pgx.Row) error {
		return r.Scan(&h.Holder, &h.Tenant, &h.All, &h.There)
	})
	if err := c.SendBatch(ctx, &first).Close(); err != nil {
		return err
	}
	own, most, err := h.Admit(b)
	if err != nil {
		return err
	}
	if own > 0 {
		second.Queue(ofHolder, p.Kind, p.Holder, own)
	}
	if most > 0 {
		second.Queue(ofMost, p.Kind, most)
	}
	inserted := false
	second.Queue(insert, rules.PassArgs(p)...)
	results := c.SendBatch(ctx, &second)
	for range second.Len() {
		tag, err := results.Exec()
		if err != nil {
			return errors.Join(err, results.Close())
		}
		inserted = tag.RowsAffected() == 1 // of the last one
	}
	if err := results.Close(); err != nil {
		return err
	}
	if !inserted {
		return checkpoint.ErrConflict
	}
	return nil
}

// Pass is one that has not ended. It tries again, once, on a connection that has turned out to be dead.
func (t *Passes) Pass(ctx context.Context, kind string, sum [sha256.Size]byte, now time.Time) (
	checkpoint.Pass, error) {
	p, err := t.row(ctx, one, kind, sum, now)
	if errors.Is(err, checkpoint.ErrUnreachable) && ctx.Err() == nil {
		p, err = t.row(ctx, one, kind, sum, now)
	}
	return p, rules.Wrap(err, "read a %s", kind)
}

// TakePass removes one and gives it. It does not try again: it may be taken although no answer has come.
func (t *Passes) TakePass(ctx context.Context, kind string, sum [sha256.Size]byte, now time.Time) (
	checkpoint.Pass, error) {
	p, err := t.row(ctx, take, kind, sum, now)
	return p, rules.Wrap(err, "take a %s", kind)
}

func (t *Passes) row(ctx context.Context, text, kind string, sum [sha256.Size]byte, now time.Time) (
	p checkpoint.Pass, err error) {
	err = t.on(ctx, func(ctx context.Context, c *pgxpool.Conn) error {
		var r rules.PassRow
		err := c.QueryRow(ctx, text, sum[:], kind, rules.Nanos(now)).Scan(&r.Sum, &r.Kind, &r.Tenant, &r.Holder,
			&r.Made, &r.Ends, &r.Who)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return checkpoint.ErrNotFound
		case err != nil:
			return err
		}
		p, err = r.Pass()
		return err
	})
	return p, err
}

// DropPasses removes all of a holder.
func (t *Passes) DropPasses(ctx context.Context, holder string) error {
	return rules.Wrap(t.on(ctx, func(ctx context.Context, c *pgxpool.Conn) error {
		_, err := c.Exec(ctx, drop, holder)
		return err
	}), "drop the passes of %s", holder)
}
