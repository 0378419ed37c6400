package server

import (
	"net/http"

	"github.com/graphd/graphd/internal/api"
)

// pushSocket answers GET /v1/ws/graphs/{graph}/accumulators/{accumulator}. What does not
// exist is told before the connection is upgraded.
func (s *Server) pushSocket(w http.ResponseWriter, r *http.Request) {
	g, name, err := accumulatorRef(r)
	if err == nil {
		_, err = query(r)
	}
	if err == nil {
		_, err = s.ctl.Accumulator(r.Context(), g, name, "")
	}
	if err == nil {
		err = s.hub.Push(w, r, g, name)
	}
	if err != nil {
		s.fail(w, r, err)
	}
}

// reactorSocket answers GET /v1/ws/graphs/{graph}/reactor.
func (s *Server) reactorSocket(w http.ResponseWriter, r *http.Request) {
	g, err := s.plain(r)
	if err == nil {
		_, err = s.ctl.Graph(r.Context(), g)
	}
	if err == nil {
		err = s.hub.Watch(w, r, g, who(r))
	}
	if err != nil {
		s.fail(w, r, err)
	}
}

// eventsSocket answers GET /v1/ws/events.
func (s *Server) eventsSocket(w http.ResponseWriter, r *http.Request) {
	tenant, err := tenantOf(r)
	if err == nil {
		_, err = query(r)
	}
	if err == nil {
		err = s.hub.Watch(w, r, api.Ref{Tenant: tenant}, who(r))
	}
	if err != nil {
		s.fail(w, r, err)
	}
}
