package server

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/server/once"
	"github.com/graphd/graphd/internal/server/param"
	"github.com/graphd/graphd/internal/server/wire"
)

// livez says that the process answers, and nothing more: a restart would not fix what is wrong elsewhere.
func (s *Server) livez(w http.ResponseWriter, r *request) {
	s.answer(w, r, http.StatusOK, api.Status{Status: "ok"})
}

// readyz says whether the daemon takes work. One sick graph does not count (it has its own health).
func (s *Server) readyz(w http.ResponseWriter, r *request) {
	if err := s.ready(r); err != nil {
		s.fail(w, r, err)
		return
	}
	s.answer(w, r, http.StatusOK, s.status("ready"))
}

// healthz is readyz under the name that most probes look for.
func (s *Server) healthz(w http.ResponseWriter, r *request) {
	if err := s.ready(r); err != nil {
		s.fail(w, r, err)
		return
	}
	s.answer(w, r, http.StatusOK, s.status("ok"))
}

// status is the answer of one that takes work, with what is to be looked after before it does not.
func (s *Server) status(word string) api.Status {
	st := api.Status{Status: word, Uptime: time.Since(s.started).Seconds()}
	if s.cfg.Warnings != nil {
		st.Warnings = s.cfg.Warnings()
	}
	return st
}

func (s *Server) ready(r *request) error {
	if s.stopping.Load() {
		return wire.Refuse(http.StatusServiceUnavailable, api.CodeShuttingDown, "the daemon is shutting down")
	}
	err := s.readiness.Of(r.Context(), s.ctl.Ready)
	if _, ok := errors.AsType[*api.Error](err); err == nil || ok {
		return err
	}
	return wire.Refuse(http.StatusServiceUnavailable, api.CodeNotReady, err.Error())
}

// version answers GET /version.
func (s *Server) version(w http.ResponseWriter, r *request) {
	s.answer(w, r, http.StatusOK, s.cfg.Version)
}

// metrics answers GET /metrics with the handler from the configuration.
func (s *Server) metrics(w http.ResponseWriter, r *request) {
	if s.cfg.Metrics == nil {
		s.fail(w, r, wire.Refuse(http.StatusNotFound, api.CodeNotFound, "this daemon was built without metrics"))
		return
	}
	if r.who.SeesAll() {
		s.cfg.Metrics(nil).ServeHTTP(w, r.Request)
		return
	}
	s.cfg.Metrics(func(tenant, graph string) bool {
		return tenant == r.who.Tenant && r.who.Sees(graph)
	}).ServeHTTP(w, r.Request)
}

// tree answers GET /v1/tree.
func (s *Server) tree(w http.ResponseWriter, r *request) {
	if _, err := param.Query(r.Request); err != nil {
		s.fail(w, r, err)
		return
	}
	nodes := s.ctl.Tree(r.Context())
	if !r.who.SeesAll() {
		nodes = slices.DeleteFunc(nodes, func(n api.TreeNode) bool { return !r.sees(n.Path) })
	}
	s.answer(w, r, http.StatusOK, whole(nodes))
}

// sees says whether a path of the tree, "graphd/TENANT/GRAPH/…", is of a graph that the caller may know of.
func (r *request) sees(path string) bool {
	parts := strings.SplitN(path, "/", 4)
	return len(parts) > 2 && parts[1] == r.who.Tenant && r.who.Sees(parts[2])
}

// limits answers GET /v1/limits: the engine's limits and the server's own.
func (s *Server) limits(w http.ResponseWriter, r *request) {
	if _, err := param.Query(r.Request); err != nil {
		s.fail(w, r, err)
		return
	}
	all := s.Limits(r.Context())
	if !r.who.SeesAll() { // the use is that of all tenants
		for i := range all {
			all[i].Used = nil
		}
	}
	for _, u := range s.cfg.Quotas.Uses(r.who.Tenant) {
		all = append(all, u.Told())
	}
	s.answer(w, r, http.StatusOK, whole(all))
}

// Limits are the engine's limits and the server's own.
func (s *Server) Limits(ctx context.Context) []api.Limit {
	keyBytes := s.idem.Used()
	own := []api.Limit{
		{Name: "request_body_bytes", Limit: s.cfg.MaxBody, Unit: "bytes"},
		{Name: "request_bodies_bytes", Limit: s.cfg.MaxBodies, Used: new(s.bodies.Used()), Unit: "bytes"},
		{Name: "json_depth", Limit: int64(s.cfg.MaxDepth), Unit: "levels"},
		{Name: "websocket_connections", Limit: int64(s.cfg.MaxSockets), Used: new(s.hub.Open()), Unit: "connections"},
		{Name: "websocket_frames_per_second", Limit: int64(s.cfg.FramesPerSecond), Unit: "frames/s"},
		{Name: "idempotency_keys_per_accumulator", Limit: once.MaxPerAccumulator, Unit: "keys"},
		{Name: "idempotency_bytes", Limit: once.MaxBytes, Used: new(int64(keyBytes)), Unit: "bytes"},
	}
	return slices.Concat(s.ctl.Limits(ctx), s.arrivals.Limits(), own, s.cfg.Members.Limits())
}
