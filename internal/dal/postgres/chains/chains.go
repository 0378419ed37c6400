// Package chains is the audit in a PostgreSQL store. Start at [Chains].
package chains

import (
	"context"
	"errors"

	"github.com/graphd/graphd/internal/audit"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/dal/rules"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// One statement: whoever else appends to the chain waits for its row, and goes on from what it is then.
	add = `WITH chain AS (
			INSERT INTO audit_chain AS c (tenant, seq, prev, sum, removed, removed_sum) VALUES ($1, 1, ` + none + `,
				sha256(` + none + ` || int8send(1) || convert_to($5, 'UTF8')), 0, ` + none + `)
			ON CONFLICT (tenant) DO UPDATE
			SET seq = c.seq + 1, prev = c.sum, sum = sha256(c.sum || int8send(c.seq + 1) || convert_to($5, 'UTF8'))
			RETURNING seq, prev, sum
		)
		INSERT INTO audit_entry (tenant, seq, at, subject, graph, prev, sum, body)
		SELECT $1, seq, $2, $3, $4, prev, sum, $5 FROM chain RETURNING seq`
	none = `decode(repeat('00', 32), 'hex')`
	// Entries are not in the order of their times: what the store was away for is written late. Where the caller
	// has no place yet, the first of the times that are meant is looked for.
	list = `SELECT ` + rules.AuditColumns + ` FROM audit_entry WHERE tenant = $1
		AND seq > CASE WHEN $2::bigint > 0 OR $3::bigint = 0 THEN $2 ELSE coalesce((SELECT min(seq) - 1 FROM
			(SELECT seq FROM audit_entry WHERE tenant = $1 AND at >= $3 OFFSET 0) meant), 9223372036854775807) END
		AND at >= $3 AND $4 IN ('', subject) AND $5 IN ('', graph) ORDER BY seq LIMIT $6`
	all = `SELECT tenant, seq, sum, removed, removed_sum FROM audit_chain ORDER BY tenant`
	// The chain's last entry stays. Who comes too late anchors nothing.
	remove = `WITH old AS (SELECT seq, sum FROM audit_entry WHERE tenant = $1 AND seq <= $2
			AND seq < (SELECT seq FROM audit_chain WHERE tenant = $1) ORDER BY seq DESC LIMIT 1),
		anchor AS (UPDATE audit_chain c SET removed = old.seq, removed_sum = old.sum FROM old
			WHERE c.tenant = $1 AND c.removed < old.seq)
		DELETE FROM audit_entry e USING old WHERE e.tenant = $1 AND e.seq <= old.seq`
)

// Use is what is done with a connection.
type Use = func(context.Context, *pgxpool.Conn) error

// maxReading is how many read at one time: a choice may take a while to be found, and changes wait for no reader.
const maxReading = 2

// Chains is [audit.Log] over the store's connections. Make it with [New].
type Chains struct {
	on      func(ctx context.Context, use Use) error
	reading chan struct{}
}

// New makes the chains; on lends a connection for as long as use runs.
func New(on func(ctx context.Context, use Use) error) Chains {
	return Chains{on: on, reading: make(chan struct{}, maxReading)}
}

// AppendAudit adds an entry to the end of its tenant's chain.
func (c *Chains) AppendAudit(ctx context.Context, e audit.Entry) (seq int64, err error) {
	r, err := rules.AuditEntry(&e)
	if err != nil {
		return 0, err
	}
	err = c.on(ctx, func(ctx context.Context, conn *pgxpool.Conn) error {
		return conn.QueryRow(ctx, add, e.Tenant, r.At, r.Subject, r.Graph, string(r.Body)).Scan(&seq)
	})
	return seq, rules.Wrap(err, "append to the audit")
}

// AuditRows is the next of a chain's entries that q means.
func (c *Chains) AuditRows(ctx context.Context, q audit.Query) (rows []audit.Row, err error) {
	rows, err = read(ctx, c, scanRow, list, q.Tenant, q.After, rules.AuditSince(&q), q.Subject, q.Graph,
		rules.AuditLimit(&q))
	return rows, rules.Wrap(err, "read the audit")
}

// AuditChains are all chains there are.
func (c *Chains) AuditChains(ctx context.Context) ([]audit.Chain, error) {
	chains, err := read(ctx, c, scanChain, all)
	return chains, rules.Wrap(err, "read the ends of the audit")
}

// PruneAudit removes a chain's first entries.
func (c *Chains) PruneAudit(ctx context.Context, tenant string, through int64) (removed int64, err error) {
	err = c.on(ctx, func(ctx context.Context, conn *pgxpool.Conn) error {
		tag, err := conn.Exec(ctx, remove, tenant, through)
		removed = tag.RowsAffected()
		return err
	})
	return removed, rules.Wrap(err, "remove old entries of the audit")
}

// read tries again, once, on a connection that has turned out to be dead.
func read[T any](ctx context.Context, c *Chains, scan pgx.RowToFunc[T], text string, args ...any) (all []T, err error) {
	select {
	case c.reading <- struct{}{}:
		defer func() { <-c.reading }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	once := func() error {
		return c.on(ctx, func(ctx context.Context, conn *pgxpool.Conn) error {
			rows, err := conn.Query(ctx, text, args...)
			if err != nil {
				return err
			}
			all, err = pgx.CollectRows(rows, scan)
			return err
		})
	}
	if err = once(); errors.Is(err, checkpoint.ErrUnreachable) && ctx.Err() == nil {
		err = once()
	}
	return all, err
}

func scanRow(row pgx.CollectableRow) (r audit.Row, err error) {
	var prev, sum []byte
	var body string
	if err = row.Scan(&r.Seq, &prev, &sum, &body, &r.At, &r.Subject, &r.Graph); err == nil {
		r.Body = []byte(body)
		err = rules.AuditRow(&r, prev, sum)
	}
	return r, err
}

func scanChain(row pgx.CollectableRow) (c audit.Chain, err error) {
	var head, removed []byte
	if err = row.Scan(&c.Tenant, &c.Head.Seq, &head, &c.Removed.Seq, &removed); err == nil {
		c.Head.Sum, err = rules.AuditSum(head)
	}
	if err == nil {
		c.Removed.Sum, err = rules.AuditSum(removed)
	}
	return c, err
}
