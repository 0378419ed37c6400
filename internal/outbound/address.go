package outbound

import "net/netip"

// special is a network that is not the public internet.
type special struct {
	network netip.Prefix
	kind    string
}

// specials are the registries' special-purpose networks that a connection could reach
// something with. What netip already knows is not repeated here.
func specials() []special {
	return []special{
		{netip.MustParsePrefix("0.0.0.0/8"), "of this network"},
		{netip.MustParsePrefix("100.64.0.0/10"), "shared by carriers"},
		{netip.MustParsePrefix("192.0.0.0/24"), "reserved for protocols"},
		{netip.MustParsePrefix("192.0.2.0/24"), "reserved for documents"},
		{netip.MustParsePrefix("192.88.99.0/24"), "reserved for relays"},
		{netip.MustParsePrefix("198.18.0.0/15"), "reserved for benchmarks"},
		{netip.MustParsePrefix("198.51.100.0/24"), "reserved for documents"},
		{netip.MustParsePrefix("203.0.113.0/24"), "reserved for documents"},
		{netip.MustParsePrefix("240.0.0.0/4"), "reserved"},
		{netip.MustParsePrefix("fec0::/10"), "site-local"},
		{netip.MustParsePrefix("100::/64"), "discarded"},
		{netip.MustParsePrefix("64:ff9b:1::/48"), "translated locally"},
		{netip.MustParsePrefix("2001::/23"), "reserved for protocols"},
		{netip.MustParsePrefix("2001:db8::/32"), "reserved for documents"},
		{netip.MustParsePrefix("3fff::/20"), "reserved for documents"},
		{netip.MustParsePrefix("5f00::/16"), "reserved for routing"},
	}
}

// notPublic says why an address is not on the public internet, "" when it is.
func notPublic(a netip.Addr) string {
	switch {
	case !a.IsValid() || a.IsUnspecified():
		return "unspecified"
	case a.IsLoopback():
		return "loopback"
	case a.IsPrivate(): // fc00::/7, unique-local, too
		return "private"
	case a.IsLinkLocalUnicast():
		return "link-local"
	case a.IsMulticast():
		return "multicast"
	}
	for _, s := range specials() {
		if s.network.Contains(a) {
			return s.kind
		}
	}
	return ""
}

// embedded is the IPv4 address that an IPv6 address stands for where a host or a gateway
// translates it, the address itself otherwise: ::ffff:10.0.0.1, ::ffff:0:10.0.0.1 (SIIT), ::10.0.0.1,
// 64:ff9b::a00:1 (NAT64) and 2002:a00:1:: (6to4) all reach 10.0.0.1.
func embedded(a netip.Addr) netip.Addr {
	a = a.Unmap()
	if !a.Is6() {
		return a
	}
	b := a.As16()
	switch {
	case netip.MustParsePrefix("64:ff9b::/96").Contains(a), netip.MustParsePrefix("::ffff:0:0:0/96").Contains(a),
		netip.MustParsePrefix("::/96").Contains(a) && !a.IsLoopback() && !a.IsUnspecified():
		return netip.AddrFrom4([4]byte(b[12:16]))
	case netip.MustParsePrefix("2002::/16").Contains(a):
		return netip.AddrFrom4([4]byte(b[2:6]))
	}
	return a
}
