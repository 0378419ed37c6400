package rules

import (
	"crypto/sha256"
	"fmt"

	"github.com/graphd/graphd/internal/checkpoint"
)

// PassColumns are the columns of a pass in the order of PassArgs and of a PassRow.
const PassColumns = "sum, kind, tenant, holder, made, ends, who"

// PassArgs are a pass's columns.
func PassArgs(p *checkpoint.Pass) []any {
	return []any{p.Sum[:], p.Kind, p.Tenant, p.Holder, Nanos(p.Made), Nanos(p.Ends), p.Who}
}

// PassRow is a pass as it stands in a store.
type PassRow struct {
	Sum                  []byte
	Kind, Tenant, Holder string
	Made, Ends           int64
	Who                  []byte
}

// Pass is the row's.
func (r *PassRow) Pass() (checkpoint.Pass, error) {
	if len(r.Sum) != sha256.Size {
		return checkpoint.Pass{}, fmt.Errorf("%w: a pass has a sum of %d bytes", checkpoint.ErrCorrupt, len(r.Sum))
	}
	return checkpoint.Pass{Kind: r.Kind, Sum: [sha256.Size]byte(r.Sum), Tenant: r.Tenant, Holder: r.Holder,
		Made: FromNanos(r.Made), Ends: FromNanos(r.Ends), Who: r.Who}, nil
}

// PassesHeld is how many passes of a kind there are before one is added.
type PassesHeld struct {
	Holder, Tenant, All int
	// There says that there is one of the sum.
	There bool
}

// Admit decides what becomes of a pass that is to be added: how many of the oldest of its holder go, and of the tenant
// with the most. The error is nil or a refusal.
func (h *PassesHeld) Admit(b *checkpoint.PassBounds) (ofHolder, ofMost int, err error) {
	ofHolder = max(0, h.Holder-b.Holder+1)
	switch {
	case h.There:
		return 0, 0, Refuse("there is one of the same sum: %w", checkpoint.ErrConflict)
	case ofHolder > 0 && !b.Oldest:
		return 0, 0, Refuse("the holder has %d: %w", h.Holder, checkpoint.ErrFull)
	case h.Tenant-ofHolder >= b.Tenant:
		return 0, 0, Refuse("the tenant has %d: %w", h.Tenant, checkpoint.ErrFull)
	}
	return ofHolder, max(0, h.All-ofHolder-b.All+1), nil
}
