package client

import "context"

// memberCalls are the calls about the daemons on the store, and about one of them.
func memberCalls(ctx context.Context, c *Client) []sent {
	return []sent{
		{"listMembers", "GET /v1/members", func() error { _, err := c.Members(ctx); return err }},
		{"drainMember", `POST /v1/members/m%2F1/drain Content-Type:application/json {"undo":true}`, func() error {
			return c.DrainMember(ctx, "m/1", true)
		}},
		{"logLevel", "GET /v1/log-level", func() error { _, err := c.LogLevel(ctx); return err }},
		{"profile", "GET /debug/pprof/profile?seconds=2", func() error {
			_, err := c.Profile(ctx, "profile", 2)
			return err
		}},
		{"setLogLevel", `PUT /v1/log-level Content-Type:application/json {"level":"debug"}`, func() error {
			_, err := c.SetLogLevel(ctx, "debug")
			return err
		}},
	}
}
