package server

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/access"
	"github.com/graphd/graphd/internal/server/page"
)

// TestLogin: a session's cookie opens what its token does, for the daemon's own pages alone, until the logout.
func TestLogin(t *testing.T) {
	t.Parallel()
	w := newWorld()
	s, _, bearers := closedServer(t, w, w.metrics)
	for i := range bearers {
		b := &bearers[i]
		if b.role != access.AuthorRole || b.scope.Narrow() {
			continue
		}
		req := httptest.NewRequestWithContext(t.Context(), "POST", "/v1/login", nil)
		b.show(req)
		x := send(t, s, req)
		set := x.header.Get("Set-Cookie")
		cookie, rest, _ := strings.Cut(set, ";")
		for _, want := range []string{"Path=/", "HttpOnly", "Secure", "SameSite=Strict"} {
			if !strings.Contains(rest, want) {
				t.Errorf("%s: the cookie is %s", b.name, rest)
			}
		}
		if x.status != http.StatusCreated || !strings.HasPrefix(cookie, "__Host-") || strings.Contains(set, "Domain") ||
			strings.Contains(string(x.body), strings.TrimPrefix(cookie, page.CookieName+"=")) {
			t.Errorf("%s: got %d %s", b.name, x.status, x.body)
		}
		ask := func(method, path string, headers ...string) int {
			t.Helper()
			return do(t, s, method, path, nil, append(headers, "Cookie: "+cookie)...).status
		}
		const pause, same = "/v1/graphs/mine_a/pause", "Sec-Fetch-Site: same-origin"
		for _, tt := range []struct {
			what      string
			got, want int
		}{ // in this order
			{"its page reads", ask("GET", "/v1/graphs", same), 200},
			{"its page asks who that is", ask("GET", "/v1/whoami", same), 200},
			{"its page asks whether that is somebody else", ask("GET", "/v1/whoami?role=viewer", same), 400},
			{"its page changes", ask("POST", pause, same), 200},
			{"an old browser's page", ask("POST", pause, "Origin: http://example.com"), 200},
			{"who types the address", ask("GET", "/v1/graphs", "Sec-Fetch-Site: none"), 200},
			{"a POST out of nowhere", ask("POST", pause), 401},
			{"a POST of no page", ask("POST", pause, "Sec-Fetch-Site: none"), 401},
			{"a page of the same site", ask("GET", "/v1/graphs", "Sec-Fetch-Site: same-site"), 403},
			{"a foreign page", ask("POST", pause, "Sec-Fetch-Site: cross-site"), 403},
			{"a foreign link", ask("GET", "/v1/graphs", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate"), 401},
			{"a foreign tenant", ask("GET", "/v1/graphs", same, "Graphd-Tenant: other"), 404},
			{"a foreign logout", ask("POST", "/v1/logout", "Sec-Fetch-Site: cross-site"), 403},
			{"a logout out of nowhere", ask("POST", "/v1/logout"), 200},
			{"its page still", ask("GET", "/v1/graphs", same), 200},
			{"the logout", ask("POST", "/v1/logout", same), 200},
		} {
			if tt.got != tt.want {
				t.Errorf("%s, %s: got %d, want %d", b.name, tt.what, tt.got, tt.want)
			}
		}
		if got := ask("GET", "/v1/graphs", same); got != http.StatusUnauthorized {
			t.Errorf("%s: after the logout: %d", b.name, got)
		}
	}
}
