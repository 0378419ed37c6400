package client

import "context"

// memberCalls are the calls about the daemons on the store.
func memberCalls(ctx context.Context, c *Client) []sent {
	return []sent{
		{"listMembers", "GET /v1/members", func() error { _, err := c.Members(ctx); return err }},
		{"drainMember", `POST /v1/members/m%2F1/drain Content-Type:application/json {"undo":true}`, func() error {
			return c.DrainMember(ctx, "m/1", true)
		}},
	}
}
