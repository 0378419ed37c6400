package checkpoint

import "context"

// ShardHead is what a store says of one shard of a graph without its being taken.
type ShardHead struct {
	Shard int
	Epoch int64
	// Meta is that of the last commit; nil before the first.
	Meta []byte
}

// Deals says how the keys of a graph are dealt to shards in a store (M54).
type Deals interface {
	// ShardHeads lists the shards that a graph has ever had since its state was last deleted, by their numbers.
	ShardHeads(ctx context.Context, graph ID) ([]ShardHead, error)
}
