package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/graphd/graphd/internal/api"
)

// Tokens lists the tenant's tokens, and for an administrator of all tenants every one.
func (c *Client) Tokens(ctx context.Context) ([]api.Token, error) {
	page, err := call[api.Page[api.Token]](ctx, c, request{method: http.MethodGet, path: "/v1/tokens"})
	return page.Items, err
}

// CreateToken makes a token; the answer alone has the text that opens.
func (c *Client) CreateToken(ctx context.Context, q api.TokenRequest) (api.NewToken, error) {
	return post[api.NewToken](ctx, c, "/v1/tokens", q)
}

// RevokeToken ends a token.
func (c *Client) RevokeToken(ctx context.Context, id string) error {
	_, err := call[any](ctx, c, request{method: http.MethodDelete, path: "/v1/tokens/" + url.PathEscape(id)})
	return err
}

// WhoAmI is whom the client's requests act as, and what that may do.
func (c *Client) WhoAmI(ctx context.Context) (api.WhoAmI, error) {
	return call[api.WhoAmI](ctx, c, request{method: http.MethodGet, path: "/v1/whoami"})
}

// Ticket makes a ticket that opens one socket, once.
func (c *Client) Ticket(ctx context.Context) (api.Ticket, error) {
	return post[api.Ticket](ctx, c, "/v1/ws-tickets", nil)
}
