package server

import (
	"net/http"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/server/param"
)

// pushSocket answers GET /v1/ws/graphs/{graph}/accumulators/{accumulator}. What does not
// exist is told before the connection is upgraded.
func (s *Server) pushSocket(w http.ResponseWriter, r *request) {
	g, name, err := accumulatorRef(r)
	if err == nil {
		_, err = param.Query(r.Request)
	}
	if err == nil {
		_, err = s.ctl.Accumulator(r.Context(), g, name, "")
	}
	if err == nil {
		err = s.hub.Push(w, r.Request, g, name, &r.who)
	}
	if err != nil {
		s.fail(w, r, err)
	}
}

// reactorSocket answers GET /v1/ws/graphs/{graph}/reactor.
func (s *Server) reactorSocket(w http.ResponseWriter, r *request) {
	g, err := s.plain(r)
	if err == nil {
		_, err = s.ctl.Graph(r.Context(), g)
	}
	if err == nil {
		err = s.hub.Watch(w, r.Request, g, &r.who)
	}
	if err != nil {
		s.fail(w, r, err)
	}
}

// eventsSocket answers GET /v1/ws/events.
func (s *Server) eventsSocket(w http.ResponseWriter, r *request) {
	_, err := param.Query(r.Request)
	if err == nil {
		err = s.hub.Watch(w, r.Request, api.Ref{Tenant: r.who.Tenant}, &r.who)
	}
	if err != nil {
		s.fail(w, r, err)
	}
}
