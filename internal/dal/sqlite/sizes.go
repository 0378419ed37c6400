package sqlite

import (
	"context"

	"github.com/graphd/graphd/internal/dal/rules"
	"github.com/graphd/graphd/internal/dal/sqlite/sqlconn"
)

// storedBytes asks for the length of a blob alone, for which SQLite does not read it.
const storedBytes = `SELECT coalesce(sum(length(meta)
	+ coalesce((SELECT sum(length(key) + length(data)) FROM cell WHERE cell.state = head.state), 0)
	+ coalesce((SELECT sum(length(data)) FROM firing WHERE firing.state = head.state), 0)
	+ coalesce((SELECT sum(size) FROM dead_letter INDEXED BY dead_letter_retention
		WHERE dead_letter.state = head.state), 0)
	+ coalesce((SELECT sum(length(data)) FROM journal WHERE journal.state = head.state), 0)
	+ coalesce((SELECT sum(size) FROM outbox INDEXED BY outbox_depth WHERE outbox.state = head.state), 0)
	+ coalesce((SELECT sum(size) FROM push_key INDEXED BY push_key_retention WHERE push_key.state = head.state), 0)
	), 0) FROM graph_head head WHERE tenant = ?`

// StoredBytes is what a tenant has in the store; see [checkpoint.Sizes].
func (s *Store) StoredBytes(ctx context.Context, tenant string) (bytes int64, err error) {
	err = s.read(ctx, func(c *sqlconn.Conn) error {
		return c.Query(ctx, storedBytes, func(r sqlconn.Row) error {
			bytes = r.Int(0)
			return nil
		}, tenant)
	})
	return bytes, rules.Wrap(err, "measure what the tenant %s has in the store", tenant)
}
