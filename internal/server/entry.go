package server

import (
	"net/http"
	"slices"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/graphd/graphd/internal/access"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/audit"
	"github.com/graphd/graphd/internal/server/control"
	"github.com/graphd/graphd/internal/server/forward"
	"github.com/graphd/graphd/internal/server/param"
	"github.com/graphd/graphd/internal/server/wire"
)

// Gate knows who comes in.
type Gate = control.Gate

// Control is all the server needs of the daemon.
type Control = control.Control

// request is a request with whom it acts as. Handlers know the tenant from there alone.
type request struct {
	*http.Request
	who access.Principal
}

// handler answers a request. It is no http.HandlerFunc, so that it cannot be had without [access.Needs].
type handler = func(w http.ResponseWriter, r *request)

// route is a method and a path, and what answers it, which takes a permission.
type route struct {
	method, pattern string
	access.Guard[handler]
}

// enter lets those through to a route who may have it.
func (s *Server) enter(to *route) http.HandlerFunc {
	socket, owners := strings.HasPrefix(to.pattern, "/v1/ws/"), s.cfg.Members != nil && to.byOwner()
	return func(w http.ResponseWriter, plain *http.Request) {
		r := &request{Request: plain}
		_, taken := forward.Caller(plain.Context())
		if taken && !owners {
			s.notFound(w, plain)
			return
		}
		if to.Permission() != access.Public {
			err := s.identify(r, socket)
			if err == nil {
				err = s.arrivals.Request(r.Context(), &r.who)
			}
			if err != nil {
				s.fail(w, r, err)
				return
			}
			if socket || to.Permission() >= access.Operate { // what may change something; pushes go without
				r.Request = r.WithContext(audit.As(r.Context(), r.actor()))
			}
		}
		answer, ok := to.For(&r.who)
		if !ok {
			s.fail(w, r, wire.Forbidden(&r.who, to.Permission()))
			return
		}
		if owners && s.elsewhere(w, r, taken, socket) {
			return
		}
		answer(w, r)
	}
}

// identify finds whom r acts as: the one place where credentials and the tenant are read.
func (s *Server) identify(r *request, socket bool) (err error) {
	if who, taken := forward.Caller(r.Context()); taken { // by the member that has found it
		r.who = who
		return nil
	}
	c := access.Credentials{From: param.Host(r.Request), Session: s.pages.Session(r.Request)}
	if r.TLS != nil && len(r.TLS.VerifiedChains) > 0 {
		c.Chain = r.TLS.VerifiedChains[0]
	}
	if given := r.Header["Authorization"]; len(given) > 0 {
		c.Given = true
		scheme, token, ok := strings.Cut(given[0], " ")
		if ok && len(given) == 1 && strings.EqualFold(scheme, "Bearer") {
			c.Bearer = strings.TrimSpace(token)
		}
	}
	if c.Tenant, err = param.Tenant(r.Header); err != nil {
		return err
	}
	if socket && r.URL.RawQuery != "" { // a browser can send no header with a socket
		if values := r.URL.Query(); values.Has("ticket") {
			c.Ticket = values.Get("ticket")
			values.Del("ticket")
			without := *r.Request
			u := *r.URL
			u.RawQuery, without.URL = values.Encode(), &u
			r.Request = &without
		}
	}
	r.who, err = s.cfg.Gate.Enter(r.Context(), &c)
	return err
}

// actor is who sends the request, as the audit tells of it. Where it came from is the other end of the
// connection, whatever a header says.
func (r *request) actor() audit.Actor {
	a := audit.Actor{Tenant: r.who.Tenant, Subject: r.who.Subject, Token: r.who.Token, From: param.Host(r.Request)}
	if r.who.Role != access.NoRole {
		a.Role = r.who.Role.String()
	}
	if a.Subject == "" {
		a.Subject = "unknown@" + a.From
	}
	return a
}

// denied are the codes of what somebody may not do.
var denied = []string{api.CodeUnauthenticated, api.CodeInvalidToken, api.CodeInvalidTicket, api.CodeForbidden,
	api.CodeTenantNotFound, api.CodeLoginFailed}

// deny notes a denial for the audit, where code says that it is one.
func (s *Server) deny(r *request, code string) {
	if s.cfg.Trail == nil || !slices.Contains(denied, code) {
		return
	}
	operation := r.Method
	if route := chi.RouteContext(r.Context()); route != nil {
		operation += " " + route.RoutePattern()
	}
	s.cfg.Trail.Denied(r.actor(), operation, wire.Clip(chi.URLParam(r.Request, "graph")), code)
}

// unseen is the tenant of no graph: what a principal may not know of is looked for there, so that
// it is answered as what does not exist.
const unseen = ""
