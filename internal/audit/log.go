package audit

import (
	"context"
	"time"
)

// Log keeps the chains, one for each tenant. Entries are added at the end and removed at the beginning, and
// never changed. Safe for concurrent use, by several daemons too.
type Log interface {
	// AppendAudit adds an entry to the end of its tenant's chain, and answers with its number. After an error
	// it may be there all the same.
	AppendAudit(ctx context.Context, e Entry) (seq int64, err error)
	// AuditRows is the next of a chain's entries that q means, oldest first.
	AuditRows(ctx context.Context, q Query) ([]Row, error)
	// AuditChains are all chains there are, by tenant.
	AuditChains(ctx context.Context) ([]Chain, error)
	// PruneAudit removes a chain's first entries, as far as they are older, but not its last one. It removes some
	// thousand at most, and says how many.
	PruneAudit(ctx context.Context, tenant string, olderThan time.Time) (int64, error)
}
