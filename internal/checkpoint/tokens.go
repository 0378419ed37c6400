package checkpoint

import (
	"context"
	"time"

	"github.com/graphd/graphd/internal/access"
)

// Tokens keeps the tokens that open the daemon. One is never removed: a store that has ever had one
// says so for good.
type Tokens interface {
	// AddToken keeps a new token; ErrConflict where there is one of its id.
	AddToken(ctx context.Context, t access.Token) error
	// Token is one by its id; ErrNotFound.
	Token(ctx context.Context, id string) (access.Token, error)
	// Tokens lists those of a tenant, and with "" those of all, newest first.
	Tokens(ctx context.Context, tenant string) ([]access.Token, error)
	// MarkToken notes what is not zero: when the token was revoked, of which the first counts, and
	// when it was used, of which the last does. ErrNotFound.
	MarkToken(ctx context.Context, id string, revoked, used time.Time) error
}
