package server

import (
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/access"
)

// TestPageIsServed: the page is there for everybody, at the address of every view; what is none of its files is not.
func TestPageIsServed(t *testing.T) {
	t.Parallel()
	w := newWorld()
	s, _, bearers := closedServer(t, w, w.metrics)
	for target, has := range map[string]string{"/": "<title>graphd</title>", "/graphs/nothing": "<title>graphd</title>",
		"/page/main.js": "import ", "/page/LICENSES.txt": "MIT",
		"/docs": "Getting started", "/docs/codes": `id="graph_not_found"`, "/docs/search.json": `"page":"why"`} {
		x := do(t, s, "GET", target, nil)
		if x.status != 200 || !strings.Contains(string(x.body), has) {
			t.Errorf("%s: got %d %s", target, x.status, x.body)
		}
		if csp := x.header.Get("Content-Security-Policy"); !strings.HasPrefix(csp, "default-src 'none'; ") {
			t.Errorf("%s: the policy is %q", target, csp)
		}
	}
	if x := do(t, s, "GET", "/page/nothing.js", nil); x.status != 404 || x.code(t) != "not_found" {
		t.Errorf("got %d %s", x.status, x.body)
	}
	for i := range bearers {
		b := &bearers[i]
		if b.role != access.AuthorRole || b.scope.Narrow() || b.text == "" {
			continue
		}
		x := do(t, s, "POST", "/v1/login", nil, "Authorization: Bearer "+b.text)
		cookie, _, _ := strings.Cut(x.header.Get("Set-Cookie"), ";")
		x = do(t, s, "GET", "/", nil, "Cookie: "+cookie, "Sec-Fetch-Site: none")
		if !strings.Contains(string(x.body), "data-session") {
			t.Errorf("%s: the page does not know that there is a session: %s", b.name, x.body)
		}
	}
}
