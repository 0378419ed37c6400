package server

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/graphd/graphd/internal/access"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/server/lost"
	"github.com/graphd/graphd/internal/server/param"
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

		{http.MethodGet, graph + "/revisions", needs(access.Read, get(s, param.None, s.revisions))},
		{http.MethodGet, graph + "/revisions/{revision}", needs(access.Read, s.revision)},
		{http.MethodPost, graph + "/rollback", needs(access.Author, s.rollback)},
		{http.MethodPost, graph + "/test", needs(access.Author, posted(s, declared, s.ctl.Test))},
		{http.MethodPost, graph + "/complete", needs(access.Author, posted(s, declared, s.ctl.Complete))},

		{http.MethodGet, graph + "/plan", needs(access.Read, s.plan)},
		{http.MethodGet, graph + "/state", needs(access.Read, s.state)},
		{http.MethodGet, graph + "/keys", needs(access.Read, get(s, param.Keys, s.ctl.Keys))},
		{http.MethodGet, graph + "/firings", needs(access.Read, s.firings)},
		{http.MethodGet, graph + "/firings/{epoch}", needs(access.Read, s.firing)},
		{http.MethodGet, graph + "/why", needs(access.Read, get(s, param.Why, s.ctl.Why))},
		{http.MethodGet, graph + "/why-not", needs(access.Read, get(s, param.WhyNot, s.ctl.WhyNot))},
		{http.MethodGet, graph + "/recovery-events", needs(access.Read, s.recoveryEvents)},
		{http.MethodGet, graph + "/dead-letters", needs(access.Read, s.deadLetters)},
		{http.MethodPost, graph + "/dead-letters/replay", needs(access.Operate, s.letters(s.ctl.ReplayDeadLetters))},
		{http.MethodPost, graph + "/dead-letters/discard", needs(access.Operate, s.letters(s.ctl.DiscardDeadLetters))},
		{http.MethodPost, graph + "/dead-letters/{letter}/replay", needs(access.Operate, s.replayDeadLetter)},
		{http.MethodDelete, graph + "/dead-letters/{letter}", needs(access.Operate, s.discardDeadLetter)},

		{http.MethodPost, graph + "/fire", needs(access.Operate, posted(s, graphRef, s.fire))},
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

		{http.MethodGet, graph + "/accumulators", needs(access.Read, get(s, param.None, s.accumulators))},
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
		{http.MethodGet, "/", needs(access.Public, s.index)},
		{http.MethodGet, "/graphs/{graph}", needs(access.Public, s.index)},
		{http.MethodGet, "/page/{file}", needs(access.Public, s.file)},
		{http.MethodGet, "/docs", needs(access.Public, s.manual)},
		{http.MethodGet, "/docs/{page}", needs(access.Public, s.manual)},
		{http.MethodPost, "/mcp", needs(access.Known, s.agent)},
		{http.MethodGet, "/login", needs(access.Public, s.loginPage)},
		{http.MethodGet, "/login/callback", needs(access.Public, s.finishLogin)},
		{http.MethodPost, "/v1/login", needs(access.Known, s.login)},
		{http.MethodPost, "/v1/login/oidc", needs(access.Public, s.beginLogin)},
		{http.MethodPost, "/v1/logout", needs(access.Public, s.logout)},
		{http.MethodGet, "/v1/whoami", needs(access.Known, s.whoAmI)},
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
	s.fail(w, &request{Request: r}, wire.Refuse(http.StatusNotFound, api.CodeNotFound,
		fmt.Sprintf("there is no route %s: %s", wire.Clip(r.URL.Path), lost.Hint(s.router, r.Method, r.URL.Path))))
}

// methodNotAllowed answers a path that has other methods.
func (s *Server) methodNotAllowed(w http.ResponseWriter, r *http.Request) {
	list := strings.Join(lost.Methods(s.router, r.URL.Path), ", ")
	w.Header().Set("Allow", list)
	s.fail(w, &request{Request: r}, wire.Refuse(http.StatusMethodNotAllowed, api.CodeMethodNotAllowed,
		fmt.Sprintf("%s is not for this route; it has %s", wire.Clip(r.Method), list)))
}
