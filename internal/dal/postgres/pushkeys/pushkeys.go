// Package pushkeys is the table of pushes with an Idempotency-Key in a PostgreSQL store. Start at [Keys].
package pushkeys

import (
	"context"
	"strings"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/dal/rules"
	"github.com/jackc/pgx/v5"
)

const (
	// put stands behind the parts of an append that find the state and add the entries.
	put = `, keyed AS (
			INSERT INTO push_key (state, accumulator, key, first, hash, shards, done, at, size, sum, outcome)
			SELECT head.state, u.* FROM head, unnest($11::text[], $12::text[], $13::bigint[], $14::bytea[],
				$15::bigint[], $16::bigint[], $17::bigint[], $18::bigint[], $19::bigint[], $20::bytea[]) u
			ON CONFLICT (state, accumulator, key, first) DO UPDATE SET hash = excluded.hash, shards = excluded.shards,
				done = excluded.done, at = excluded.at, size = excluded.size, sum = excluded.sum,
				outcome = excluded.outcome)`
	list = `SELECT h.shard, k.hash, k.shards, k.done, k.at, k.sum, k.outcome FROM graph_head h JOIN push_key k
		USING (state) WHERE h.tenant = $1 AND h.graph = $2 AND k.accumulator = $3 AND k.key = $4 AND k.first = $5`
	state     = ` state = (SELECT state FROM graph_head WHERE tenant = $1 AND graph = $2 AND shard = $3)`
	retention = `SELECT at, size FROM push_key WHERE` + state + ` ORDER BY at DESC`
	remove    = `DELETE FROM push_key WHERE ctid = ANY (ARRAY (SELECT ctid FROM push_key WHERE` + state +
		` AND at < $4 LIMIT $5))`
	// Sweep removes so many rows of a state.
	Sweep = `DELETE FROM push_key WHERE ctid = ANY (ARRAY (SELECT ctid FROM push_key WHERE state = $1 LIMIT $2))`
)

// Keys is [checkpoint.PushKeys] over what the store reads and writes with. Rows reads, Exec changes rows and says how
// many.
type Keys struct {
	Rows func(ctx context.Context, text string, args []any, visit func(pgx.Rows) error) error
	Exec func(ctx context.Context, text string, args ...any) (int64, error)
}

// Put has an append write what its entries bring too: its statement, which ends with tail, has the state in head, and
// ten arguments so far. One whose entries bring nothing stays what it is.
func Put(text, tail string, args []any, entries []checkpoint.JournalEntry) (whole string, all []any, bytes int64) {
	last := rules.LastKeys(entries)
	if len(last) == 0 {
		return text, args, 0
	}
	n := len(last)
	accumulators, keys := make([]string, n), make([]string, n)
	firsts, shards, done := make([]int64, n), make([]int64, n), make([]int64, n)
	at, sizes, sums := make([]int64, n), make([]int64, n), make([]int64, n)
	hashes, outcomes := make([][]byte, n), make([][]byte, n)
	for i, k := range last {
		accumulators[i], keys[i], hashes[i], outcomes[i] = k.Accumulator, k.Key, k.Hash, rules.OrEmpty(k.Outcome)
		firsts[i], shards[i], done[i] = k.First, int64(k.Shards), int64(k.Done)
		at[i], sizes[i], sums[i] = rules.Nanos(k.At), rules.KeySize(k), rules.KeySum(k)
		bytes += sizes[i]
	}
	return strings.TrimSuffix(text, tail) + put + tail,
		append(args, accumulators, keys, firsts, hashes, shards, done, at, sizes, sums, outcomes), bytes
}

// PushKeys is what is known of a batch; see [checkpoint.PushKeys].
func (t *Keys) PushKeys(ctx context.Context, graph checkpoint.ID, accumulator, key string, first int64) (
	all []checkpoint.PushKey, err error) {
	err = t.Rows(ctx, list, []any{graph.Tenant, graph.Graph, accumulator, key, first}, func(r pgx.Rows) error {
		k := checkpoint.PushKey{Accumulator: accumulator, Key: key, First: first}
		var at, sum int64
		if err := r.Scan(&k.Shard, &k.Hash, &k.Shards, &k.Done, &at, &sum, &k.Outcome); err != nil {
			return err
		}
		k.At = rules.FromNanos(at)
		all = append(all, k)
		return rules.CheckKey(&k, sum)
	})
	return all, rules.Wrap(err, "look for an Idempotency-Key of graph %s", graph)
}

// PrunePushKeys forgets what is past the bounds; see [checkpoint.PushKeys].
func (t *Keys) PrunePushKeys(ctx context.Context, id checkpoint.ID, olderThan time.Time, most int, maxBytes int64) (
	expired, displaced int64, err error) {
	cut := rules.KeyCut{Retention: rules.Retention{OlderThan: olderThan, Max: most, MaxBytes: maxBytes}}
	err = t.Rows(ctx, retention, []any{id.Tenant, id.Graph, id.Shard}, func(r pgx.Rows) error {
		var at, size int64
		err := r.Scan(&at, &size)
		cut.Look(rules.FromNanos(at), size)
		return err
	})
	if err == nil {
		expired, displaced, err = cut.Remove(func(before int64) (int64, error) {
			return t.Exec(ctx, remove, id.Tenant, id.Graph, id.Shard, before, rules.PruneBatch)
		})
	}
	return expired, displaced, rules.Wrap(err, "forget Idempotency-Keys of graph %s", id)
}
