package audit

import "context"

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
	// PruneAudit removes a chain's first entries up to a number, that one too, but not the chain's last one. It says
	// how many there were.
	PruneAudit(ctx context.Context, tenant string, through int64) (int64, error)
}
