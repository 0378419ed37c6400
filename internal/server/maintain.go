package server

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/server/param"
	"github.com/graphd/graphd/internal/server/wire"
)

// reset answers POST …/reset.
func (s *Server) reset(w http.ResponseWriter, r *request) {
	var req api.ResetRequest
	s.command(w, r, &req, func(ctx context.Context, g api.Ref) (api.GraphSummary, error) {
		return s.ctl.Reset(ctx, g, req.Confirm, who(r))
	})
}

// rewind answers POST …/accumulators/{accumulator}/rewind.
func (s *Server) rewind(w http.ResponseWriter, r *request) {
	_, name, err := accumulatorRef(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	var req api.RewindRequest
	s.command(w, r, &req, func(ctx context.Context, g api.Ref) (api.GraphSummary, error) {
		if req.Position == "" || len(req.Position) > param.MaxCursor {
			return api.GraphSummary{}, wire.Refuse(http.StatusUnprocessableEntity, api.CodeInvalidBody,
				fmt.Sprintf(
					`position must say where to go on: "start", or a position of the source, in at most %d bytes`,
					param.MaxCursor))
		}
		return s.ctl.Rewind(ctx, g, name, req.Position, req.Confirm, who(r))
	})
}

// backup answers POST /v1/backup with a copy of the store.
func (s *Server) backup(w http.ResponseWriter, r *request) {
	_, err := param.Query(r.Request)
	if err == nil {
		err = s.commandBody(w, r, false, &nothing{})
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	begun := false
	err = s.ctl.Backup(r.Context(), func(copied io.Reader, size int64) error {
		begun = true
		h := w.Header()
		h.Set("Content-Type", "application/vnd.sqlite3")
		h.Set("Content-Length", strconv.FormatInt(size, 10))
		h.Set("X-Content-Type-Options", "nosniff")
		_, err := io.Copy(w, copied)
		return err
	})
	switch {
	case err == nil:
	case begun: // too late for a word: the length tells the client that it is not whole
		s.cfg.Log.Warn("a backup was not received whole", slog.Any("err", err))
		panic(http.ErrAbortHandler)
	default:
		s.fail(w, r, err)
	}
}
