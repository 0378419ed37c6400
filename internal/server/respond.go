package server

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/graphd/graphd/internal/server/wire"
)

// answer encodes v and writes it.
func (s *Server) answer(w http.ResponseWriter, r *request, status int, v any) {
	raw, err := wire.Encode(v)
	if err != nil {
		s.fail(w, r, fmt.Errorf("encode the answer: %w", err))
		return
	}
	s.answerRaw(w, status, raw)
}

// answerRaw writes an answer that is JSON already.
func (s *Server) answerRaw(w http.ResponseWriter, status int, raw []byte) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(raw)))
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(raw) // a client that went away is no error of ours
}
