package server

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"

	"github.com/go-chi/chi/v5"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/server/forward"
	"github.com/graphd/graphd/internal/server/param"
	"github.com/graphd/graphd/internal/server/wire"
)

// members answers GET /v1/members.
func (s *Server) members(w http.ResponseWriter, r *request) {
	_, err := param.Query(r.Request)
	var all []api.Member
	if err == nil {
		all, err = s.ctl.ListMembers(r.Context())
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	for i := range all {
		all[i].Narrow(func(tenant, graph string) bool {
			return r.who.SeesAll() || tenant == r.who.Tenant && r.who.Sees(graph)
		})
	}
	s.answer(w, r, http.StatusOK, whole(all))
}

// drainMember answers POST /v1/members/{member}/drain.
func (s *Server) drainMember(w http.ResponseWriter, r *request) {
	var req api.DrainRequest
	err := s.commandBody(w, r, false, &req)
	if err == nil {
		err = s.ctl.DrainMember(r.Context(), chi.URLParam(r.Request, "member"), !req.Undo, who(r))
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// byOwner says that a route is about what the member alone has that runs the graph: the rest stands in the store,
// or is known to all.
func (to *route) byOwner() bool {
	rest, graphs := strings.CutPrefix(to.pattern, "/v1/graphs/{graph}")
	switch {
	case strings.HasPrefix(to.pattern, "/v1/ws/graphs/"):
		return true
	case !graphs:
		return false
	case to.method == http.MethodGet:
		return rest == "" || rest == "/state" || rest == "/keys" || strings.HasPrefix(rest, "/accumulators")
	}
	return to.method == http.MethodPost && rest != "/rollback" && rest != "/test" && rest != "/complete"
}

// elsewhere forwards a request whose graph another member runs, and answers it; one that was taken from another
// member goes no further. A graph that the caller may not know of is looked for nowhere.
func (s *Server) elsewhere(w http.ResponseWriter, r *request, taken, socket bool) (answered bool) {
	g, err := graphRef(r)
	if err != nil || g.Tenant == unseen {
		return false
	}
	switch {
	case taken:
		if answered = s.cfg.Members.Elsewhere(g); answered {
			err = forward.Moved(g)
		}
	case socket:
		answered, err = s.cfg.Members.Socket(w, r.Request, g, &r.who, param.Host(r.Request), s.cfg.Gate.Still)
	default:
		answered, err = s.cfg.Members.Forward(w, r.Request, g, &r.who, param.Host(r.Request))
	}
	if err != nil {
		s.fail(w, r, err)
	}
	return answered
}

// fromMember answers a request that another member has forwarded.
func (s *Server) fromMember(w http.ResponseWriter, r *http.Request) {
	rw := &wire.Response{ResponseWriter: w, Stall: s.cfg.Arrivals.WriteTimeout}
	defer s.recoverPanic(rw, r)
	taken, err := forward.Taken(r)
	if err != nil {
		s.fail(rw, &request{Request: r}, wire.Refuse(http.StatusBadRequest, api.CodeInvalidParameter, err.Error()))
		return
	}
	s.router.ServeHTTP(rw, taken)
}

// serveMembers answers other members until Shutdown; wait joins it.
func (s *Server) serveMembers(ctx context.Context) (wait func()) {
	if s.peers == nil {
		return func() {}
	}
	s.peers.BaseContext = func(net.Listener) context.Context { return ctx }
	var all sync.WaitGroup
	all.Go(func() {
		if err := s.peers.ServeTLS(s.cfg.Members.Listener(), "", ""); !errors.Is(err, http.ErrServerClosed) {
			s.cfg.Log.Error("requests of other members are taken no more", "err", err)
		}
	})
	return all.Wait
}
