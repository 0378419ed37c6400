package server

import (
	"net/http"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/server/param"
)

// logLevel answers GET /v1/log-level.
func (s *Server) logLevel(w http.ResponseWriter, r *request) {
	_, err := param.Query(r.Request)
	var level api.LogLevel
	if err == nil {
		level, err = s.log.Level()
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.answer(w, r, http.StatusOK, level)
}

// setLogLevel answers PUT /v1/log-level.
func (s *Server) setLogLevel(w http.ResponseWriter, r *request) {
	var req struct {
		Level string `json:"level"`
	}
	err := s.commandBody(w, r, true, &req)
	var level api.LogLevel
	if err == nil {
		level, err = s.log.Set(r.Context(), req.Level, who(r))
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.answer(w, r, http.StatusOK, level)
}
