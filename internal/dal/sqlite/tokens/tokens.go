// Package tokens is the table of tokens in an SQLite store. Start at [Table].
package tokens

import (
	"context"
	"time"

	"github.com/graphd/graphd/internal/access"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/dal/rules"
	"github.com/graphd/graphd/internal/dal/sqlite/sqlconn"
)

const (
	insert = `INSERT INTO token (` + rules.TokenColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO NOTHING`
	one  = `SELECT ` + rules.TokenColumns + ` FROM token WHERE id = ?`
	list = `SELECT ` + rules.TokenColumns + ` FROM token WHERE ?1 IN ('', tenant) ORDER BY created DESC, id`
	mark = `UPDATE token SET revoked = iif(revoked = 0, ?2, revoked), used = max(used, ?3) WHERE id = ?1`
)

// Table is [checkpoint.Tokens] over what the store reads and writes with: Write runs apply within a
// transaction, Read lends a connection.
type Table struct {
	Write func(ctx context.Context, size int, apply func(context.Context, *sqlconn.Conn) error) error
	Read  func(ctx context.Context, use func(*sqlconn.Conn) error) error
}

// AddToken keeps a new token; see [checkpoint.Tokens].
func (t *Table) AddToken(ctx context.Context, token access.Token) error {
	args := rules.TokenArgs(&token)
	args[5] = int64(0)
	if token.Scope.Reading {
		args[5] = int64(1)
	}
	return rules.Wrap(t.change(ctx, checkpoint.ErrConflict, insert, args...), "add token %s", token.ID)
}

// MarkToken notes a use or the end of a token.
func (t *Table) MarkToken(ctx context.Context, id string, revoked, used time.Time) error {
	err := t.change(ctx, checkpoint.ErrNotFound, mark, id, rules.Nanos(revoked), rules.Nanos(used))
	return rules.Wrap(err, "mark token %s", id)
}

// change runs a statement that changes one row, or refuses with otherwise.
func (t *Table) change(ctx context.Context, otherwise error, text string, args ...any) error {
	return t.Write(ctx, 0, func(_ context.Context, c *sqlconn.Conn) error {
		n, err := c.Exec(text, args...)
		if err == nil && n == 0 {
			return &rules.Refusal{Err: otherwise}
		}
		return err
	})
}

// Token is one by its id.
func (t *Table) Token(ctx context.Context, id string) (access.Token, error) {
	all, err := t.readAll(ctx, one, id)
	if err == nil && len(all) == 0 {
		err = checkpoint.ErrNotFound
	}
	if err != nil {
		return access.Token{}, rules.Wrap(err, "read token %s", id)
	}
	return all[0], nil
}

// Tokens lists those of a tenant, or all.
func (t *Table) Tokens(ctx context.Context, tenant string) ([]access.Token, error) {
	all, err := t.readAll(ctx, list, tenant)
	return all, rules.Wrap(err, "list tokens")
}

func (t *Table) readAll(ctx context.Context, text, arg string) (all []access.Token, err error) {
	err = t.Read(ctx, func(c *sqlconn.Conn) error {
		return c.Query(ctx, text, func(r sqlconn.Row) error {
			row := rules.TokenRow{
				ID: r.Text(0), Tenant: r.Text(1), Name: r.Text(2), Role: r.Text(3), Graphs: r.Text(4),
				Reading: r.Int(5) != 0, Sum: r.Blob(6), CreatedBy: r.Text(7), Created: r.Int(8), Expires: r.Int(9),
				Used: r.Int(10), Revoked: r.Int(11),
			}
			token, err := row.Token()
			all = append(all, token)
			return err
		}, arg)
	})
	return all, err
}
