package server

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"github.com/go-chi/chi/v5"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/server/param"
	"github.com/graphd/graphd/internal/server/wire"
)

// answerDocument writes a declaration as it was sent, or err.
func (s *Server) answerDocument(w http.ResponseWriter, r *request, v *api.Revision, err error) {
	if err != nil {
		s.fail(w, r, err)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "application/yaml")
	h.Set("Content-Length", strconv.Itoa(len(v.Declaration)))
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("ETag", wire.ETag(v.Revision))
	_, _ = w.Write([]byte(v.Declaration)) // a client that went away is no error of ours
}

// revisions answers GET …/revisions.
func (s *Server) revisions(ctx context.Context, g api.Ref, _ struct{}) (api.Page[api.Revision], error) {
	return s.ctl.Revisions(ctx, g)
}

// revision answers GET …/revisions/{revision}.
func (s *Server) revision(w http.ResponseWriter, r *request) {
	g, err := s.plain(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	text := chi.URLParam(r.Request, "revision")
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		s.fail(w, r, wire.Refuse(http.StatusBadRequest, api.CodeInvalidParameter,
			fmt.Sprintf("a revision is a number from 1, and %q is none", wire.Clip(text))))
		return
	}
	w.Header().Add("Vary", "Accept")
	found, err := s.ctl.Revision(r.Context(), g, n)
	switch {
	case err != nil:
		s.fail(w, r, err)
	case wire.WantsDocument(r.Header):
		s.answerDocument(w, r, &found, nil)
	default:
		s.answer(w, r, http.StatusOK, &found)
	}
}

// rollback answers POST …/rollback.
func (s *Server) rollback(w http.ResponseWriter, r *request) {
	g, err := graphRef(r)
	var req api.RollbackRequest
	if err == nil {
		err = s.commandBody(w, r, false, &req)
	}
	c := api.Change{DryRun: req.DryRun, By: param.Author(r.Request, &r.who), Sees: r.who.Sees,
		Reads: r.who.Reads}
	if err == nil {
		c.IfMatch, err = wire.IfMatch(r.Header)
	}
	revision := int64(0)
	if err == nil && req.Revision != nil {
		if revision = *req.Revision; revision < 1 {
			err = wire.Refuse(http.StatusUnprocessableEntity, api.CodeInvalidBody,
				fmt.Sprintf("revision is %d, and must be a number from 1", revision))
		}
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	c.IfMatch = max(0, c.IfMatch) // whatever revision there is
	result, err := s.ctl.Rollback(r.Context(), g, revision, c)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.answerApplied(w, r, &result)
}
