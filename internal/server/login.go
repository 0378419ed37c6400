package server

import (
	"errors"
	"net/http"
	"time"

	"github.com/graphd/graphd/internal/access"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/issuer"
	"github.com/graphd/graphd/internal/server/page"
	"github.com/graphd/graphd/internal/server/param"
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
func (s *Server) loginPage(w http.ResponseWriter, _ *request) { page.Login(w, s.cfg.Gate.SignsOn()) }

// beginLogin answers POST /v1/login/oidc: the caller's browser is to go to the issuer.
func (s *Server) beginLogin(w http.ResponseWriter, r *request) {
	err := s.commandBody(w, r, false, &nothing{})
	var tenant, at, kept string
	if err == nil {
		tenant, err = param.Tenant(r.Header)
	}
	if err == nil {
		at, kept, err = s.cfg.Gate.Begin(r.Context(), tenant)
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	page.SetPending(w, kept, int(issuer.BeginLife.Seconds()))
	s.answer(w, r, http.StatusCreated, api.LoginBegun{URL: at})
}

// finishLogin answers GET /login/callback, where the issuer sends browsers back to. Where it leads from here hangs on
// nothing that the address says.
func (s *Server) finishLogin(w http.ResponseWriter, r *request) {
	c := access.Credentials{From: param.Host(r.Request)}
	text, made, who, err := s.cfg.Gate.Finish(r.Context(), &c, page.Pending(r.Request), r.URL.Query())
	r.who = who
	page.SetPending(w, "", -1)
	if err != nil {
		refused, ok := errors.AsType[*api.Error](err)
		if !ok {
			s.fail(w, r, err)
			return
		}
		s.refusals.Count(refused.Code)
		s.deny(r, refused.Code)
		page.Back(w, refused.Status, refused.Detail)
		return
	}
	page.SetCookie(w, text, int(time.Until(made.ExpiresAt).Seconds()))
	page.Back(w, http.StatusOK, made.Subject+" is logged in, tenant "+made.Tenant)
}
