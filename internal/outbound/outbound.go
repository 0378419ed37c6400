// Package outbound is the one way out of the daemon: every call to another server (a poll,
// a WebSocket client, a webhook) is dialled by a [Guard].
//
// A declaration says which address to call, and whoever may apply one could make the daemon
// call what only the daemon can reach: the metadata service of a cloud, a database on the
// inside, its neighbours. A Guard therefore dials public addresses only, and what the
// daemon's configuration allows beside them. It looks at the address that is dialled, after
// a name was resolved and for each of its addresses, so that a name that resolves to
// something else a moment later gains nothing; and since redirects are dialled too, they
// are checked the same way. There is no proxy.
//
// A declaration that came over the network is given the guard of [Guard.For], which dials what the
// configuration lists and nothing else, public addresses included, and whose errors do not tell what
// is behind an address: its author is not to learn from them which ports of a network are open.
//
// It also bounds how many calls are on the way at once.
//
// # Concurrency
//
// A Guard is safe for concurrent use and starts nothing of its own. The clients it makes
// keep idle connections; whoever makes one closes them.
package outbound

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// DefaultMaxCalls is how many calls may be on the way at once where nothing else is said:
// enough that a few slow servers hold nobody else up, few enough for any limit of open files.
const DefaultMaxCalls = 256

// dialTimeout bounds one connect, whatever the caller's own timeout.
const dialTimeout = 10 * time.Second

// Config says what may be called beside public addresses.
type Config struct {
	// Allow lists networks (10.1.0.0/16), addresses (10.1.2.3), host names
	// (limits.internal), whatever they resolve to, and the words "loopback", "private", "public"
	// and "none"; none stands alone and is the same as an empty list. Public addresses need be listed
	// for declarations from the network alone.
	Allow []string
	// MaxCalls bounds the calls on the way at once; 0 means DefaultMaxCalls.
	MaxCalls int
	// Log is told what is not to be told to authors; nil is none.
	Log *slog.Logger
}

// DeniedError is a call to an address that is not allowed. It will be denied again until
// the daemon's configuration changes.
type DeniedError struct {
	// Host is as it was declared, where the address is not to be told.
	Host string
	Addr netip.Addr
	Kind string // what is the matter with the address: "private", "link-local", …
}

func (e *DeniedError) Error() string {
	if e.Host != "" {
		return fmt.Sprintf("calls to %s are not allowed to declarations from the network; if they are meant, ask the "+
			"operator of the daemon to list them (--allow-outbound, or allow_outbound of the tenant), or to put the "+
			"declaration into the folder of --graphs", e.Host)
	}
	return fmt.Sprintf("the address %s is %s, and calls to it are not allowed; if it is meant, ask the operator "+
		"of the daemon to list it (--allow-outbound, or allow_outbound of the tenant)", e.Addr, e.Kind)
}

// Guard dials what is allowed.
type Guard struct {
	networks []netip.Prefix
	hosts    map[string]bool
	public   bool          // public addresses are listed, too
	all      bool          // whatever it is
	slots    chan struct{} // one for each call on the way
	denied   *atomic.Int64
	waited   *atomic.Int64 // calls that had to wait for a place
	queue    *queue        // those that wait now
	// strict has only what is listed dialled; it is set in listed, the guard of declarations from the network.
	strict bool
	listed *Guard
	// outer is the guard whose places calls take beside their own; nil for that of the daemon.
	outer *Guard
	// name is of the connection that it is for, whose troubles log is told of, last at told; "" for all others.
	name string
	log  *slog.Logger
	told *atomic.Int64
}

// For is the guard for a declaration: g, or the one for those that came over the network.
func (g *Guard) For(network bool) *Guard {
	if g == nil || !network {
		return g
	}
	return g.listed
}

// words are networks by name.
func words() map[string][]netip.Prefix {
	return map[string][]netip.Prefix{
		"loopback": prefixes("127.0.0.0/8", "::1/128"),
		"private":  prefixes("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"),
	}
}

func prefixes(texts ...string) []netip.Prefix {
	list := make([]netip.Prefix, len(texts))
	for i, t := range texts {
		list[i] = netip.MustParsePrefix(t)
	}
	return list
}

// New makes a Guard, or says what in the configuration cannot be used.
func New(cfg Config) (*Guard, error) {
	if cfg.MaxCalls < 0 {
		return nil, fmt.Errorf("%d calls at once: give a number above 0", cfg.MaxCalls)
	}
	if cfg.MaxCalls == 0 {
		cfg.MaxCalls = DefaultMaxCalls
	}
	g := &Guard{hosts: make(map[string]bool), slots: make(chan struct{}, cfg.MaxCalls), denied: &atomic.Int64{},
		waited: &atomic.Int64{}, queue: &queue{}, log: cfg.Log}
	named := words()
	for _, text := range cfg.Allow {
		text = strings.TrimSpace(text)
		if text == "none" && len(cfg.Allow) == 1 {
			break
		}
		if text == "public" {
			g.public = true
			continue
		}
		if list, ok := named[text]; ok {
			g.networks = append(g.networks, list...)
		} else if p, err := netip.ParsePrefix(text); err == nil {
			g.networks = append(g.networks, p.Masked())
		} else if a, err := netip.ParseAddr(text); err == nil {
			a = a.Unmap()
			g.networks = append(g.networks, netip.PrefixFrom(a, a.BitLen()))
		} else if isHost(text) {
			g.hosts[hostName(text)] = true
		} else {
			return nil, fmt.Errorf("cannot allow calls to %q: write a network such as 10.1.0.0/16, an address, a "+
				"host name, loopback, private or public; none stands alone", Shown(text))
		}
	}
	listed := *g
	listed.strict, g.listed = true, &listed
	return g, nil
}

// Within is a guard for some of those that g is for: it dials what allow lists, or with nil what g does, and may have
// so many calls on the way at once among those of g; 0 is no bound of its own.
func (g *Guard) Within(allow []string, most int) (*Guard, error) {
	within, err := New(Config{Allow: allow, MaxCalls: most})
	if err != nil {
		return nil, err
	}
	if allow == nil {
		within.networks, within.hosts, within.public = g.networks, g.hosts, g.public
	}
	if most == 0 {
		within.slots = nil
	}
	within.denied, within.outer, within.log = g.denied, g, g.log
	listed := *within
	listed.strict, listed.listed = true, &listed
	within.listed = &listed
	return within, nil
}

// isHost reports whether a text can be a host name: a port or a path is a slip.
func isHost(s string) bool {
	if s == "" || s == "none" || len(s) > 253 {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '.' ||
			r == '_')
	}) && strings.ContainsFunc(s, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
}

// hostName is a name as names are compared.
func hostName(s string) string { return strings.ToLower(strings.TrimSuffix(s, ".")) }

// DialContext connects to an address, host:port, if it is allowed.
func (g *Guard) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	d := net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}
	if g.strict {
		return g.dialListed(ctx, &d, network, address)
	}
	conn, err := g.dial(ctx, &d, network, address)
	if err != nil && g.name != "" {
		return nil, g.private(err)
	}
	return conn, err
}

// dial dials what is allowed.
func (g *Guard) dial(ctx context.Context, d *net.Dialer, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("dial: %w", err)
	}
	if !g.hosts[hostName(host)] {
		// Called with each address in turn, between the socket and its connect.
		d.ControlContext = func(_ context.Context, _, dialled string, _ syscall.RawConn) error {
			return g.check(dialled)
		}
	}
	conn, err := d.DialContext(ctx, network, address)
	if denied := (*DeniedError)(nil); errors.As(err, &denied) {
		g.denied.Add(1)
		return nil, denied
	}
	return conn, err
}

// check says whether the address of a connection to be made is allowed.
func (g *Guard) check(dialled string) error {
	if g.all {
		return nil
	}
	at, err := netip.ParseAddrPort(dialled)
	if err != nil {
		return fmt.Errorf("dial %s: %w", dialled, err)
	}
	addr := at.Addr().WithZone("")
	inner := embedded(addr)
	for _, p := range g.networks {
		if p.Contains(inner) || p.Contains(addr) {
			return nil
		}
	}
	return g.unlisted(addr)
}

// unlisted says whether an address is allowed that is not listed.
func (g *Guard) unlisted(addr netip.Addr) error {
	for _, a := range []netip.Addr{addr, embedded(addr)} {
		if kind := notPublic(a); kind != "" {
			return &DeniedError{Addr: addr, Kind: kind}
		}
	}
	if g.strict && !g.public {
		return &DeniedError{Addr: addr, Kind: "public"}
	}
	return nil
}

// Acquire takes one of the places for calls on the way, and waits while there is none. It
// fails only with ctx's error. release gives the place back and is called once.
func (g *Guard) Acquire(ctx context.Context) (release func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if g.outer != nil { // its own place first: who waits for that takes none of the others'
		return g.acquireWithin(ctx)
	}
	select {
	case g.slots <- struct{}{}:
		return func() { <-g.slots }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for one of %d places for outbound calls: %w", cap(g.slots), ctx.Err())
	}
}

func (g *Guard) acquireWithin(ctx context.Context) (release func(), err error) {
	if g.slots == nil {
		return g.outer.Acquire(ctx)
	}
	select {
	case g.slots <- struct{}{}:
	default:
		g.waited.Add(1)
		g.queue.join()
		select {
		case g.slots <- struct{}{}:
			g.queue.leave()
		case <-ctx.Done():
			g.queue.leave()
			return nil, fmt.Errorf("wait for one of the %d places that the tenant has for outbound calls: %w",
				cap(g.slots), ctx.Err())
		}
	}
	free, err := g.outer.Acquire(ctx)
	if err != nil {
		<-g.slots
		return nil, err
	}
	return func() { free(); <-g.slots }, nil
}

// Waited is how many calls had to wait for a place of a guard within another.
func (g *Guard) Waited() int64 { return g.waited.Load() }

// Use is how many calls are on the way, how many may be, and how many dials were denied.
func (g *Guard) Use() (used, limit, denied int64) {
	return int64(len(g.slots)), int64(cap(g.slots)), g.denied.Load()
}
