package arrival

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"testing"
)

// TestWhereRequestsComeFrom: a header counts where a proxy that is believed has sent it, and then the last address in
// it that is no such proxy's (A12).
func TestWhereRequestsComeFrom(t *testing.T) {
	t.Parallel()
	p, err := ParseProxies([]string{"10.0.0.0/8", "127.0.0.1", "fd00::/8"})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		remote string
		given  []string
		want   string
	}{
		{"203.0.113.9:1", []string{"198.51.100.1"}, "203.0.113.9"},
		{"10.1.1.1:1", nil, "10.1.1.1"},
		{"10.1.1.1:1", []string{"198.51.100.1"}, "198.51.100.1"},
		{"127.0.0.1:1", []string{"1.1.1.1, 198.51.100.1, 10.2.2.2"}, "198.51.100.1"},
		{"127.0.0.1:1", []string{"1.1.1.1", "198.51.100.1", "10.2.2.2"}, "198.51.100.1"},
		{"[fd00::1]:1", []string{"2001:db8::1"}, "2001:db8::1"},
		{"10.1.1.1:1", []string{"nonsense, 10.2.2.2"}, "10.2.2.2"},
		{"10.1.1.1:1", []string{"198.51.100.1, nonsense"}, "10.1.1.1"},
		{"10.1.1.1:1", []string{"10.3.3.3, 10.2.2.2"}, "10.3.3.3"},
		{"10.1.1.1:1", []string{"198.51.100.1:567"}, "198.51.100.1"},
		{"10.1.1.1:1", []string{`"198.51.100.1:567", 10.2.2.2:80`}, "198.51.100.1"},
		{"10.1.1.1:1", []string{"[2001:db8::1]:80, [fd00::1]"}, "2001:db8::1"},
		{"10.1.1.1:1", []string{`"[2001:db8::1]"`}, "2001:db8::1"},
		{"10.1.1.1:1", []string{`198.51.100.1:http`}, "10.1.1.1"},
		{"10.1.1.1:1", []string{`"`}, "10.1.1.1"},
		{"@", []string{"198.51.100.1"}, ""},
	} {
		r := &http.Request{RemoteAddr: tt.remote, Header: http.Header{"X-Forwarded-For": tt.given}}
		if got := p.Of(r); got != tt.want {
			t.Errorf("%s with %q: %s, want %s", tt.remote, tt.given, got, tt.want)
		}
		if got := Proxies(nil).Of(r); tt.want != "" && got == "198.51.100.1" {
			t.Errorf("nobody is believed, and the header counts: %s", got)
		}
	}
	for _, text := range []string{"", "proxy.internal", "10.0.0.0/33"} {
		if _, err := ParseProxies([]string{text}); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

// arriving is a listener of connections from addresses.
type arriving struct {
	net.Listener
	from []string
	ends []net.Conn
}

func (l *arriving) Accept() (net.Conn, error) {
	if len(l.from) == 0 {
		return nil, net.ErrClosed
	}
	here, there := net.Pipe()
	at := net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(l.from[0]), 1))
	l.from, l.ends = l.from[1:], append(l.ends, there)
	return &from{here, at}, nil
}

type from struct {
	net.Conn
	at net.Addr
}

func (c *from) RemoteAddr() net.Addr { return c.at }

// TestConnectionsAreBounded: past the bound of all, and past that of an address, connections are closed and counted;
// those that go leave room, and addresses that nobody comes from any more are forgotten (A12).
func TestConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	p, err := ParseProxies([]string{"10.9.9.9"})
	if err != nil {
		t.Fatal(err)
	}
	in := &arriving{from: []string{"10.0.0.1", "10.0.0.1", "10.0.0.1", "2001:db8::1", "2001:db8::2", "2001:db8::3",
		"127.0.0.1", "127.0.0.1", "127.0.0.1", "10.9.9.9", "10.9.9.9", "10.9.9.9"}}
	l := Listen(in, Bounds{All: 10, Each: 2}, p)
	var open []net.Conn
	for {
		c, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			break
		}
		open = append(open, c)
	}
	if len(open) != 10 || l.Open() != 10 || l.Refused() != 2 {
		t.Fatalf("%d were admitted, %d refused", len(open), l.Refused())
	}
	for _, c := range open {
		_, _ = c.Close(), c.Close() // whoever took it over may do so again
	}
	if l.Open() != 0 || len(l.each) != 0 {
		t.Errorf("%d connections are left, of %v", l.Open(), l.each)
	}
	for range 12 {
		in.from = append(in.from, "127.0.0.1")
	}
	l.bounds.Refusal = []byte("no room")
	for range 10 {
		if _, err := l.Accept(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.Accept(); err == nil || l.Refused() != 4 {
		t.Errorf("%v, and %d were refused", err, l.Refused())
	}
	if _, err := io.ReadAll(in.ends[len(in.ends)-1]); err != nil {
		t.Error(err)
	}
}
