package arrival

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// Proxies are networks whose word about where a request came from is believed; none are by default.
type Proxies []netip.Prefix

// ParseProxies reads networks, 10.1.0.0/16, and addresses.
func ParseProxies(list []string) (Proxies, error) {
	var all Proxies
	for _, text := range list {
		network, err := netip.ParsePrefix(text)
		if addr, single := netip.ParseAddr(text); single == nil {
			network, err = addr.Prefix(addr.BitLen())
		}
		if err != nil {
			return nil, fmt.Errorf("%q is no network: write 10.1.0.0/16, or an address", text)
		}
		all = append(all, network.Masked())
	}
	return all, nil
}

func (p Proxies) believed(addr netip.Addr) bool {
	addr = addr.Unmap().WithZone("")
	for _, network := range p {
		if network.Contains(addr) {
			return true
		}
	}
	return false
}

// maxHops bounds the addresses of a header that are looked at.
const maxHops = 16

// Of is the address that a request came from, "" where that is none: the other end of the connection, or where that
// is a proxy that is believed, the last in X-Forwarded-For that is none. What stands before that anybody could have
// written.
func (p Proxies) Of(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return ""
	}
	if len(p) == 0 {
		return host
	}
	addr, err := netip.ParseAddr(host)
	if err != nil || !p.believed(addr) {
		return host
	}
	given := strings.Join(r.Header.Values("X-Forwarded-For"), ",")
	for range maxHops {
		cut := strings.LastIndexByte(given, ',')
		hop, err := hopOf(given[cut+1:])
		if err != nil { // whoever has written that is believed no further
			return host
		}
		host = hop.Unmap().WithZone("").String()
		if cut < 0 || !p.believed(hop) {
			return host
		}
		given = given[:cut]
	}
	return host
}

// hopOf is the address of one entry, as proxies write it: alone or in brackets, with or without a port, quoted or not.
func hopOf(entry string) (netip.Addr, error) {
	entry = strings.TrimSpace(entry)
	if n := len(entry); n > 1 && entry[0] == '"' && entry[n-1] == '"' {
		entry = entry[1 : n-1]
	}
	if with, err := netip.ParseAddrPort(entry); err == nil {
		return with.Addr(), nil
	}
	if n := len(entry); n > 1 && entry[0] == '[' && entry[n-1] == ']' {
		entry = entry[1 : n-1]
	}
	return netip.ParseAddr(entry)
}
