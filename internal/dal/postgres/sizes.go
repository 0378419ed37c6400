package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/graphd/graphd/internal/dal/rules"
)

// pgStoredBytes asks for lengths alone, for which the database does not read what lies outside the rows.
const pgStoredBytes = `SELECT coalesce(sum(octet_length(meta)
	+ coalesce((SELECT sum(octet_length(key) + octet_length(data)) FROM cell WHERE cell.state = head.state), 0)
	+ coalesce((SELECT sum(octet_length(data)) FROM firing WHERE firing.state = head.state), 0)
	+ coalesce((SELECT sum(size) FROM dead_letter WHERE dead_letter.state = head.state), 0)
	+ coalesce((SELECT sum(octet_length(data)) FROM journal WHERE journal.state = head.state), 0)
	+ coalesce((SELECT sum(size) FROM outbox WHERE outbox.state = head.state), 0)
	+ coalesce((SELECT sum(size) FROM push_key WHERE push_key.state = head.state), 0)
	), 0)::bigint FROM graph_head head WHERE tenant = $1`

// StoredBytes is what a tenant has in the store; see [checkpoint.Sizes].
func (p *Store) StoredBytes(ctx context.Context, tenant string) (bytes int64, err error) {
	err = p.rows(ctx, pgStoredBytes, []any{tenant}, func(r pgx.Rows) error { return r.Scan(&bytes) })
	return bytes, rules.Wrap(err, "measure what the tenant %s has in the store", tenant)
}
