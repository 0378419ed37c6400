package checkpoint

import (
	"context"
	"crypto/sha256"
	"errors"
	"time"
)

// ErrFull says that there are as many of something as there may be, and that nothing was added.
var ErrFull = errors.New("as many as there may be")

// Pass is what opens the daemon for a while, in all daemons on the store: a browser's session, a ticket for a socket.
// Its text is nowhere in it.
type Pass struct {
	Kind string
	// Sum is the SHA-256 of its text; no other pass has it.
	Sum [sha256.Size]byte
	// Tenant is the one it opens, Holder whose passes are counted together and end together.
	Tenant, Holder string
	Made, Ends     time.Time
	// Who is whom it acts as, in the words of whoever has made it.
	Who []byte
}

// PassBounds is how many passes of a kind there may be at one time. Daemons that add at the same moment may go beyond
// it by one each; the next one that is added sees to that.
type PassBounds struct {
	// Holder and Tenant are those of one holder and of one tenant, All those of all. Past All the oldest of the tenant
	// that has the most goes.
	Holder, Tenant, All int
	// Oldest has the oldest of the holder go past Holder; else, and past Tenant, nothing is added.
	Oldest bool
}

// Passes keeps passes until they end. One that has ended is as one that is not there, and is removed with a later
// addition.
type Passes interface {
	// AddPass keeps a new pass; ErrFull, or ErrConflict where there is one of its sum.
	AddPass(ctx context.Context, p Pass, b PassBounds) error
	// Pass is one that has not ended at now; ErrNotFound.
	Pass(ctx context.Context, kind string, sum [sha256.Size]byte, now time.Time) (Pass, error)
	// TakePass removes one that has not ended at now and gives it: of all who take it, in all daemons, to one at most.
	// ErrNotFound for the others.
	TakePass(ctx context.Context, kind string, sum [sha256.Size]byte, now time.Time) (Pass, error)
	// DropPasses removes all of a holder, of every kind.
	DropPasses(ctx context.Context, holder string) error
}
