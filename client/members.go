package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/graphd/graphd/internal/api"
)

// Members are the daemons on the store, and what each runs.
func (c *Client) Members(ctx context.Context) ([]api.Member, error) {
	page, err := call[api.Page[api.Member]](ctx, c, request{method: http.MethodGet, path: "/v1/members"})
	return page.Items, err
}

// DrainMember has a member run nothing, or, with undo, lets it run graphs again.
func (c *Client) DrainMember(ctx context.Context, member string, undo bool) error {
	_, err := post[any](ctx, c, "/v1/members/"+url.PathEscape(member)+"/drain", api.DrainRequest{Undo: undo})
	return err
}
