// Package passes is the table of browsers' sessions and tickets in an SQLite store. Start at [Passes].
package passes

import (
	"context"
	"crypto/sha256"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/dal/rules"
	"github.com/graphd/graphd/internal/dal/sqlite/sqlconn"
)

const (
	clean = `DELETE FROM pass WHERE ends <= ?`
	held  = `SELECT (SELECT count(*) FROM pass WHERE kind = ?1 AND holder = ?2),
		(SELECT count(*) FROM pass WHERE kind = ?1 AND tenant = ?3), (SELECT count(*) FROM pass WHERE kind = ?1),
		EXISTS (SELECT 1 FROM pass WHERE sum = ?4)`
	ofHolder = `DELETE FROM pass WHERE sum IN
		(SELECT sum FROM pass WHERE kind = ?1 AND holder = ?2 ORDER BY made, sum LIMIT ?3)`
	ofMost = `DELETE FROM pass WHERE sum IN (SELECT sum FROM pass WHERE kind = ?1 AND tenant =
		(SELECT tenant FROM pass WHERE kind = ?1 GROUP BY tenant ORDER BY count(*) DESC, tenant LIMIT 1)
		ORDER BY made, sum LIMIT ?2)`
	insert = `INSERT INTO pass (` + rules.PassColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?)`
	one    = `SELECT ` + rules.PassColumns + ` FROM pass WHERE sum = ? AND kind = ? AND ends > ?`
	remove = `DELETE FROM pass WHERE sum = ?`
	drop   = `DELETE FROM pass WHERE holder = ?`
)

// Passes is [checkpoint.Passes] over what the store reads and writes with.
type Passes struct {
	write func(ctx context.Context, size int, apply func(context.Context, *sqlconn.Conn) error) error
	read  func(ctx context.Context, use func(*sqlconn.Conn) error) error
}

// New makes them: write runs apply within a transaction, read lends a connection.
func New(write func(ctx context.Context, size int, apply func(context.Context, *sqlconn.Conn) error) error,
	read func(ctx context.Context, use func(*sqlconn.Conn) error) error) Passes {
	return Passes{write, read}
}

// AddPass keeps a new pass; see [checkpoint.Passes].
func (t *Passes) AddPass(ctx context.Context, p checkpoint.Pass, b checkpoint.PassBounds) error {
	return rules.Wrap(t.write(ctx, len(p.Who), func(ctx context.Context, c *sqlconn.Conn) error {
		return add(ctx, c, &p, &b)
	}), "add a %s", p.Kind)
}

func add(ctx context.Context, c *sqlconn.Conn, p *checkpoint.Pass, b *checkpoint.PassBounds) error {
	if _, err := c.Exec(clean, rules.Nanos(p.Made)); err != nil {
		return err
	}
	var h rules.PassesHeld
	err := c.Query(ctx, held, func(r sqlconn.Row) error {
		h = rules.PassesHeld{Holder: int(r.Int(0)), Tenant: int(r.Int(1)), All: int(r.Int(2)), There: r.Int(3) != 0}
		return nil
	}, p.Kind, p.Holder, p.Tenant, p.Sum[:])
	if err != nil {
		return err
	}
	own, most, err := h.Admit(b)
	if err == nil && own > 0 {
		_, err = c.Exec(ofHolder, p.Kind, p.Holder, int64(own))
	}
	if err == nil && most > 0 {
		_, err = c.Exec(ofMost, p.Kind, int64(most))
	}
	if err == nil {
		_, err = c.Exec(insert, rules.PassArgs(p)...)
	}
	return err
}

// Pass is one that has not ended.
func (t *Passes) Pass(ctx context.Context, kind string, sum [sha256.Size]byte, now time.Time) (
	p checkpoint.Pass, err error) {
	err = t.read(ctx, func(c *sqlconn.Conn) error {
		p, err = find(ctx, c, kind, sum, now)
		return err
	})
	return p, rules.Wrap(err, "read a %s", kind)
}

// TakePass removes one and gives it.
func (t *Passes) TakePass(ctx context.Context, kind string, sum [sha256.Size]byte, now time.Time) (
	p checkpoint.Pass, err error) {
	err = t.write(ctx, 0, func(ctx context.Context, c *sqlconn.Conn) error {
		if p, err = find(ctx, c, kind, sum, now); err != nil {
			return err
		}
		_, err = c.Exec(remove, sum[:])
		return err
	})
	if err != nil {
		return checkpoint.Pass{}, rules.Wrap(err, "take a %s", kind)
	}
	return p, nil
}

func find(ctx context.Context, c *sqlconn.Conn, kind string, sum [sha256.Size]byte, now time.Time) (
	p checkpoint.Pass, err error) {
	found := false
	err = c.Query(ctx, one, func(r sqlconn.Row) error {
		found = true
		row := rules.PassRow{Sum: r.Blob(0), Kind: r.Text(1), Tenant: r.Text(2), Holder: r.Text(3), Made: r.Int(4),
			Ends: r.Int(5), Who: r.Blob(6)}
		p, err = row.Pass()
		return err
	}, sum[:], kind, rules.Nanos(now))
	if err == nil && !found {
		err = &rules.Refusal{Err: checkpoint.ErrNotFound}
	}
	return p, err
}

// DropPasses removes all of a holder.
func (t *Passes) DropPasses(ctx context.Context, holder string) error {
	return rules.Wrap(t.write(ctx, 0, func(_ context.Context, c *sqlconn.Conn) error {
		_, err := c.Exec(drop, holder)
		return err
	}), "drop the passes of %s", holder)
}
