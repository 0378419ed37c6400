package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"github.com/graphd/graphd/internal/api"
)

func (c *Client) health(ctx context.Context, path string) (api.Status, error) {
	return call[api.Status](ctx, c, request{method: http.MethodGet, path: path, once: true})
}

// Live asks whether the process answers.
func (c *Client) Live(ctx context.Context) (api.Status, error) { return c.health(ctx, "/livez") }

// Ready asks whether the daemon takes work; a *api.Problem of status 503 says why not.
func (c *Client) Ready(ctx context.Context) (api.Status, error) { return c.health(ctx, "/readyz") }

// Health is Ready under another name.
func (c *Client) Health(ctx context.Context) (api.Status, error) { return c.health(ctx, "/healthz") }

// Version asks what is running.
func (c *Client) Version(ctx context.Context) (api.Version, error) {
	return call[api.Version](ctx, c, request{method: http.MethodGet, path: "/version"})
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
func (c *Client) Tree(ctx context.Context) ([]api.TreeNode, error) {
	page, err := call[api.Page[api.TreeNode]](ctx, c, request{method: http.MethodGet, path: "/v1/tree"})
	return page.Items, err
}

// Backup copies the daemon's store to w. An error says that what was written is not whole.
func (c *Client) Backup(ctx context.Context, w io.Writer) (size int64, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/v1/backup", http.NoBody)
	if err != nil {
		return 0, fmt.Errorf("back up: %w", err)
	}
	c.head(req.Header, request{})
	res, err := c.http.Do(req)
	if err != nil {
		return 0, c.unreachable(ctx, err)
	}
	defer res.Body.Close()
	if res.StatusCode >= http.StatusBadRequest {
		data, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
		return 0, errors.Join(problem(res, data), err)
	}
	// The length is given, so a copy that was cut short is an error.
	if size, err = io.Copy(w, res.Body); err != nil {
		return size, fmt.Errorf("receive the backup: %w", err)
	}
	return size, nil
}

// LogLevel is the least that the daemon logs, and what it was started with.
func (c *Client) LogLevel(ctx context.Context) (api.LogLevel, error) {
	return call[api.LogLevel](ctx, c, request{method: http.MethodGet, path: "/v1/log-level"})
}

// SetLogLevel has the daemon log from debug, info, warn or error on, until it is restarted.
func (c *Client) SetLogLevel(ctx context.Context, level string) (api.LogLevel, error) {
	data, err := json.Marshal(api.LogLevel{Level: level})
	if err != nil {
		return api.LogLevel{}, fmt.Errorf("encode the request: %w", err)
	}
	return call[api.LogLevel](ctx, c, request{method: http.MethodPut, path: "/v1/log-level", body: data,
		contentType: typeJSON})
}

// Profile is one of the daemon's process: allocs, goroutine, heap or threadcreate as it is now, or profile, block,
// mutex or trace recorded for seconds, 0 for as long as is usual. The daemon must run with --pprof.
func (c *Client) Profile(ctx context.Context, name string, seconds int) ([]byte, error) {
	path := "/debug/pprof/" + url.PathEscape(name)
	if seconds != 0 {
		path += "?seconds=" + strconv.Itoa(seconds)
	}
	return c.send(ctx, request{method: http.MethodGet, path: path, once: true})
}

// Limits are the daemon's bounds with their use.
func (c *Client) Limits(ctx context.Context) ([]api.Limit, error) {
	page, err := call[api.Page[api.Limit]](ctx, c, request{method: http.MethodGet, path: "/v1/limits"})
	return page.Items, err
}
