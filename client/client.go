// Package client speaks to a running daemon: the REST API as typed calls, one method a route, and over WebSocket what
// happens in graphs, once ([Client.Watch]) or for as long as it takes ([Client.Tail]), and pushes
// ([Client.PushStream]). The command line of graphd is made of it.
//
// A refusal by the daemon is a *[Problem], whose stable code [Code] tells; no daemon at the address is an
// *[Unreachable]. Every call takes a context, and ends with it. Calls are made once, unless [Config.Patience] allows
// more: then those are repeated that can be without doing anything twice. [Client.PushAll] goes on for as long as its
// context lasts.
//
// A [Client] is safe for concurrent use; it keeps nothing but connections, and starts no goroutine. A [PushStream]
// starts one, which its Close joins.
//
// What goes over the wire has the shapes of shapes.go; api/openapi.yaml describes them. Members may be added to them,
// and fields with them.
package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/outbound"
)

// maxAnswer bounds what is read of one answer.
const maxAnswer = 256 << 20

// Config says which daemon to speak to.
type Config struct {
	// BaseURL is where the daemon listens: http://127.0.0.1:8080.
	BaseURL string
	// Tenant is whom the calls are for; "" is the token's, or the daemon's default.
	Tenant string
	// Token is what opens the daemon; "" for one that asks for none.
	Token string
	// TLS is how the daemon is known and what is shown to it; nil trusts the system's authorities.
	TLS *tls.Config
	// Agent is what the program calls itself; "" says nothing of it.
	Agent string
	// Patience is for how long a call is repeated, with growing pauses, while no daemon answers at the address, and,
	// where repeating does nothing twice (what only reads, and pushes with a key), while the connection is lost or the
	// daemon has no room; 0 makes every call once.
	Patience time.Duration
}

// Client calls one daemon.
type Client struct {
	base   string
	tenant string
	token  string
	agent  string
	http   *http.Client
	// patience is Config.Patience.
	patience time.Duration
}

// New makes a client; nothing is sent yet.
func New(c Config) (*Client, error) {
	u, err := url.Parse(c.BaseURL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("the server %q is not of the form http://host:port", c.BaseURL)
	}
	client := &Client{
		base: strings.TrimSuffix(c.BaseURL, "/"), tenant: c.Tenant, token: c.Token, agent: c.Agent,
		http: &http.Client{CheckRedirect: stayHere}, patience: c.Patience,
	}
	if own, ok := http.DefaultTransport.(*http.Transport); ok && c.TLS != nil {
		own = own.Clone()
		own.TLSClientConfig = c.TLS
		client.http.Transport = own
	}
	return client, nil
}

// Unreachable says that no daemon answers at the address.
type Unreachable struct {
	Base string
	Err  error
}

func (e *Unreachable) Error() string {
	return "no daemon at " + outbound.Shown(e.Base) + ": start one with 'graphd serve', or name another with --server"
}

func (e *Unreachable) Unwrap() error { return e.Err }

// Redirected says that the daemon's address sends callers elsewhere, where they do not follow: what they are
// known by is for the address that they were given.
type Redirected struct {
	// From and To are scheme, host and port.
	From, To string
}

func (e *Redirected) Error() string {
	return fmt.Sprintf("%s sends to %s, and neither a token nor a certificate goes there: if that is the daemon, "+
		"name it with --server", e.From, e.To)
}

// maxRedirects bounds those that stay at the daemon.
const maxRedirects = 10

// stayHere refuses redirects to another scheme, host or port.
func stayHere(next *http.Request, before []*http.Request) error {
	if from, to := origin(before[0].URL), origin(next.URL); from != to {
		return &Redirected{from, to}
	}
	if len(before) >= maxRedirects {
		return fmt.Errorf("stopped after %d redirects", maxRedirects)
	}
	return nil
}

// origin is scheme, host and port of an address.
func origin(u *url.URL) string {
	scheme := strings.Replace(u.Scheme, "ws", "http", 1)
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[scheme]
	}
	return scheme + "://" + net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}

// request is one call.
type request struct {
	method, path string
	query        url.Values
	body         []byte
	contentType  string
	accept       string // the media type asked for; "" for JSON
	revision     int64  // If-Match; 0 for none
	key          string // Idempotency-Key; "" for none
	prefer       string // how long the daemon is to wait; "" for as long as it does
	// once keeps a call from being repeated that asks how the daemon is; endless has it repeated until its context
	// ends.
	once, endless bool
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
// what was taken and a *api.Problem.
func call[T any](ctx context.Context, c *Client, r request) (out T, err error) {
	data, err := c.send(ctx, r)
	if refused, ok := errors.AsType[*api.Problem](err); ok && refused.Code != notADaemon {
		// The members of a result are beside those of the problem, or not there; either is well.
		_ = json.Unmarshal(data, &out)
	}
	if err != nil || len(bytes.TrimSpace(data)) == 0 {
		return out, err
	}
	if err := json.Unmarshal(data, &out); err != nil {
		return out, fmt.Errorf("the answer to %s %s is not what a graphd daemon says: %w", r.method, r.path, err)
	}
	return out, nil
}

// sendOnce sends a request and returns the answer's body, also that of a refusal.
func (c *Client) sendOnce(ctx context.Context, r request) ([]byte, error) {
	target := c.base + r.path
	if len(r.query) > 0 {
		target += "?" + r.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, r.method, target, bytes.NewReader(r.body))
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", r.method, r.path, err)
	}
	c.head(req.Header, r)
	res, err := c.http.Do(req)
	if err != nil {
		return nil, c.unreachable(ctx, err)
	}
	data, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err = errors.Join(err, res.Body.Close()); err != nil {
		return nil, &cut{fmt.Errorf("read the answer to %s %s: %w", r.method, r.path, err)}
	}
	if res.StatusCode >= http.StatusBadRequest {
		return data, problem(res, data)
	}
	return data, nil
}

// identify says who calls.
func (c *Client) identify(h http.Header) {
	if c.tenant != "" {
		h.Set("Graphd-Tenant", c.tenant)
	}
	if c.token != "" {
		h.Set("Authorization", "Bearer "+c.token)
	}
}

func (c *Client) head(h http.Header, r request) {
	c.identify(h)
	if r.accept != "" {
		h.Set("Accept", r.accept)
	}
	if c.agent != "" {
		h.Set("User-Agent", c.agent)
	}
	if r.contentType != "" {
		h.Set("Content-Type", r.contentType)
	}
	if r.revision != 0 {
		h.Set("If-Match", strconv.Quote(strconv.FormatInt(r.revision, 10)))
	}
	if r.key != "" {
		h.Set("Idempotency-Key", r.key)
	}
	if r.prefer != "" {
		h.Set("Prefer", r.prefer)
	}
}

// notADaemon is the code of a refusal that some other server gave.
const notADaemon = "not_a_daemon"

// problem reads a refusal.
func problem(res *http.Response, data []byte) *api.Problem {
	p := &api.Problem{}
	if err := json.Unmarshal(data, p); err != nil || p.Code == "" {
		p = &api.Problem{
			Code: notADaemon, Title: res.Status, Detail: "the answer is not a graphd daemon's: " + res.Status,
		}
		if bytes.Contains(data, []byte("HTTP request to an HTTPS server")) { // net/http's words
			p.Detail = "the server speaks TLS: write https:// before its address"
		}
	}
	p.Status = res.StatusCode
	if seconds, err := strconv.ParseUint(res.Header.Get("Retry-After"), 10, 16); err == nil {
		p.RetryAfter = time.Duration(seconds) * time.Second
	}
	return p
}

// unreachable tells a daemon that is not there from a call that was given up.
func (c *Client) unreachable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if elsewhere, ok := errors.AsType[*Redirected](err); ok {
		return elsewhere
	}
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" {
		return &Unreachable{c.base, err}
	}
	return &cut{fmt.Errorf("the daemon at %s did not answer: %w%s", c.base, err, adviceTLS(c.base, err))}
}
