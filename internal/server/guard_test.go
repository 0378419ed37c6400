package server

import (
	"bytes"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestHostAndOrigin: a request that may not be made is answered so whatever its route is, and before anything is done.
func TestHostAndOrigin(t *testing.T) {
	t.Parallel()
	s := newServer(t, newFake(), Config{Hosts: []string{"gw.internal"}, Origins: []string{"https://ops.example.com"}})
	for _, tt := range []struct {
		host, origin, site string
		status             int
	}{
		{"localhost:8080", "", "", 200},
		{"192.0.2.7:8080", "", "", 200},
		{"GW.internal:8080", "", "", 200},
		{"evil.example:8080", "", "", 421},
		{"evil.example:8080", "http://evil.example:8080", "same-origin", 421},
		{"localhost:8080", "http://localhost:8080", "", 200},
		{"localhost:8080", "https://localhost:8080", "", 403},
		{"localhost:8080", "http://evil.example", "", 403},
		{"localhost:8080", "null", "", 403},
		{"localhost:8080", "http://evil.example", "cross-site", 403},
		{"localhost:8080", "https://ops.example.com", "cross-site", 200},
	} {
		req := httptest.NewRequest("POST", "/v1/graphs/g/pause", nil)
		req.Host = tt.host
		if tt.origin != "" {
			req.Header.Set("Origin", tt.origin)
		}
		if tt.site != "" {
			req.Header.Set("Sec-Fetch-Site", tt.site)
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, req)
		if w.Code != tt.status {
			t.Errorf("host %s origin %s: got %d, want %d", tt.host, tt.origin, w.Code, tt.status)
		}
	}
}

// TestTrustedPage: a page of a listed origin can ask, read and change things, with a token, and a foreign one cannot.
func TestTrustedPage(t *testing.T) {
	t.Parallel()
	s := newServer(t, newFake(), Config{Origins: []string{"https://ops.example.com"}})
	send := func(method, path, origin, asks string) *httptest.ResponseRecorder {
		req := httptest.NewRequest(method, path, nil)
		req.Header.Set("Origin", origin)
		if asks != "" {
			req.Header.Set("Access-Control-Request-Method", asks)
			req.Header.Set("Access-Control-Request-Headers", "authorization,if-match")
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, req)
		return w
	}
	const ops, shown = "https://ops.example.com", "Access-Control-Allow-Origin"
	w := send("OPTIONS", "/v1/graphs/g", ops, "PUT")
	if w.Code != 204 || w.Header().Get(shown) != ops ||
		!strings.Contains(w.Header().Get("Access-Control-Allow-Methods"), "PUT") ||
		!strings.Contains(w.Header().Get("Access-Control-Allow-Headers"), "If-Match") {
		t.Errorf("a preflight is answered with %d and %v", w.Code, w.Header())
	}
	for path, status := range map[string]int{"/v1/graphs/g": 200, "/v1/graphs/none": 404} {
		w := send("GET", path, ops, "")
		if w.Code != status || w.Header().Get(shown) != ops ||
			!strings.Contains(strings.Join(w.Header()["Vary"], ","), "Origin") {
			t.Errorf("%s is answered with %d and %v", path, w.Code, w.Header())
		}
	}
	for method, asks := range map[string]string{"OPTIONS": "PUT", "GET": ""} {
		w := send(method, "/v1/graphs/g", "http://ops.example.com", asks)
		if w.Code != 403 || w.Header().Get(shown) != "" {
			t.Errorf("%s of a page that is not listed is answered with %d and %v", method, w.Code, w.Header())
		}
	}
}

// TestPanic: a handler's panic is a 500, logged, and the server goes on.
func TestPanic(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s := newServer(t, newFake(), Config{Log: textLog(&log)})
	x := exchangeOf(s, httptest.NewRequest("POST", events, strings.NewReader(`{"panic":true}`)))
	if x.status != 500 || x.code(t) != "internal" {
		t.Errorf("got %d %s", x.status, x.body)
	}
	if !strings.Contains(log.String(), "told to") || !strings.Contains(log.String(), "fake_test.go") {
		t.Errorf("the log lacks the panic and its stack:\n%s", &log)
	}
}

// TestAccessLog: the query never gets into the log.
func TestAccessLog(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s := newServer(t, newFake(), Config{Log: textLog(&log)})
	do(t, s, "GET", "/v1/graphs/g/state?key=secret", nil)
	if line := log.String(); !strings.Contains(line, "path=/v1/graphs/g/state status=200 bytes=") ||
		strings.Contains(line, "secret") {
		t.Errorf("got %s", line)
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	if err := (&Config{}).Validate(); err != nil {
		t.Errorf("the zero config: %v", err)
	}
	for _, c := range []Config{{MaxBody: -1}, {MaxDepth: 5000}, {Origins: []string{"ops.example.com"}},
		{Origins: []string{"https://x/y"}}, {PingInterval: -1}} {
		if _, err := New(newFake(), c); err == nil {
			t.Errorf("%+v is accepted", c)
		}
	}
}
