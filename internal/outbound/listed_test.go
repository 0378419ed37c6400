package outbound_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/outbound"
)

// What declarations from the network may call is listed, public addresses too, and what is denied is told by the
// name that was declared and not by what it resolves to.
func TestListed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		allow, host string
		denied      bool
	}{
		{"none", "127.0.0.1", true}, {"none", "1.1.1.1", true}, {"none", "anything.example", true},
		{"loopback", "127.0.0.1", false}, {"loopback", "::1", false}, {"loopback", "localhost", false},
		{"loopback", "1.1.1.1", true}, {"loopback", "10.0.0.1", true}, {"loopback", "169.254.169.254", true},
		{"loopback", "::ffff:10.0.0.1", true}, {"loopback", "::ffff:0:10.0.0.1", true},
		{"loopback", "::ffff:169.254.169.254", true}, {"loopback", "64:ff9b::a9fe:a9fe", true},
		{"public", "1.1.1.1", false}, {"public", "127.0.0.1", true}, {"public", "203.0.113.1", true},
		{"public", "::ffff:127.0.0.1", true}, {"public", "::ffff:0:127.0.0.1", true}, {"public", "2001:db8::1", true},
		{"limits.internal", "limits.internal", false}, {"limits.internal", "other.internal", true},
		{"10.1.0.0/16", "10.1.2.3", false}, {"10.1.0.0/16", "10.2.2.3", true}, {"10.1.0.0/16", "1.1.1.1", true},
	} {
		g, err := outbound.New(outbound.Config{Allow: []string{c.allow}})
		if err != nil {
			t.Fatal(err)
		}
		g = g.For(true)
		if err := g.Allows(c.host); (err != nil) != c.denied {
			t.Errorf("%s with %s: got %v", c.host, c.allow, err)
		}
		if !c.denied {
			continue
		}
		_, err = g.DialContext(t.Context(), "tcp", net.JoinHostPort(c.host, "1"))
		if strings.Contains(c.host, "example") || strings.Contains(c.host, "internal") {
			continue // a name that is not there at all
		}
		if denied, ok := errors.AsType[*outbound.DeniedError](err); !ok || !strings.Contains(denied.Error(), c.host) {
			t.Errorf("%s with %s was dialled: %v", c.host, c.allow, err)
		}
	}
}

// The author of a declaration does not learn whether a port is closed or its packets are swallowed.
func TestClosedIsAsSilent(t *testing.T) {
	t.Parallel()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	g, err := outbound.New(outbound.Config{Allow: []string{"loopback"}})
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]string{}
	for what, addr := range map[string]string{"closed": closed.Addr().String(), "silent": silent(t)} {
		began := time.Now()
		_, err := g.For(true).DialContext(t.Context(), "tcp", addr)
		if err == nil {
			t.Fatalf("%s: a connection was made", what)
		}
		took := time.Since(began).Round(500 * time.Millisecond)
		said[what] = strings.ReplaceAll(err.Error(), addr, "ADDR") + fmt.Sprintf(" (%T)", err)
		if took < 2500*time.Millisecond || took > 30*time.Second {
			t.Errorf("%s took %v", what, took)
		}
	}
	if said["closed"] != said["silent"] {
		t.Errorf("got %q", said)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := g.For(true).DialContext(ctx, "tcp", closed.Addr().String()); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the end of the context", err)
	}
}

// silent is an address that answers nothing: as many wait to be accepted as there is room for.
func silent(t *testing.T) string {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
	if err := errors.Join(syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}),
		syscall.Listen(fd, 0)); err != nil {
		t.Fatal(err)
	}
	at, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	addr := fmt.Sprintf("127.0.0.1:%d", at.(*syscall.SockaddrInet4).Port)
	for range 8 {
		conn, err := net.DialTimeout("tcp", addr, 300*time.Millisecond)
		if err != nil {
			return addr
		}
		t.Cleanup(func() { conn.Close() })
	}
	t.Skip("this system takes connections that nobody accepts")
	return ""
}
