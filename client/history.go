package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"github.com/graphd/graphd/internal/api"
)

// Declaration is a graph's declaration as it was sent.
func (c *Client) Declaration(ctx context.Context, name string) ([]byte, error) {
	return c.send(ctx, request{method: http.MethodGet, path: graph(name), accept: typeYAML})
}

// Revisions are what was applied of a graph, newest first.
func (c *Client) Revisions(ctx context.Context, name string) ([]api.Revision, error) {
	page, err := call[api.Page[api.Revision]](ctx, c, request{method: http.MethodGet, path: graph(name, "revisions")})
	return page.Items, err
}

// Revision is one of them with its document.
func (c *Client) Revision(ctx context.Context, name string, revision int64) (api.Revision, error) {
	return call[api.Revision](ctx, c, request{
		method: http.MethodGet, path: graph(name, "revisions", strconv.FormatInt(revision, 10)),
	})
}

// Rollback applies an earlier revision again, that before the present one for 0.
func (c *Client) Rollback(ctx context.Context, name string, revision int64, dryRun bool) (api.ApplyResult, error) {
	body := map[string]any{}
	if revision != 0 {
		body["revision"] = revision
	}
	if dryRun {
		body["dry_run"] = true
	}
	return post[api.ApplyResult](ctx, c, graph(name, "rollback"), body)
}

// Complete is what can be put at a place of a declaration, which is being typed: a line and a column as mistakes have
// them.
func (c *Client) Complete(ctx context.Context, name string, declaration []byte, line, column int) (
	api.Completion, error) {
	return post[api.Completion](ctx, c, graph(name, "complete"),
		api.CompletionRequest{Declaration: string(declaration), Line: line, Column: column})
}

// Test runs the tests of a declaration on the daemon, and applies nothing; set gives vars another value, or is nil.
func (c *Client) Test(ctx context.Context, name string, declaration, tests []byte, set map[string]any) (
	result api.TestResult, err error) {
	req := api.TestRequest{Declaration: string(declaration), Tests: string(tests)}
	if len(set) > 0 {
		req.Set = make(map[string]json.RawMessage, len(set))
	}
	for name, value := range set {
		if req.Set[name], err = json.Marshal(value); err != nil {
			return result, fmt.Errorf("encode the var %s: %w", name, err)
		}
	}
	return post[api.TestResult](ctx, c, graph(name, "test"), req)
}
