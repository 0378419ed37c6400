package server

import (
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/graphd/graphd/internal/api"
)

// members answers GET /v1/members.
func (s *Server) members(w http.ResponseWriter, r *request) {
	_, err := query(r)
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
