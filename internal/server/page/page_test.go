package page

import (
	"net/http/httptest"
	"testing"
)

func TestKnown(t *testing.T) {
	t.Parallel()
	r, err := New([]string{"Gw.internal"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]bool{
		"localhost": true, "LOCALHOST:8080": true, "gw.internal:80": true, "127.0.0.1:8080": true, "10.1.2.3": true,
		"[::1]:8080": true, "[::1]": true, "[fe80::1%eth0]:80": true,
		"": false, "evil.example": false, "gw.internal.evil.example": false, "localhost.evil.example": false,
		"127.0.0.1.nip.example:8080": false, "0x7f.1": false, "x@localhost": false,
	} {
		if got := r.Known(host); got != want {
			t.Errorf("%q: got %t", host, got)
		}
	}
}

func TestForeign(t *testing.T) {
	t.Parallel()
	r, err := New(nil, []string{"https://Ops.example.com:443"})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		method, origin, site, mode, upgrade string
		foreign, followed                   bool
	}{
		{method: "POST"},
		{method: "GET", site: "none", mode: "navigate", followed: true},
		{method: "GET", site: "cross-site", mode: "navigate", foreign: true, followed: true},
		{method: "POST", site: "cross-site", mode: "navigate", foreign: true}, // a form
		{method: "GET", site: "cross-site", mode: "no-cors", foreign: true},   // a picture
		{method: "GET", site: "same-site", mode: "websocket", upgrade: "websocket", foreign: true},
		{method: "GET", site: "cross-site", mode: "navigate", upgrade: "websocket", foreign: true},
		{method: "POST", origin: "http://example.com"},
		{method: "POST", origin: "https://example.com", foreign: true},
		{method: "POST", origin: "http://example.com:81", foreign: true},
		{method: "POST", origin: "https://example.com", site: "same-origin"}, // TLS ends before the daemon
		{method: "POST", origin: "https://ops.example.com", site: "cross-site"},
		{method: "POST", origin: "https://ops.example.com:8443", site: "cross-site", foreign: true},
	} {
		req := httptest.NewRequest(tt.method, "/", nil)
		for name, value := range map[string]string{"Origin": tt.origin, "Sec-Fetch-Site": tt.site,
			"Sec-Fetch-Mode": tt.mode, "Upgrade": tt.upgrade} {
			if value != "" {
				req.Header.Set(name, value)
			}
		}
		if foreign, followed := r.Foreign(req), Followed(req); foreign != tt.foreign || followed != tt.followed {
			t.Errorf("%+v: foreign %t, followed %t", tt, foreign, followed)
		}
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	for _, host := range []string{"", "a:80", "http://a", "*.example.com", "a b"} {
		if _, err := New([]string{host}, nil); err == nil {
			t.Errorf("the host %q is taken", host)
		}
	}
	for _, origin := range []string{"", "null", "ops.example.com", "https://x/y", "https://x/", "https://a@x",
		"ftp://x", "*"} {
		if _, err := New(nil, []string{origin}); err == nil {
			t.Errorf("the origin %q is taken", origin)
		}
	}
}
