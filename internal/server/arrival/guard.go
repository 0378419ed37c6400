package arrival

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"

	"github.com/graphd/graphd/internal/access"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/rates"
	"github.com/graphd/graphd/internal/server/wire"
)

// Guard bounds what comes in. Make it with [New].
type Guard struct {
	cfg                                Config
	proxies                            Proxies
	addresses, tokens, frames, pushing *rates.Rates
	listener                           atomic.Pointer[Listener]
	lingering                          *lingering
}

// New makes a guard. The error is that of [Config.Validate].
func New(cfg Config) (*Guard, error) {
	cfg = cfg.withDefaults()
	proxies, err := ParseProxies(cfg.TrustedProxies)
	each := func(perSecond int64) *rates.Rates {
		return rates.New(rates.Config{PerSecond: float64(perSecond), Burst: int(min(2*perSecond, 1<<31-1)), Keys: keys})
	}
	return &Guard{cfg: cfg, proxies: proxies, addresses: each(int64(cfg.MaxRequests)),
		tokens: each(int64(cfg.MaxRequests)), frames: each(int64(cfg.MaxTokenFrames)),
		pushing: each(cfg.MaxPushBytes), lingering: newLingering(&cfg)}, err
}

// Listen bounds what ln accepts. What is one too many is told so where plain says that it reads HTTP as it is.
func (g *Guard) Listen(ln net.Listener, plain bool) net.Listener {
	b := Bounds{All: g.cfg.MaxConnections, Each: g.cfg.MaxConnectionsEach}
	if plain {
		problem := wire.AppendProblem(nil, wire.Refuse(http.StatusServiceUnavailable, api.CodeTooManyConnections,
			"there are too many connections, to this daemon or of this address; close some, or try again later"), "")
		b.Refusal = fmt.Appendf(nil, "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/problem+json\r\n"+
			"Content-Length: %d\r\nRetry-After: 1\r\nConnection: close\r\n\r\n%s", len(problem), problem)
	}
	l := Listen(ln, b, g.proxies)
	g.listener.Store(l)
	return l
}

// From is r with the address that it came from, and the refusal of one whose address sends too many, late where it
// goes on.
func (g *Guard) From(r *http.Request) (*http.Request, error) {
	from := g.proxies.Of(r)
	if host, _, _ := net.SplitHostPort(r.RemoteAddr); from != host {
		forwarded := *r
		forwarded.RemoteAddr = net.JoinHostPort(from, "0")
		r = &forwarded
	}
	if key := rates.Source(from); !g.addresses.Take(key, 1) {
		g.Linger(r.Context(), key)
		return r, limited("address", g.cfg.MaxRequests)
	}
	return r, nil
}

// Request refuses one whose token sends too many, late where it goes on.
func (g *Guard) Request(ctx context.Context, who *access.Principal) error {
	if !g.tokens.Take(who.Holder(), 1) {
		g.Linger(ctx, who.Holder())
		return limited("token", g.cfg.MaxRequests)
	}
	return nil
}

func limited(whose string, most int) error {
	return wire.Refuse(http.StatusTooManyRequests, api.CodeRateLimited,
		"this "+whose+" sends more than "+strconv.Itoa(most)+" requests a second; send fewer, with more in each, or "+
			"have --max-requests raised")
}

// Push refuses n bytes that are pushed where the token pushes too many, late where it goes on.
func (g *Guard) Push(ctx context.Context, who *access.Principal, n int) error {
	if !g.pushing.Take(who.Holder(), n) {
		g.Linger(ctx, who.Holder())
		return wire.Refuse(http.StatusTooManyRequests, api.CodeRateLimited, fmt.Sprintf(
			"more than %d bytes a second are pushed with this token; push fewer, or have --max-push-bytes raised",
			g.cfg.MaxPushBytes))
	}
	return nil
}

// Frames holds back one whose token sends too many frames, or bytes in them, until ctx is done.
func (g *Guard) Frames(ctx context.Context, who *access.Principal, frames, bytes int) error {
	if err := g.frames.Wait(ctx, who.Holder(), frames); err != nil {
		return err
	}
	return g.pushing.Wait(ctx, who.Holder(), bytes)
}

// Refused is how many connections were one too many.
func (g *Guard) Refused() int64 {
	if l := g.listener.Load(); l != nil {
		return l.Refused()
	}
	return 0
}

// Limits are the bounds.
func (g *Guard) Limits() []api.Limit {
	open := int64(0)
	if l := g.listener.Load(); l != nil {
		open = l.Open()
	}
	return []api.Limit{
		{Name: "connections", Limit: int64(g.cfg.MaxConnections), Used: &open, Unit: "connections"},
		{Name: "connections_per_address", Limit: int64(g.cfg.MaxConnectionsEach), Unit: "connections"},
		{Name: "requests_per_second", Limit: int64(g.cfg.MaxRequests),
			Unit: "requests/s of an address, and of a token"},
		{Name: "frames_per_second", Limit: int64(g.cfg.MaxTokenFrames), Unit: "frames/s of a token"},
		{Name: "push_bytes_per_second", Limit: g.cfg.MaxPushBytes, Unit: "bytes/s of a token"},
		{Name: "token_failures_per_minute", Limit: int64(g.cfg.MaxTokenFailures), Unit: "failures/min of an address"},
	}
}
