package client

import (
	"context"

	"github.com/graphd/graphd/internal/api"
)

// whyCalls are the calls that ask for reasons, for TestRoutes.
func whyCalls(ctx context.Context, c *Client) []sent {
	only := func(_ any, err error) error { return err }
	return []sent{
		{"why", "GET /v1/graphs/g/why?epoch=12&shard=3", func() error {
			return only(c.Why(ctx, "g", api.WhyQuery{Epoch: new(int64(12)), Shard: new(3)}))
		}},
		{"why", "GET /v1/graphs/g/why?firing_id=f", func() error {
			return only(c.Why(ctx, "g", api.WhyQuery{FiringID: "f"}))
		}},
		{"whyNot", "GET /v1/graphs/g/why-not?key=k&output=o&since=5m", func() error {
			return only(c.WhyNot(ctx, "g", api.WhyNotQuery{Key: "k", Output: "o", Since: "5m"}))
		}},
		{"listKeys", "GET /v1/graphs/g/keys?before=c&limit=7&search=s&sort=key", func() error {
			return only(c.Keys(ctx, "g", api.KeyQuery{Search: "s", Sort: "key", Limit: 7, Before: "c"}))
		}},
	}
}
