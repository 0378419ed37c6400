package server

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"

	apidoc "github.com/graphd/graphd/api"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/server/wire"
)

// routes lists every route there is. A test holds them against api/openapi.yaml.
func (s *Server) routes() *chi.Mux {
	m := chi.NewMux()
	m.NotFound(s.notFound)
	m.MethodNotAllowed(s.methodNotAllowed)

	m.Get("/livez", s.livez)
	m.Get("/readyz", s.readyz)
	m.Get("/healthz", s.healthz)
	m.Get("/version", s.version)
	m.Get("/metrics", s.metrics)
	m.Get("/openapi.yaml", s.openapi)

	m.Get("/v1/tree", s.tree)
	m.Get("/v1/limits", s.limits)
	m.Get("/v1/graphs", s.graphs)
	m.Put("/v1/graphs/{graph}", s.applyGraph)
	m.Get("/v1/graphs/{graph}", s.graph)
	m.Delete("/v1/graphs/{graph}", s.deleteGraph)

	m.Get("/v1/graphs/{graph}/revisions", s.revisions)
	m.Get("/v1/graphs/{graph}/revisions/{revision}", s.revision)
	m.Post("/v1/graphs/{graph}/rollback", s.rollback)

	m.Get("/v1/graphs/{graph}/plan", s.plan)
	m.Get("/v1/graphs/{graph}/state", s.state)
	m.Get("/v1/graphs/{graph}/firings", s.firings)
	m.Get("/v1/graphs/{graph}/firings/{epoch}", s.firing)
	m.Get("/v1/graphs/{graph}/recovery-events", s.recoveryEvents)
	m.Get("/v1/graphs/{graph}/dead-letters", s.deadLetters)
	m.Post("/v1/graphs/{graph}/dead-letters/replay", s.letters(s.ctl.ReplayDeadLetters))
	m.Post("/v1/graphs/{graph}/dead-letters/discard", s.letters(s.ctl.DiscardDeadLetters))
	m.Post("/v1/graphs/{graph}/dead-letters/{letter}/replay", s.replayDeadLetter)
	m.Delete("/v1/graphs/{graph}/dead-letters/{letter}", s.discardDeadLetter)

	m.Post("/v1/graphs/{graph}/fire", s.fire)
	m.Post("/v1/graphs/{graph}/pause", s.pause)
	m.Post("/v1/graphs/{graph}/resume", s.resume)
	m.Post("/v1/graphs/{graph}/step", s.step)
	m.Post("/v1/graphs/{graph}/checkpoint", s.checkpoint)
	m.Post("/v1/graphs/{graph}/drain", s.drain)
	m.Post("/v1/graphs/{graph}/restart", s.restart)
	m.Post("/v1/graphs/{graph}/stop", s.part(s.ctl.StopPart))
	m.Post("/v1/graphs/{graph}/start", s.part(s.ctl.StartPart))
	m.Post("/v1/graphs/{graph}/skip-lost", s.skipLost)
	m.Post("/v1/graphs/{graph}/reset", s.reset)
	m.Post("/v1/graphs/{graph}/accumulators/{accumulator}/rewind", s.rewind)
	m.Post("/v1/backup", s.backup)

	m.Get("/v1/graphs/{graph}/accumulators", s.accumulators)
	m.Get("/v1/graphs/{graph}/accumulators/{accumulator}", s.accumulator)
	m.Post("/v1/graphs/{graph}/accumulators/{accumulator}/events", s.push)

	m.Get("/v1/ws/graphs/{graph}/accumulators/{accumulator}", s.pushSocket)
	m.Get("/v1/ws/graphs/{graph}/reactor", s.reactorSocket)
	m.Get("/v1/ws/events", s.eventsSocket)
	return m
}

// notFound answers a path that no route has, with a hint where one can be given.
func (s *Server) notFound(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	hint := "GET /openapi.yaml lists every route"
	switch {
	case later(path):
		hint = "this version does not have it yet; " + hint
	case len(path) > 1 && strings.HasSuffix(path, "/") && s.router.Match(chi.NewRouteContext(), r.Method,
		strings.TrimSuffix(path, "/")):
		hint = "leave the last slash out"
	case s.router.Match(chi.NewRouteContext(), r.Method, "/v1"+path):
		hint = "put /v1 before it"
	}
	s.fail(w, r, wire.Refuse(http.StatusNotFound, api.CodeNotFound, fmt.Sprintf("there is no route %s: %s",
		wire.Clip(path), hint)))
}

// later says whether a path belongs to a part that is designed but not in this version.
func later(path string) bool {
	for _, p := range []string{"/v1/jobs", "/v1/tenants", "/v1/tokens", "/v1/ws-tickets", "/v1/audit"} {
		if path == p || strings.HasPrefix(path, p+"/") {
			return true
		}
	}
	return false
}

// methodNotAllowed answers a path that has other methods.
func (s *Server) methodNotAllowed(w http.ResponseWriter, r *http.Request) {
	var allowed []string
	for _, m := range []string{http.MethodGet, http.MethodPut, http.MethodPost, http.MethodDelete} {
		if s.router.Match(chi.NewRouteContext(), m, r.URL.Path) {
			allowed = append(allowed, m)
			if m == http.MethodGet {
				allowed = append(allowed, http.MethodHead)
			}
		}
	}
	list := strings.Join(allowed, ", ")
	w.Header().Set("Allow", list)
	s.fail(w, r, wire.Refuse(http.StatusMethodNotAllowed, api.CodeMethodNotAllowed,
		fmt.Sprintf("%s is not for this route; it has %s", wire.Clip(r.Method), list)))
}

// openapi serves the document that describes all of this.
func (s *Server) openapi(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/yaml")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write(apidoc.OpenAPI())
}
