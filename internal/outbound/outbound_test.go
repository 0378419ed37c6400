package outbound

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/testbed/leaks"
)

func TestMain(m *testing.M) { leaks.Main(m) }

func guard(t *testing.T, allow ...string) *Guard {
	t.Helper()
	g, err := New(Config{Allow: allow})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// Each address stands for its network, and the last columns for the ways around it.
func TestAddressesThatAreNotPublic(t *testing.T) {
	t.Parallel()
	g := guard(t)
	for _, a := range []string{
		"127.0.0.1", "127.9.9.9", "::1", // loopback
		"10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "fc00::1", "fdff::1", // private, unique-local
		"169.254.169.254", "169.254.0.1", "fe80::1", "fe80::1%eth0", // link-local, the metadata services
		"224.0.0.1", "239.255.255.250", "ff02::1", // multicast
		"0.0.0.0", "::", "0.1.2.3", "100.64.0.1", "192.0.0.8", "198.18.0.1", "240.0.0.1", "255.255.255.255", "fec0::1",
		"::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", // mapped
		// translated
		"::127.0.0.1", "64:ff9b::a9fe:a9fe", "64:ff9b::7f00:1", "2002:7f00:1::", "2002:a9fe:a9fe::1", "2001::1",
		"64:ff9b:1::1",
	} {
		err := g.check(netip.AddrPortFrom(netip.MustParseAddr(a), 80).String())
		var denied *DeniedError
		if !errors.As(err, &denied) || denied.Kind == "" {
			t.Errorf("%s: %v, want it denied", a, err)
		}
	}
	for _, a := range []string{"1.1.1.1", "8.8.8.8", "172.15.0.1", "172.32.0.1", "192.167.1.1", "2606:4700::1111",
		"64:ff9b::808:808", "2002:808:808::1", "::ffff:8.8.8.8"} {
		if err := g.check(netip.AddrPortFrom(netip.MustParseAddr(a), 443).String()); err != nil {
			t.Errorf("%s: %v, want it allowed", a, err)
		}
	}
}

func TestAllow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ allow, addr, want string }{
		{"loopback", "127.0.0.1", ""},
		{"loopback", "::1", ""},
		{"loopback", "10.0.0.1", "private"},
		{"loopback", "169.254.169.254", "link-local"},
		{"private", "10.0.0.1", ""},
		{"private", "fd00::1", ""},
		{"private", "127.0.0.1", "loopback"},
		{"10.1.0.0/16", "10.1.2.3", ""},
		{"10.1.9.9/16", "10.1.2.3", ""}, // the bits of the host say nothing
		{"10.1.0.0/16", "10.2.0.1", "private"},
		{"10.1.2.3", "::ffff:10.1.2.3", ""},
		{"10.1.2.3", "10.1.2.4", "private"},
		{"fd12::/32", "fd12::5", ""},
		{"none", "127.0.0.1", "loopback"},
	} {
		err := guard(t, c.allow).check(netip.AddrPortFrom(netip.MustParseAddr(c.addr), 80).String())
		var denied *DeniedError
		if got := ""; errors.As(err, &denied) {
			got = denied.Kind
			if got != c.want {
				t.Errorf("allow %s: %s is %q, want %q", c.allow, c.addr, got, c.want)
			}
		} else if err != nil || c.want != "" {
			t.Errorf("allow %s: %s: %v, want %q", c.allow, c.addr, err, c.want)
		}
	}
	for _, bad := range [][]string{{""}, {"http://x"}, {"10.0.0.0/99"}, {"1.2.3"}, {"host:80"}, {"none", "loopback"},
		{"a b"}} {
		if _, err := New(Config{Allow: bad}); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	if _, err := New(Config{MaxCalls: -1}); err == nil {
		t.Error("a negative number of calls is taken")
	}
}

func server(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

func get(t *testing.T, c *http.Client, url string, h ...Header) (string, error) {
	t.Helper()
	defer c.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	Set(req.Header, h)
	resp, err := c.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return fmt.Sprint(resp.StatusCode, " ", string(body)), err
}

// A name is checked by what it resolves to, not by how it looks; a host that is allowed by
// name may resolve to anything.
func TestNamesAreCheckedWhenDialled(t *testing.T) {
	t.Parallel()
	s := server(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "in") })
	byName := strings.Replace(s.URL, "127.0.0.1", "localhost", 1)
	g := guard(t)
	for _, url := range []string{s.URL, byName} {
		_, err := get(t, g.Client(nil), url)
		var denied *DeniedError
		if !errors.As(err, &denied) || denied.Kind != "loopback" {
			t.Errorf("%s: %v, want it denied", url, err)
		}
	}
	if _, _, denied := g.Use(); denied != 2 {
		t.Errorf("%d denied, want 2", denied)
	}
	if got, err := get(t, guard(t, "LOCALHOST.").Client(nil), byName); got != "200 in" {
		t.Errorf("allowed by name: %q, %v", got, err)
	}
	if _, err := get(t, guard(t, "localhost").Client(nil), s.URL); err == nil {
		t.Error("a name that is allowed allowed its address")
	}
}

// Redirects are dialled by the guard too, are few, keep the scheme, and carry no secrets to
// another origin.
func TestRedirects(t *testing.T) {
	t.Parallel()
	var seen []string
	other := server(t, func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Header.Get("X-Token")+r.Header.Get("Referer"))
		fmt.Fprint(w, "other")
	})
	s := server(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/metadata":
			http.Redirect(w, r, "http://169.254.169.254/latest", http.StatusFound)
		case "/file":
			w.Header().Set("Location", "file:///etc/passwd")
			w.WriteHeader(http.StatusFound)
		case "/same":
			http.Redirect(w, r, "/token", http.StatusFound)
		case "/token":
			fmt.Fprint(w, r.Header.Get("X-Token"))
		case "/other":
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		default:
			http.Redirect(w, r, "/loop", http.StatusFound)
		}
	})
	secret := Header{"X-Token", "hunter2"}
	c := guard(t, "loopback").Client([]Header{secret})
	_, err := get(t, c, s.URL+"/metadata", secret)
	var denied *DeniedError
	if !errors.As(err, &denied) || denied.Kind != "link-local" {
		t.Errorf("to the metadata service: %v", err)
	}
	for _, path := range []string{"/loop", "/file"} {
		if _, err := get(t, c, s.URL+path, secret); !errors.Is(err, ErrRedirect) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if got, err := get(t, c, s.URL+"/same", secret); got != "200 hunter2" {
		t.Errorf("same origin: %q, %v", got, err)
	}
	if got, err := get(t, c, s.URL+"/other", secret); got != "200 other" || len(seen) != 1 || seen[0] != "" {
		t.Errorf("other origin: %q, %v, saw %q", got, err, seen)
	}
	secure := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, s.URL, http.StatusFound)
	}))
	defer secure.Close()
	c.Transport.(*http.Transport).TLSClientConfig = secure.Client().Transport.(*http.Transport).TLSClientConfig
	if _, err := get(t, c, secure.URL, secret); !errors.Is(err, ErrRedirect) {
		t.Errorf("from https to http: %v", err)
	}
}

func TestNoProxy(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("http_proxy", "http://127.0.0.1:1")
	if tr := guard(t).Client(nil).Transport.(*http.Transport); tr.Proxy != nil {
		t.Error("the environment's proxy is used")
	}
}

// No more calls than there are places; who waits is let in when one ends, or gives up.
func TestCallsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, err := New(Config{MaxCalls: 2})
		if err != nil {
			t.Fatal(err)
		}
		one, _ := g.Acquire(t.Context())
		two, _ := g.Acquire(t.Context())
		if used, limit, _ := g.Use(); used != 2 || limit != 2 {
			t.Fatalf("%d of %d", used, limit)
		}
		in := make(chan func(), 1)
		go func() {
			release, err := g.Acquire(t.Context())
			if err != nil {
				t.Error(err)
			}
			in <- release
		}()
		synctest.Wait()
		select {
		case <-in:
			t.Fatal("a third call was let in")
		default:
		}
		one()
		(<-in)()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		three, err := g.Acquire(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := g.Acquire(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		two()
		three()
		if used, _, _ := g.Use(); used != 0 {
			t.Errorf("%d places are not given back", used)
		}
	})
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 5, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, "-3": 0, "soon": 0, "999999": time.Hour,
		"Sat, 21 Nov 2026 05:00:30 GMT": 30 * time.Second, "Sat, 21 Nov 2026 04:00:00 GMT": 0,
	} {
		if got := RetryAfter(http.Header{"Retry-After": {text}}, now); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

func TestCauseHidesTheURL(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + l.Addr().String() + "/hook/hunter2"
	l.Close()
	_, err = get(t, guard(t, "loopback").Client(nil), url)
	if err == nil || !strings.Contains(err.Error(), "hunter2") {
		t.Fatalf("the library's error holds no URL any more: %v", err)
	}
	if text := Cause(fmt.Errorf("wrapped: %w", err)).Error(); strings.Contains(text, "hunter2") {
		t.Errorf("%s", text)
	}
}

// A host that is tried with TLS and without is told of once.
func TestDatabaseIsExplainedOnce(t *testing.T) {
	d, err := ParseDatabase("postgres://u@db.example/shop")
	if err != nil {
		t.Fatal(err)
	}
	gone := errors.New("no such host")
	err = d.Explain("connect to", errors.Join(gone, gone, errors.New("refused")))
	if err.Error() != "connect to db.example: no such host; refused" || !errors.Is(err, gone) {
		t.Errorf("got %q", err)
	}
}
