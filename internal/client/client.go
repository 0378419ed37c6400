// Package client speaks to a running daemon: the REST API as typed calls, and the
// WebSocket stream of what happens in graphs.
//
// A refusal by the daemon is a *[Problem]; no daemon at the address is an error that says
// how to get one. A [Client] is safe for concurrent use; it keeps nothing but connections.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/graphd/graphd/internal/spec"
)

// maxAnswer bounds what is read of one answer.
const maxAnswer = 256 << 20

// Config says which daemon to speak to.
type Config struct {
	// BaseURL is where the daemon listens: http://127.0.0.1:8080.
	BaseURL string
	// Tenant is whom the calls are for; "" is the daemon's default.
	Tenant string
}

// Client calls one daemon.
type Client struct {
	base   string
	tenant string
	http   *http.Client
}

// New makes a client; nothing is sent yet.
func New(c Config) (*Client, error) {
	u, err := url.Parse(c.BaseURL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("the server %q is not of the form http://host:port", c.BaseURL)
	}
	return &Client{base: strings.TrimSuffix(c.BaseURL, "/"), tenant: c.Tenant, http: &http.Client{}}, nil
}

// Problem is a refusal: the daemon's problem document.
type Problem struct {
	Status int              `json:"status"`
	Code   string           `json:"code"`
	Title  string           `json:"title"`
	Detail string           `json:"detail"`
	Errors spec.Diagnostics `json:"errors"`
}

func (p *Problem) Error() string {
	if p.Detail == "" {
		return p.Code + ": " + p.Title
	}
	return p.Code + ": " + p.Detail
}

// Unreachable says that no daemon answers at the address.
type Unreachable struct {
	Base string
	Err  error
}

func (e *Unreachable) Error() string {
	return "no daemon at " + e.Base + ": start one with 'graphd serve', or name another with --server"
}

func (e *Unreachable) Unwrap() error { return e.Err }

// request is one call.
type request struct {
	method, path string
	query        url.Values
	body         []byte
	contentType  string
	revision     int64 // If-Match; 0 for none
}

// graph is the path of a graph's route.
func graph(name string, more ...string) string {
	path := "/v1/graphs/" + url.PathEscape(name)
	for _, m := range more {
		path += "/" + url.PathEscape(m)
	}
	return path
}

// call sends a request and decodes the answer. A push that was partly refused answers both
// what was taken and a *Problem.
func call[T any](ctx context.Context, c *Client, r request) (out T, err error) {
	target := c.base + r.path
	if len(r.query) > 0 {
		target += "?" + r.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, r.method, target, bytes.NewReader(r.body))
	if err != nil {
		return out, fmt.Errorf("%s %s: %w", r.method, r.path, err)
	}
	if c.tenant != "" {
		req.Header.Set("Graphd-Tenant", c.tenant)
	}
	if r.contentType != "" {
		req.Header.Set("Content-Type", r.contentType)
	}
	if r.revision != 0 {
		req.Header.Set("If-Match", strconv.Quote(strconv.FormatInt(r.revision, 10)))
	}
	res, err := c.http.Do(req)
	if err != nil {
		return out, c.unreachable(ctx, err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return out, fmt.Errorf("read the answer to %s %s: %w", r.method, r.path, err)
	}
	if res.StatusCode >= http.StatusBadRequest {
		return out, problem(res, data, &out)
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return out, nil
	}
	if err := json.Unmarshal(data, &out); err != nil {
		return out, fmt.Errorf("the answer to %s %s is not what a graphd daemon says: %w", r.method, r.path, err)
	}
	return out, nil
}

// problem reads a refusal, and into out what else its document carries.
func problem(res *http.Response, data []byte, out any) error {
	p := &Problem{}
	if err := json.Unmarshal(data, p); err != nil || p.Code == "" {
		p = &Problem{Code: "not_a_daemon", Title: res.Status, Detail: "the answer is not a graphd daemon's: " + res.Status}
	} else {
		// Members of the result are beside those of the problem, or not there; either is well.
		_ = json.Unmarshal(data, out)
	}
	p.Status = res.StatusCode
	return p
}

// unreachable tells a daemon that is not there from a call that was given up.
func (c *Client) unreachable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" {
		return &Unreachable{c.base, err}
	}
	return fmt.Errorf("the daemon at %s did not answer: %w", c.base, err)
}
