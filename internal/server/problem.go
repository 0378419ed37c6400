package server

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"github.com/google/uuid"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/server/body"
	"github.com/graphd/graphd/internal/server/wire"
)

// fail answers err as a problem document (RFC 9457). What is not a refusal is
// logged here, once, and told to the client without its text.
func (s *Server) fail(w http.ResponseWriter, r *request, err error) {
	if e, ok := errors.AsType[*api.Error](err); ok {
		s.refusals.Count(e.Code)
		s.deny(r, e.Code)
		wire.WriteProblem(w, e, "")
		return
	}
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		s.refusals.Count(api.CodeTooLarge)
		wire.WriteProblem(w, body.TooLarge(tooLarge.Limit), "")
		return
	}
	if e := wire.StoreAway(err); e != nil {
		s.cfg.Log.Warn("a request is refused, for the store does not answer", slog.String("method", r.Method),
			slog.String("path", wire.Clip(r.URL.Path)), slog.Any("err", err))
		wire.WriteProblem(w, e, "")
		return
	}
	if errors.Is(err, context.DeadlineExceeded) {
		wire.WriteProblem(w, wire.Refuse(http.StatusServiceUnavailable, api.CodeTimeout,
			"the graph did not answer in time; try again"), "")
		return
	}
	if r.Context().Err() != nil { // the client has gone: nobody reads this, but the access log shows it
		wire.WriteProblem(w, wire.Refuse(http.StatusServiceUnavailable, api.CodeTimeout,
			"the request was cancelled"), "")
		return
	}
	instance := "urn:uuid:" + uuid.NewString()
	s.cfg.Log.Error("request failed", slog.String("method", r.Method), slog.String("path", wire.Clip(r.URL.Path)),
		slog.String("instance", instance), slog.Any("err", err))
	wire.WriteProblem(w, wire.Refuse(http.StatusInternalServerError, api.CodeInternal,
		"the daemon failed on this request; its log says why under the instance given here"), instance)
}
