package server

import (
	"context"
	"net"
	"net/http"
	"strings"

	"github.com/graphd/graphd/internal/access"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/server/wire"
)

// Gate knows who comes in. A refusal is an *api.Error. Safe for concurrent use.
type Gate interface {
	// Enter is whom a request with these credentials acts as.
	Enter(ctx context.Context, c *access.Credentials) (access.Principal, error)
	// Still refuses one who has entered and may not stay.
	Still(ctx context.Context, who *access.Principal) error
	Keys
}

// Keys are tokens and tickets, as far as who may have to do with them.
type Keys interface {
	Create(ctx context.Context, who *access.Principal, q *api.TokenRequest) (api.NewToken, error)
	List(ctx context.Context, who *access.Principal) ([]api.Token, error)
	// Revoke ends a token; of another tenant it is not found.
	Revoke(ctx context.Context, who *access.Principal, id string) error
	// Login begins a browser's session as who, which text opens; Logout ends it.
	Login(who *access.Principal) (text string, made api.Session, err error)
	Logout(text string)
	// Ticket opens one socket as who, once.
	Ticket(who *access.Principal) (api.Ticket, error)
}

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
	socket := strings.HasPrefix(to.pattern, "/v1/ws/")
	return func(w http.ResponseWriter, plain *http.Request) {
		r := &request{Request: plain}
		if to.Permission() != access.Public {
			if err := s.identify(r, socket); err != nil {
				s.fail(w, r, err)
				return
			}
		}
		answer, ok := to.For(&r.who)
		if !ok {
			s.fail(w, r, wire.Forbidden(&r.who, to.Permission()))
			return
		}
		answer(w, r)
	}
}

// identify finds whom r acts as: the one place where credentials and the tenant are read.
func (s *Server) identify(r *request, socket bool) (err error) {
	c := access.Credentials{From: hostOf(r.Request), Session: s.pages.Session(r.Request)}
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
	if c.Tenant, err = namedTenant(r.Header); err != nil {
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

// namedTenant is the tenant that a request asks to speak for, "" where it names none.
func namedTenant(h http.Header) (string, error) {
	named := h["Graphd-Tenant"]
	switch {
	case len(named) == 0:
		return "", nil
	case len(named) > 1 || !validName(named[0]):
		return "", wire.Refuse(http.StatusBadRequest, api.CodeInvalidTenant,
			"the header Graphd-Tenant must be given once, with a name of the form "+nameForm)
	}
	return named[0], nil
}

// hostOf is where a request came from, without the port.
func hostOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return ""
	}
	return host
}

// unseen is the tenant of no graph: what a principal may not know of is looked for there, so that
// it is answered as what does not exist.
const unseen = ""
