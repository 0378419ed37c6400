package checkpoint

import "context"

// Sizes says how much the store has of a tenant. Safe for concurrent use.
type Sizes interface {
	// StoredBytes is what the graphs of a tenant have in the store, in bytes of their data: state, history, dead
	// letters, journal, outbox and what is known of pushes, also of deleted graphs whose state was kept. What indexes
	// and the store itself take beside it does not count. All rows of the tenant are looked at, and none is read:
	// whoever asks does so seldom, and not for a request.
	StoredBytes(ctx context.Context, tenant string) (int64, error)
}
