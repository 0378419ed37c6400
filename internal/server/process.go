package server

import (
	"errors"
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/server/param"
	"github.com/graphd/graphd/internal/server/process"
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

// profile answers GET /debug/pprof/{profile}.
func (s *Server) profile(w http.ResponseWriter, r *request) {
	q := process.Asked{Name: chi.URLParam(r.Request, "profile"), By: who(r)}
	values, err := param.Query(r.Request, "debug", "seconds")
	if err == nil {
		q.Debug, err = param.Number(values, "debug", 0, 2)
	}
	if err == nil {
		q.Seconds, err = param.Number(values, "seconds", 1, process.MaxSeconds)
	}
	if err == nil {
		h := w.Header()
		h.Set("Content-Type", "application/octet-stream")
		if q.Debug > 0 {
			h.Set("Content-Type", "text/plain; charset=utf-8")
		}
		h.Set("X-Content-Type-Options", "nosniff")
		err = s.profiles.Write(r.Context(), w, q)
	}
	switch {
	case err == nil:
	case errors.Is(err, process.ErrGone):
		panic(http.ErrAbortHandler)
	default:
		s.fail(w, r, err)
	}
}
