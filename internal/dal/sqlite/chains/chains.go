// Package chains is the audit in an SQLite store. Start at [Chains].
package chains

import (
	"context"
	"errors"

	"github.com/graphd/graphd/internal/audit"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/dal/rules"
	"github.com/graphd/graphd/internal/dal/sqlite/sqlconn"
)

const (
	head  = `SELECT seq, sum FROM audit_chain WHERE tenant = ?`
	raise = `INSERT INTO audit_chain (tenant, seq, sum, removed, removed_sum) VALUES (?1, ?2, ?3, 0, zeroblob(32))
		ON CONFLICT (tenant) DO UPDATE SET seq = ?2, sum = ?3`
	insert = `INSERT INTO audit_entry (tenant, seq, at, subject, graph, prev, sum, body)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?)`
	// Entries are not in the order of their times: what the store was away for is written late. Where the caller
	// has no place yet, the first of the times that are meant is looked for.
	list = `SELECT ` + rules.AuditColumns + ` FROM audit_entry WHERE tenant = ?1
		AND seq > CASE WHEN ?2 > 0 OR ?3 = 0 THEN ?2
			ELSE ifnull((SELECT min(seq) - 1 FROM audit_entry INDEXED BY audit_entry_at WHERE tenant = ?1 AND at >= ?3),
				9223372036854775807) END
		AND at >= ?3 AND ?4 IN ('', subject) AND ?5 IN ('', graph) ORDER BY seq LIMIT ?6`
	all = `SELECT tenant, seq, sum, removed, removed_sum FROM audit_chain ORDER BY tenant`
	// The last that is removed, the chain's last one never.
	old = `SELECT seq, sum FROM audit_entry WHERE tenant = ?1 AND seq <= ?2
		AND seq < (SELECT seq FROM audit_chain WHERE tenant = ?1) ORDER BY seq DESC LIMIT 1`
	remove = `DELETE FROM audit_entry WHERE tenant = ? AND seq <= ?`
	anchor = `UPDATE audit_chain SET removed = ?2, removed_sum = ?3 WHERE tenant = ?1`
)

// Chains is [audit.Log] over what the store reads and writes with: Write runs apply within a
// transaction, Read lends a connection.
type Chains struct {
	Write func(ctx context.Context, size int, apply func(context.Context, *sqlconn.Conn) error) error
	Read  func(ctx context.Context, use func(*sqlconn.Conn) error) error
}

// AppendAudit adds an entry to the end of its tenant's chain.
func (c *Chains) AppendAudit(ctx context.Context, e audit.Entry) (int64, error) {
	r, err := rules.AuditEntry(&e)
	if err != nil {
		return 0, err
	}
	err = c.Write(ctx, len(r.Body), func(_ context.Context, conn *sqlconn.Conn) error {
		r.Seq, r.Prev = 1, audit.Sum{} // a transaction may run twice
		last, err := conn.First(head, e.Tenant)
		if err == nil && last != nil {
			r.Seq = last.Int(0) + 1
			r.Prev, err = rules.AuditSum(last.Blob(1))
		}
		if err != nil {
			return err
		}
		r.Sum = audit.Link(r.Prev, r.Seq, string(r.Body))
		_, err = conn.Exec(insert, e.Tenant, r.Seq, r.At, r.Subject, r.Graph, r.Prev[:], r.Sum[:], string(r.Body))
		if err != nil {
			return err
		}
		_, err = conn.Exec(raise, e.Tenant, r.Seq, r.Sum[:])
		return err
	})
	return r.Seq, rules.Wrap(err, "append to the audit")
}

// AuditRows is the next of a chain's entries that q means.
func (c *Chains) AuditRows(ctx context.Context, q audit.Query) (rows []audit.Row, err error) {
	err = c.Read(ctx, func(conn *sqlconn.Conn) error {
		return conn.Query(ctx, list, func(row sqlconn.Row) error {
			r := audit.Row{Seq: row.Int(0), Body: []byte(row.Text(3)), At: row.Int(4), Subject: row.Text(5),
				Graph: row.Text(6)}
			err := rules.AuditRow(&r, row.Blob(1), row.Blob(2))
			rows = append(rows, r)
			return err
		}, q.Tenant, q.After, rules.AuditSince(&q), q.Subject, q.Graph, rules.AuditLimit(&q))
	})
	return rows, rules.Wrap(err, "read the audit")
}

// AuditChains are all chains there are.
func (c *Chains) AuditChains(ctx context.Context) (chains []audit.Chain, err error) {
	err = c.Read(ctx, func(conn *sqlconn.Conn) error {
		return conn.Query(ctx, all, func(row sqlconn.Row) (err error) {
			chain := audit.Chain{Tenant: row.Text(0), Head: audit.Place{Seq: row.Int(1)},
				Removed: audit.Place{Seq: row.Int(3)}}
			if chain.Head.Sum, err = rules.AuditSum(row.Blob(2)); err == nil {
				chain.Removed.Sum, err = rules.AuditSum(row.Blob(4))
			}
			chains = append(chains, chain)
			return err
		})
	})
	return chains, rules.Wrap(err, "read the ends of the audit")
}

// PruneAudit removes a chain's first entries.
func (c *Chains) PruneAudit(ctx context.Context, tenant string, through int64) (removed int64, err error) {
	err = c.Write(ctx, 0, func(_ context.Context, conn *sqlconn.Conn) error {
		removed = 0
		last, err := conn.First(old, tenant, through)
		if err == nil && last == nil {
			return &rules.Refusal{Err: checkpoint.ErrNotFound}
		}
		if err == nil {
			_, err = conn.Exec(anchor, tenant, last.Int(0), last.Blob(1))
		}
		if err == nil {
			removed, err = conn.Exec(remove, tenant, last.Int(0))
		}
		return err
	})
	if errors.Is(err, checkpoint.ErrNotFound) {
		return 0, nil
	}
	return removed, rules.Wrap(err, "remove old entries of the audit")
}
