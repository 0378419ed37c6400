package client

import (
	"context"
	"net/http"

	"github.com/graphd/graphd/internal/engine"
)

// Version says what is running; the fields of a build that was not told are "".
type Version struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`
	Date    string `json:"date"`
	Go      string `json:"go"`
}

// Health is the answer of the health routes.
type Health struct {
	Status string `json:"status"` // "ok" or "ready"
	// Uptime is the time since the start in seconds; only [Client.Health] has it.
	Uptime float64 `json:"uptime_seconds"`
}

func (c *Client) health(ctx context.Context, path string) (Health, error) {
	return call[Health](ctx, c, request{method: http.MethodGet, path: path})
}

// Live asks whether the process answers.
func (c *Client) Live(ctx context.Context) (Health, error) { return c.health(ctx, "/livez") }

// Ready asks whether the daemon takes work; a *Problem of status 503 says why not.
func (c *Client) Ready(ctx context.Context) (Health, error) { return c.health(ctx, "/readyz") }

// Health is Ready, with the time since the start.
func (c *Client) Health(ctx context.Context) (Health, error) { return c.health(ctx, "/healthz") }

// Version asks what is running.
func (c *Client) Version(ctx context.Context) (Version, error) {
	return call[Version](ctx, c, request{method: http.MethodGet, path: "/version"})
}

// Metrics are the daemon's metrics in the Prometheus text format.
func (c *Client) Metrics(ctx context.Context) ([]byte, error) {
	return c.send(ctx, request{method: http.MethodGet, path: "/metrics"})
}

// OpenAPI is the document that describes the daemon's API, as YAML.
func (c *Client) OpenAPI(ctx context.Context) ([]byte, error) {
	return c.send(ctx, request{method: http.MethodGet, path: "/openapi.yaml"})
}

// Tree is everything that runs in the daemon.
func (c *Client) Tree(ctx context.Context) ([]engine.TreeNode, error) {
	page, err := call[engine.Page[engine.TreeNode]](ctx, c, request{method: http.MethodGet, path: "/v1/tree"})
	return page.Items, err
}

// Limits are the daemon's bounds with their use.
func (c *Client) Limits(ctx context.Context) ([]engine.Limit, error) {
	page, err := call[engine.Page[engine.Limit]](ctx, c, request{method: http.MethodGet, path: "/v1/limits"})
	return page.Items, err
}
