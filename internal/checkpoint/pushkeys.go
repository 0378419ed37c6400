package checkpoint

import (
	"context"
	"time"
)

// PushKey is what is known of a push with an Idempotency-Key, or of a batch of one: how much of it a shard has taken,
// and what came of that. It is written with the entries of the journal that make the push durable, so that it is known
// if and only if what it names is there.
type PushKey struct {
	Accumulator, Key string
	// First is the place, in the body of the push, of the first event of the batch.
	First int64
	// Hash tells bodies apart; Shards is how many shards the graph had.
	Hash   []byte
	Shards int
	// Shard is whose it is; a store says so, and does not look at it.
	Shard int
	// Done is how many events of the batch, of those that the shard heard of, were dealt with: the first ones.
	Done int
	// At is when that was written.
	At time.Time
	// Outcome is what came of them, opaque to the store.
	Outcome []byte
}

// PushKeys is what the store knows of pushes with an Idempotency-Key. Safe for concurrent use.
type PushKeys interface {
	// PushKeys is what the shards of a graph have of one batch under a key, in no particular order; none is no error.
	PushKeys(ctx context.Context, graph ID, accumulator, key string, first int64) ([]PushKey, error)
	// PrunePushKeys forgets those of a shard that are older, and then the oldest past max keys or maxBytes. It says,
	// with an error too, how many went for their age, and how many for want of room.
	PrunePushKeys(ctx context.Context, id ID, olderThan time.Time, max int, maxBytes int64) (
		expired, displaced int64, err error)
}
