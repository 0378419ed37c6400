// Package pushkeys is the table of pushes with an Idempotency-Key in an SQLite store. Start at [Keys].
package pushkeys

import (
	"context"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/dal/rules"
	"github.com/graphd/graphd/internal/dal/sqlite/sqlconn"
)

const (
	put = `INSERT OR REPLACE INTO push_key (tenant, state, accumulator, key, first, hash, shards, done, at, size, sum,
		outcome) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	list = `SELECT h.shard, k.hash, k.shards, k.done, k.at, k.sum, k.outcome FROM graph_head h JOIN push_key k
		ON k.state = h.state WHERE h.tenant = ? AND h.graph = ? AND k.accumulator = ? AND k.key = ? AND k.first = ?`
	state     = ` state = (SELECT state FROM graph_head WHERE tenant = ?1 AND graph = ?2 AND shard = ?3)`
	retention = `SELECT at, size FROM push_key INDEXED BY push_key_retention WHERE` + state + ` ORDER BY at DESC`
	remove    = `DELETE FROM push_key WHERE rowid IN (SELECT rowid FROM push_key WHERE` + state +
		` AND at < ?4 LIMIT ?5)`
	// Sweep removes so many rows of a state.
	Sweep = `DELETE FROM push_key WHERE rowid IN (SELECT rowid FROM push_key WHERE state = ? LIMIT ?)`
)

// Keys is [checkpoint.PushKeys] over what the store reads and writes with: Write runs apply within a transaction, Read
// lends a connection.
type Keys struct {
	Write func(ctx context.Context, size int, apply func(context.Context, *sqlconn.Conn) error) error
	Read  func(ctx context.Context, use func(*sqlconn.Conn) error) error
}

// Put writes what entries of a state's journal bring, in the transaction that writes the entries.
func Put(conn *sqlconn.Conn, tenant string, state int64, entries []checkpoint.JournalEntry) error {
	for _, k := range rules.LastKeys(entries) {
		if _, err := conn.Exec(put, tenant, state, k.Accumulator, k.Key, k.First, k.Hash, int64(k.Shards),
			int64(k.Done), rules.Nanos(k.At), rules.KeySize(k), rules.KeySum(k), rules.OrEmpty(k.Outcome)); err != nil {
			return err
		}
	}
	return nil
}

// PushKeys is what is known of a batch; see [checkpoint.PushKeys].
func (t *Keys) PushKeys(ctx context.Context, graph checkpoint.ID, accumulator, key string, first int64) (
	all []checkpoint.PushKey, err error) {
	err = t.Read(ctx, func(c *sqlconn.Conn) error {
		return c.Query(ctx, list, func(r sqlconn.Row) error {
			all = append(all, checkpoint.PushKey{Accumulator: accumulator, Key: key, First: first, Shard: int(r.Int(0)),
				Hash: r.Blob(1), Shards: int(r.Int(2)), Done: int(r.Int(3)), At: rules.FromNanos(r.Int(4)),
				Outcome: r.Blob(6)})
			return rules.CheckKey(&all[len(all)-1], r.Int(5))
		}, graph.Tenant, graph.Graph, accumulator, key, first)
	})
	return all, rules.Wrap(err, "look for an Idempotency-Key of graph %s", graph)
}

// PrunePushKeys forgets what is past the bounds; see [checkpoint.PushKeys].
func (t *Keys) PrunePushKeys(ctx context.Context, id checkpoint.ID, olderThan time.Time, most int, maxBytes int64) (
	expired, displaced int64, err error) {
	cut := rules.KeyCut{Retention: rules.Retention{OlderThan: olderThan, Max: most, MaxBytes: maxBytes}}
	err = t.Read(ctx, func(c *sqlconn.Conn) error {
		return c.Query(ctx, retention, func(r sqlconn.Row) error {
			cut.Look(rules.FromNanos(r.Int(0)), r.Int(1))
			return nil
		}, id.Tenant, id.Graph, int64(id.Shard))
	})
	if err == nil {
		expired, displaced, err = cut.Remove(func(before int64) (n int64, err error) {
			err = t.Write(ctx, 0, func(_ context.Context, c *sqlconn.Conn) (err error) {
				n, err = c.Exec(remove, id.Tenant, id.Graph, int64(id.Shard), before, int64(rules.PruneBatch))
				return err
			})
			return n, err
		})
	}
	return expired, displaced, rules.Wrap(err, "forget Idempotency-Keys of graph %s", id)
}
