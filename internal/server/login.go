package server

import (
	"net/http"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/server/page"
)

// login answers POST /v1/login: the caller's browser is logged in as whom the request acts as.
func (s *Server) login(w http.ResponseWriter, r *request) {
	err := s.commandBody(w, r, false, &nothing{})
	var text string
	var made api.Session
	if err == nil {
		text, made, err = s.cfg.Gate.Login(r.Context(), &r.who)
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	page.SetCookie(w, text, int(time.Until(made.ExpiresAt).Seconds()))
	s.answer(w, r, http.StatusCreated, made)
}

// logout answers POST /v1/logout. It is for everybody: a session that has ended can be left too.
func (s *Server) logout(w http.ResponseWriter, r *request) {
	err := s.commandBody(w, r, false, &nothing{})
	if err == nil {
		err = s.cfg.Gate.Logout(r.Context(), s.pages.Session(r.Request))
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	page.SetCookie(w, "", -1)
	s.answer(w, r, http.StatusOK, api.Status{Status: "ok"})
}

// loginPage answers GET /login.
func (s *Server) loginPage(w http.ResponseWriter, _ *request) { page.Login(w) }
