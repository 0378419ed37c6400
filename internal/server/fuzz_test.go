package server

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// FuzzPushBody: whatever is pushed, the answer is a result or a problem, and no event
// reaches the accumulator that was not in the body.
func FuzzPushBody(f *testing.F) {
	for _, s := range []string{`{"x":1}`, `[1,2,{"a":[]}]`, "1\n2\n", `[`, `[[[[`, "\xff", `{"a":1,"a":2}`,
		`{"filter":true}`, zip(`[1,2]`)} {
		f.Add([]byte(s), "application/json", "")
		f.Add([]byte(s), "application/x-ndjson", "k")
		f.Add([]byte(s), "", "")
	}
	ctl := newFake()
	s := newServer(f, ctl, Config{MaxBody: 1 << 16})
	f.Fuzz(func(t *testing.T, body []byte, contentType, key string) {
		if strings.Contains(string(body), "panic") {
			return
		}
		ctl.events = nil
		req := httptest.NewRequest("POST", events, strings.NewReader(string(body)))
		req.Header = http.Header{"Content-Type": {contentType}}
		if len(body) > 2 && body[0] == 0x1f && body[1] == 0x8b {
			req.Header.Set("Content-Encoding", "gzip")
		}
		if key != "" {
			req.Header["Idempotency-Key"] = []string{key}
		}
		x := exchangeOf(s, req)
		switch x.status {
		case 200, 400, 413, 422:
			x.code(t)
		default:
			t.Fatalf("%q answers %d: %s", body, x.status, x.body)
		}
		for _, e := range ctl.events {
			if req.Header.Get("Content-Encoding") == "" && !strings.Contains(string(body), e) {
				t.Fatalf("%q holds no event %q", body, e)
			}
		}
		if n := s.bodies.Used(); n != 0 {
			t.Fatalf("%d bytes of the budget are left taken", n)
		}
	})
}

// FuzzPath: whatever the path, the query and the headers, the answer is orderly.
func FuzzPath(f *testing.F) {
	for _, s := range []string{"/v1/graphs/g", "/v1/graphs/g/firings/12", "/v1/graphs/g/firings", "/v1/graphs/../g",
		"/v1//graphs", "/v1/graphs/g/accumulators/a/events", "/v1/ws/events",
		"/v1/graphs/%2e%2e", "/v1/graphs/g/dead-letters/x/replay"} {
		f.Add("GET", s, "limit=1&before=x", "default", `"3"`)
		f.Add("PUT", s, "dry_run=1", "", "*")
		f.Add("POST", s, "", "Ü", "")
		f.Add("DELETE", s, "state=keep", "a", "")
	}
	s := newServer(f, newFake(), Config{})
	f.Fuzz(func(t *testing.T, method, path, rawQuery, tenant, match string) {
		u, err := url.Parse("http://graphd" + path)
		if err != nil || u.Host != "graphd" {
			return
		}
		u.RawQuery = rawQuery
		req := &http.Request{Method: method, URL: u, Host: "graphd", Header: http.Header{}, Body: http.NoBody,
			RemoteAddr: "127.0.0.1:1"}
		if tenant != "" {
			req.Header["Graphd-Tenant"] = []string{tenant}
		}
		if match != "" {
			req.Header["If-Match"] = []string{match}
		}
		x := exchangeOf(s, req.WithContext(t.Context()))
		if x.status >= 500 || x.status < 200 {
			t.Fatalf("%s %s?%s answers %d: %s", method, path, rawQuery, x.status, x.body)
		}
		x.code(t)
	})
}
