// Package tokens is the table of tokens in a PostgreSQL store. Start at [Table].
package tokens

import (
	"context"
	"errors"
	"time"

	"github.com/graphd/graphd/internal/access"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/dal/rules"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	insert = `INSERT INTO token (` + rules.TokenColumns + `) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
		ON CONFLICT (id) DO NOTHING`
	one  = `SELECT ` + rules.TokenColumns + ` FROM token WHERE id = $1`
	list = `SELECT ` + rules.TokenColumns + ` FROM token WHERE $1 IN ('', tenant) ORDER BY created DESC, id`
	mark = `UPDATE token SET revoked = CASE revoked WHEN 0 THEN $2 ELSE revoked END, used = greatest(used, $3)
		WHERE id = $1`
)

// Use is what is done with a connection.
type Use = func(context.Context, *pgxpool.Conn) error

// Table is [checkpoint.Tokens] over the store's connections: On lends one for as long as use runs.
type Table struct {
	On func(ctx context.Context, use Use) error
}

// AddToken keeps a new token.
func (t *Table) AddToken(ctx context.Context, token access.Token) error {
	return rules.Wrap(t.change(ctx, checkpoint.ErrConflict, insert, rules.TokenArgs(&token)...), "add token %s",
		token.ID)
}

// MarkToken notes a use or the end of a token.
func (t *Table) MarkToken(ctx context.Context, id string, revoked, used time.Time) error {
	return rules.Wrap(t.change(ctx, checkpoint.ErrNotFound, mark, id, rules.Nanos(revoked), rules.Nanos(used)),
		"mark token %s", id)
}

// change runs a statement that changes one row, or refuses with otherwise.
func (t *Table) change(ctx context.Context, otherwise error, text string, args ...any) error {
	return t.On(ctx, func(ctx context.Context, c *pgxpool.Conn) error {
		tag, err := c.Exec(ctx, text, args...)
		if err == nil && tag.RowsAffected() == 0 {
			return otherwise
		}
		return err
	})
}

// Token is one by its id.
func (t *Table) Token(ctx context.Context, id string) (access.Token, error) {
	all, err := t.read(ctx, one, id)
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
	all, err := t.read(ctx, list, tenant)
	return all, rules.Wrap(err, "list tokens")
}

// read tries again, once, on a connection that has turned out to be dead.
func (t *Table) read(ctx context.Context, text, arg string) (all []access.Token, err error) {
	if all, err = t.readOnce(ctx, text, arg); errors.Is(err, checkpoint.ErrUnreachable) && ctx.Err() == nil {
		all, err = t.readOnce(ctx, text, arg)
	}
	return all, err
}

func (t *Table) readOnce(ctx context.Context, text, arg string) (all []access.Token, err error) {
	err = t.On(ctx, func(ctx context.Context, c *pgxpool.Conn) error {
		rows, err := c.Query(ctx, text, arg)
		if err != nil {
			return err
		}
		all, err = pgx.CollectRows(rows, scan)
		return err
	})
	return all, err
}

func scan(r pgx.CollectableRow) (access.Token, error) {
	var row rules.TokenRow
	err := r.Scan(&row.ID, &row.Tenant, &row.Name, &row.Role, &row.Graphs, &row.Reading, &row.Sum, &row.CreatedBy,
		&row.Created, &row.Expires, &row.Used, &row.Revoked)
	if err != nil {
		return access.Token{}, err
	}
	return row.Token()
}
