package server

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/graphd/graphd/internal/server/wire"
)

// bigAnswer is where an answer no longer fits the socket's buffer for sure, so that a
// client that does not read would hold its goroutine; from there on a write has a deadline.
const bigAnswer = 64 << 10

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
	if len(raw) > bigAnswer {
		// A writer that knows no deadlines (a test's recorder) has nobody to wait for.
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(time.Minute))
	}
	w.WriteHeader(status)
	_, _ = w.Write(raw) // a client that went away is no error of ours
}
