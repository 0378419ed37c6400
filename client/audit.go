package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/audit"
)

// Audit hands the entries of a chain that q means to each, oldest first; q.Tenant "" is the caller's own, and a
// Limit of 0 is all.
func (c *Client) Audit(ctx context.Context, q audit.Query, each func(*audit.Row) error) error {
	values := url.Values{}
	for name, text := range map[string]string{"chain": q.Tenant, "subject": q.Subject, "graph": q.Graph} {
		if text != "" {
			values.Set(name, text)
		}
	}
	if q.After > 0 {
		values.Set("after", strconv.FormatInt(q.After, 10))
	}
	if q.Limit > 0 {
		values.Set("limit", strconv.Itoa(q.Limit))
	}
	if !q.Since.IsZero() {
		values.Set("since", q.Since.UTC().Format(time.RFC3339Nano))
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+"/v1/audit?"+values.Encode(), http.NoBody)
	if err != nil {
		return fmt.Errorf("read the audit: %w", err)
	}
	c.head(req.Header, request{})
	res, err := c.http.Do(req)
	if err != nil {
		return c.unreachable(ctx, err)
	}
	defer res.Body.Close()
	if res.StatusCode >= http.StatusBadRequest {
		data, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
		return errors.Join(problem(res, data), err)
	}
	return AuditLines(res.Body, each)
}

// AuditLines reads the lines that [Client.Audit] receives, or what was kept of them.
func AuditLines(from io.Reader, each func(*audit.Row) error) error {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		var row audit.Row
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			return fmt.Errorf("line %d of the audit: %w", n, err)
		}
		if err := each(&row); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("receive the audit: %w", err)
	}
	return nil
}

// AuditChains are the ends of the chains that the caller may read.
func (c *Client) AuditChains(ctx context.Context) ([]audit.Chain, error) {
	page, err := call[api.Page[audit.Chain]](ctx, c, request{method: http.MethodGet, path: "/v1/audit/chains"})
	return page.Items, err
}
