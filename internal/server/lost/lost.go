// Package lost is what to say to who has lost the way: to a path without a route, and to a route without the method.
package lost

import (
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"
)

// Hint says where a request may have wanted to go that m has no route for.
func Hint(m *chi.Mux, method, path string) string {
	const all = "GET /openapi.yaml lists every route"
	there := func(path string) bool { return m.Match(chi.NewRouteContext(), method, path) }
	switch {
	case later(path):
		return "this version does not have it yet; " + all
	case len(path) > 1 && strings.HasSuffix(path, "/") && there(strings.TrimSuffix(path, "/")):
		return "leave the last slash out"
	case there("/v1" + path):
		return "put /v1 before it"
	}
	return all
}

// later says whether a path belongs to a part that is designed but not in this version.
func later(path string) bool {
	for _, p := range []string{"/v1/jobs", "/v1/tenants"} {
		if path == p || strings.HasPrefix(path, p+"/") {
			return true
		}
	}
	return false
}

// Methods are those that m has for a path.
func Methods(m *chi.Mux, path string) (allowed []string) {
	for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodPost, http.MethodDelete} {
		if !m.Match(chi.NewRouteContext(), method, path) {
			continue
		}
		allowed = append(allowed, method)
		if method == http.MethodGet {
			allowed = append(allowed, http.MethodHead)
		}
	}
	return allowed
}
