package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/graphd/graphd/internal/api"
)

// Why tells why an epoch ran, and what has become of what it gave.
func (c *Client) Why(ctx context.Context, name string, q api.WhyQuery) (api.Why, error) {
	v := url.Values{}
	if q.Epoch != nil {
		v.Set("epoch", strconv.FormatInt(*q.Epoch, 10))
	}
	if q.Shard != nil {
		v.Set("shard", strconv.Itoa(*q.Shard))
	}
	set(v, "firing_id", q.FiringID)
	set(v, "key", q.Key)
	return call[api.Why](ctx, c, request{method: http.MethodGet, path: graph(name, "why"), query: v})
}

// WhyNot tells why nothing comes, of a graph, a key or an output.
func (c *Client) WhyNot(ctx context.Context, name string, q api.WhyNotQuery) (api.WhyNot, error) {
	v := url.Values{}
	set(v, "key", q.Key)
	set(v, "output", q.Output)
	set(v, "since", q.Since)
	return call[api.WhyNot](ctx, c, request{method: http.MethodGet, path: graph(name, "why-not"), query: v})
}

// set gives a parameter that is not empty.
func set(v url.Values, name, value string) {
	if value != "" {
		v.Set(name, value)
	}
}
