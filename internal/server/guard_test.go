package server

import (
	"bytes"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestHostAndOrigin(t *testing.T) {
	t.Parallel()
	s := newServer(t, newFake(), Config{
		Hosts: []string{"localhost", "::1"}, Origins: []string{"https://ops.example.com"},
	})
	tests := []struct {
		host, origin, site string
		status             int
	}{
		{"localhost:8080", "", "", 200},
		{"LOCALHOST", "", "", 200},
		{"[::1]:8080", "", "", 200},
		{"evil.example:8080", "", "", 421},
		{"localhost:8080", "http://localhost:8080", "", 200},
		{"localhost:8080", "http://evil.example", "", 403},
		{"localhost:8080", "http://evil.example", "cross-site", 403},
		{"localhost:8080", "https://ops.example.com", "cross-site", 200},
	}
	for _, tt := range tests {
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
