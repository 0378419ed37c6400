package server

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"

	apidoc "github.com/graphd/graphd/api"
	"github.com/graphd/graphd/internal/access"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/server/wire"
)

// table lists every route there is, with the permission it takes. A test holds it against
// api/openapi.yaml.
func (s *Server) table() []route { return append(s.ofGraphs(), s.ofDaemon()...) }

// ofGraphs are the routes about graphs.
func (s *Server) ofGraphs() []route {
	const graph = "/v1/graphs/{graph}"
	needs := access.Needs[handler]
	return []route{
		{http.MethodGet, "/v1/graphs", needs(access.Read, s.graphs)},
		{http.MethodPut, graph, needs(access.Author, s.applyGraph)},
		{http.MethodGet, graph, needs(access.Read, s.graph)},
		{http.MethodDelete, graph, needs(access.Author, s.deleteGraph)},

		{http.MethodGet, graph + "/revisions", needs(access.Read, s.revisions)},
		{http.MethodGet, graph + "/revisions/{revision}", needs(access.Read, s.revision)},
		{http.MethodPost, graph + "/rollback", needs(access.Author, s.rollback)},

		{http.MethodGet, graph + "/plan", needs(access.Read, s.plan)},
		{http.MethodGet, graph + "/state", needs(access.Read, s.state)},
		{http.MethodGet, graph + "/firings", needs(access.Read, s.firings)},
		{http.MethodGet, graph + "/firings/{epoch}", needs(access.Read, s.firing)},
		{http.MethodGet, graph + "/recovery-events", needs(access.Read, s.recoveryEvents)},
		{http.MethodGet, graph + "/dead-letters", needs(access.Read, s.deadLetters)},
		{http.MethodPost, graph + "/dead-letters/replay", needs(access.Operate, s.letters(s.ctl.ReplayDeadLetters))},
		{http.MethodPost, graph + "/dead-letters/discard", needs(access.Operate, s.letters(s.ctl.DiscardDeadLetters))},
		{http.MethodPost, graph + "/dead-letters/{letter}/replay", needs(access.Operate, s.replayDeadLetter)},
		{http.MethodDelete, graph + "/dead-letters/{letter}", needs(access.Operate, s.discardDeadLetter)},

		{http.MethodPost, graph + "/fire", needs(access.Operate, s.fire)},
		{http.MethodPost, graph + "/pause", needs(access.Operate, s.pause)},
		{http.MethodPost, graph + "/resume", needs(access.Operate, s.resume)},
		{http.MethodPost, graph + "/step", needs(access.Operate, s.step)},
		{http.MethodPost, graph + "/checkpoint", needs(access.Operate, s.checkpoint)},
		{http.MethodPost, graph + "/drain", needs(access.Operate, s.drain)},
		{http.MethodPost, graph + "/restart", needs(access.Operate, s.restart)},
		{http.MethodPost, graph + "/stop", needs(access.Operate, s.part(s.ctl.StopPart))},
		{http.MethodPost, graph + "/start", needs(access.Operate, s.part(s.ctl.StartPart))},
		{http.MethodPost, graph + "/skip-lost", needs(access.Operate, s.skipLost)},
		{http.MethodPost, graph + "/reset", needs(access.Author, s.reset)},
		{http.MethodPost, graph + "/accumulators/{accumulator}/rewind", needs(access.Author, s.rewind)},

		{http.MethodGet, graph + "/accumulators", needs(access.Read, s.accumulators)},
		{http.MethodGet, graph + "/accumulators/{accumulator}", needs(access.Read, s.accumulator)},
		{http.MethodPost, graph + "/accumulators/{accumulator}/events", needs(access.Push, s.push)},

		{http.MethodGet, "/v1/ws/graphs/{graph}/accumulators/{accumulator}", needs(access.Push, s.pushSocket)},
		{http.MethodGet, "/v1/ws/graphs/{graph}/reactor", needs(access.Read, s.reactorSocket)},
		{http.MethodGet, "/v1/ws/events", needs(access.Read, s.eventsSocket)},
	}
}

// ofDaemon are the routes about the daemon and who uses it.
func (s *Server) ofDaemon() []route {
	needs := access.Needs[handler]
	return []route{
		{http.MethodGet, "/livez", needs(access.Public, s.livez)},
		{http.MethodGet, "/readyz", needs(access.Public, s.readyz)},
		{http.MethodGet, "/healthz", needs(access.Public, s.healthz)},
		{http.MethodGet, "/version", needs(access.Known, s.version)},
		{http.MethodGet, "/metrics", needs(access.Read, s.metrics)},
		{http.MethodGet, "/openapi.yaml", needs(access.Public, s.openapi)},

		{http.MethodGet, "/v1/tree", needs(access.Read, s.tree)},
		{http.MethodGet, "/v1/limits", needs(access.Read, s.limits)},
		{http.MethodPost, "/v1/backup", needs(access.Platform, s.backup)},

		{http.MethodGet, "/v1/log-level", needs(access.Platform, s.logLevel)},
		{http.MethodPut, "/v1/log-level", needs(access.Platform, s.setLogLevel)},

		{http.MethodGet, "/debug/pprof/{profile}", needs(access.Platform, s.profile)},

		{http.MethodGet, "/v1/members", needs(access.Read, s.members)},
		{http.MethodPost, "/v1/members/{member}/drain", needs(access.Platform, s.drainMember)},

		{http.MethodGet, "/v1/audit", needs(access.Administer, s.audit)},
		{http.MethodGet, "/v1/audit/chains", needs(access.Administer, s.auditChains)},
		{http.MethodGet, "/v1/tokens", needs(access.Administer, s.tokens)},
		{http.MethodPost, "/v1/tokens", needs(access.Administer, s.createToken)},
		{http.MethodDelete, "/v1/tokens/{token}", needs(access.Administer, s.revokeToken)},
		{http.MethodGet, "/login", needs(access.Public, s.loginPage)},
		{http.MethodGet, "/login/callback", needs(access.Public, s.finishLogin)},
		{http.MethodPost, "/v1/login", needs(access.Known, s.login)},
		{http.MethodPost, "/v1/login/oidc", needs(access.Public, s.beginLogin)},
		{http.MethodPost, "/v1/logout", needs(access.Public, s.logout)},
		{http.MethodPost, "/v1/ws-tickets", needs(access.Known, s.ticket)},
	}
}

// routes makes the router of the table.
func (s *Server) routes() *chi.Mux {
	m := chi.NewMux()
	m.NotFound(s.notFound)
	m.MethodNotAllowed(s.methodNotAllowed)
	for _, to := range s.table() {
		m.Method(to.method, to.pattern, s.enter(&to))
	}
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
	s.fail(w, &request{Request: r}, wire.Refuse(http.StatusNotFound, api.CodeNotFound,
		fmt.Sprintf("there is no route %s: %s", wire.Clip(path), hint)))
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
	s.fail(w, &request{Request: r}, wire.Refuse(http.StatusMethodNotAllowed, api.CodeMethodNotAllowed,
		fmt.Sprintf("%s is not for this route; it has %s", wire.Clip(r.Method), list)))
}

// openapi serves the document that describes all of this.
func (s *Server) openapi(w http.ResponseWriter, _ *request) {
	w.Header().Set("Content-Type", "application/yaml")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write(apidoc.OpenAPI())
}
