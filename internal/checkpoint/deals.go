package checkpoint

import "context"

// ShardHead is what a store says of one shard of a graph without its being taken.
type ShardHead struct {
	Shard int
	Epoch int64
	// Meta is that of the last commit; nil before the first.
	Meta []byte
}

// Redeal deals the keys of a graph to another number of shards.
type Redeal struct {
	// Commits are those of all shards that the graph had and will have, each under a fence of its own. They carry
	// neither firings nor rows of tables.
	Commits []*Commit
	// Declaration is the one that says so. It is put as PutDeclaration would.
	Declaration Declaration
	IfRevision  int64
}

// Deals says how the keys of a graph are dealt to shards in a store (M54).
type Deals interface {
	// ShardHeads lists the shards that a graph has ever had since its state was last deleted, by their numbers.
	ShardHeads(ctx context.Context, graph ID) ([]ShardHead, error)
	// Redeal applies all of r or nothing, and answers with the declaration's revision. Errors are those of Commit, and
	// ErrConflict where another declaration came between: both are clean.
	Redeal(ctx context.Context, r *Redeal) (revision int64, err error)
}
