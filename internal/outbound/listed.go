package outbound

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"
)

// listedTimeout bounds one connect for a declaration from the network, and is what each of them takes that fails.
const listedTimeout = 3 * time.Second

// dialListed dials what is listed. Whether nobody listens or nobody answers takes as long and is told in
// the same words.
func (g *Guard) dialListed(ctx context.Context, d *net.Dialer, network, address string) (net.Conn, error) {
	began := time.Now()
	d.Timeout = listedTimeout
	conn, err := g.dial(ctx, d, network, address)
	if err == nil {
		return conn, nil
	}
	if denied, ok := errors.AsType[*DeniedError](err); ok {
		host, _, _ := net.SplitHostPort(address) // it was split before
		return nil, &DeniedError{Host: host, Addr: denied.Addr, Kind: denied.Kind}
	}
	timer := time.NewTimer(listedTimeout - time.Since(began))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil, fmt.Errorf("no connection to %s within %v", address, listedTimeout)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Allows says of a host, before it is dialled, whether calls to it are sure to be denied: an address that is not
// listed, or any name where neither names nor networks are.
func (g *Guard) Allows(host string) error {
	if g == nil || g.hosts[hostName(host)] {
		return nil
	}
	addr, err := netip.ParseAddr(host)
	switch {
	case err == nil && g.check(netip.AddrPortFrom(addr, 1).String()) == nil:
		return nil
	case err != nil && (!g.strict || g.public || len(g.networks) > 0):
		return nil // what it resolves to is looked at when it is dialled
	}
	return &DeniedError{Host: host, Addr: addr}
}
