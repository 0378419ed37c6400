package control

import (
	"context"
	"net/url"

	"github.com/graphd/graphd/internal/access"
	"github.com/graphd/graphd/internal/api"
)

// Gate knows who comes in. A refusal is an *api.Error. Safe for concurrent use.
type Gate interface {
	// Enter is whom a request with these credentials acts as.
	Enter(ctx context.Context, c *access.Credentials) (access.Principal, error)
	// Still refuses one who has entered and may not stay.
	Still(ctx context.Context, who *access.Principal) error
	Keys
	SignOn
}

// SignOn is how browsers log in at the issuer of tokens.
type SignOn interface {
	// SignsOn says whether they can.
	SignsOn() bool
	// Begin begins a login: at is where the browser goes, kept what it brings back from there.
	Begin(ctx context.Context, tenant string) (at, kept string, err error)
	// Finish begins the session of a browser that comes back. Beside an error it is whom the issuer has named.
	Finish(ctx context.Context, c *access.Credentials, kept string, said url.Values) (
		text string, made api.Session, who access.Principal, err error)
}

// Keys are tokens and tickets, as far as who may have to do with them.
type Keys interface {
	Create(ctx context.Context, who *access.Principal, q *api.TokenRequest) (api.NewToken, error)
	List(ctx context.Context, who *access.Principal) ([]api.Token, error)
	// Revoke ends a token; of another tenant it is not found.
	Revoke(ctx context.Context, who *access.Principal, id string) error
	// Login begins a browser's session as who, which text opens; Logout ends it.
	Login(ctx context.Context, who *access.Principal) (text string, made api.Session, err error)
	Logout(ctx context.Context, text string) error
	// Ticket opens one socket as who, once.
	Ticket(ctx context.Context, who *access.Principal) (api.Ticket, error)
}
