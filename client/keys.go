package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/graphd/graphd/internal/api"
)

// Keys lists keys of a keyed graph, as they are now: a page of them.
func (c *Client) Keys(ctx context.Context, name string, q api.KeyQuery) (api.KeyPage, error) {
	v := url.Values{}
	set(v, "search", q.Search)
	set(v, "sort", q.Sort)
	set(v, "before", q.Before)
	if q.Limit > 0 {
		v.Set("limit", strconv.Itoa(q.Limit))
	}
	return call[api.KeyPage](ctx, c, request{method: http.MethodGet, path: graph(name, "keys"), query: v})
}
