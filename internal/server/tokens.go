package server

import (
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/server/param"
)

// tokens answers GET /v1/tokens.
func (s *Server) tokens(w http.ResponseWriter, r *request) {
	_, err := param.Query(r.Request)
	var items []api.Token
	if err == nil {
		items, err = s.cfg.Gate.List(r.Context(), &r.who)
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.answer(w, r, http.StatusOK, whole(items))
}

// createToken answers POST /v1/tokens: the one answer that holds a token's text.
func (s *Server) createToken(w http.ResponseWriter, r *request) {
	var req api.TokenRequest
	err := s.commandBody(w, r, true, &req)
	var made api.NewToken
	if err == nil {
		made, err = s.cfg.Gate.Create(r.Context(), &r.who, &req)
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	s.answer(w, r, http.StatusCreated, made)
}

// revokeToken answers DELETE /v1/tokens/{token}.
func (s *Server) revokeToken(w http.ResponseWriter, r *request) {
	_, err := param.Query(r.Request)
	if err == nil {
		err = s.cfg.Gate.Revoke(r.Context(), &r.who, chi.URLParam(r.Request, "token"))
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// whoAmI answers GET /v1/whoami.
func (s *Server) whoAmI(w http.ResponseWriter, r *request) {
	if _, err := param.Query(r.Request); err != nil {
		s.fail(w, r, err)
		return
	}
	is := api.WhoAmI{Subject: r.actor().Subject, Tenant: r.who.Tenant, Role: r.who.Role.String(),
		Graphs: append([]string{}, r.who.Scope.Graphs...), ReadOnly: r.who.Scope.Reading, Session: r.who.Session != "",
		Permissions: []string{}}
	for _, p := range r.who.All() {
		is.Permissions = append(is.Permissions, p.String())
	}
	s.answer(w, r, http.StatusOK, is)
}

// ticket answers POST /v1/ws-tickets.
func (s *Server) ticket(w http.ResponseWriter, r *request) {
	err := s.commandBody(w, r, false, &nothing{})
	var made api.Ticket
	if err == nil {
		made, err = s.cfg.Gate.Ticket(r.Context(), &r.who)
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	s.answer(w, r, http.StatusCreated, made)
}
