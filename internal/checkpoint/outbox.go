package checkpoint

import (
	"context"
	"time"
)

// OutboxEntry is one output of one epoch that was committed with the state and is
// delivered afterwards (M30). What is delivered of it is the same after any crash.
type OutboxEntry struct {
	Output string
	// Seq numbers the entries of an output densely, from 1, over all incarnations: the order of delivery.
	Seq   int64
	Epoch int64
	// Key is the reactor's key, "" in an unkeyed graph.
	Key string
	// FiringID is stable: a receiver that deduplicates by it sees the entry once.
	FiringID string
	// At is the epoch's engine time.
	At time.Time
	// Data is the rest of the message (value, what was degraded), opaque to the store.
	Data []byte
}

// Delivered says that an output's entries up to UpTo are through, delivered or dead-lettered:
// the commit that carries it removes them.
type Delivered struct {
	Output string
	UpTo   int64
}

// OutboxDepth is how much of an output waits in the store.
type OutboxDepth struct {
	Output string
	// Entries is how many, Bytes what their Data holds.
	Entries, Bytes int64
	// First and Last are the least and the greatest Seq that wait; Oldest is the first one's At.
	First, Last int64
	Oldest      time.Time
}

// Outbox reads what commits have put into the outboxes of a graph's outputs.
type Outbox interface {
	// Outbox lists an output's entries with a Seq above after, in their order: at most limit
	// of them (0 means 100, more than 1,000 means 1,000), and past the first no more than
	// maxBytes of Data (0 means 1 MiB). An empty answer is the end. The data is the caller's.
	Outbox(ctx context.Context, id ID, output string, after int64, limit int, maxBytes int64) ([]OutboxEntry, error)
	// OutboxDepths lists the outputs that have entries, by name; those of outputs that the
	// declaration no longer has too.
	OutboxDepths(ctx context.Context, id ID) ([]OutboxDepth, error)
}
