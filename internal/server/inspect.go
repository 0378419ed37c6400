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

// plan answers GET …/plan.
func (s *Server) plan(w http.ResponseWriter, r *request) {
	g, err := s.plain(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	plan, err := s.ctl.Plan(r.Context(), g)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.answerRaw(w, http.StatusOK, plan)
}

// state answers GET …/state.
func (s *Server) state(w http.ResponseWriter, r *request) {
	g, err := graphRef(r)
	var key string
	var shard *int
	if err == nil {
		key, shard, err = param.OfKey(r.Request)
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	var state api.State
	if shard != nil {
		state, err = s.ctl.ShardState(r.Context(), g, *shard)
	} else {
		state, err = s.ctl.State(r.Context(), g, key)
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.answer(w, r, http.StatusOK, state)
}

// firings answers GET …/firings.
func (s *Server) firings(w http.ResponseWriter, r *request) {
	serveList(s, w, r, param.MaxPlaces, s.ctl.Firings, "key", "shard")
}

// recoveryEvents answers GET …/recovery-events.
func (s *Server) recoveryEvents(w http.ResponseWriter, r *request) {
	serveList(s, w, r, param.MaxCursor, s.ctl.RecoveryEvents)
}

// firing answers GET …/firings/{epoch}.
func (s *Server) firing(w http.ResponseWriter, r *request) {
	g, at, err := shardRef(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	shard := 0
	if at != nil {
		shard = *at
	}
	text := chi.URLParam(r.Request, "epoch")
	epoch, err := strconv.ParseInt(text, 10, 64)
	if err != nil || epoch < 0 {
		s.fail(w, r, wire.Refuse(http.StatusBadRequest, api.CodeInvalidParameter,
			fmt.Sprintf("an epoch is a number, and %q is none", wire.Clip(text))))
		return
	}
	firing, err := s.ctl.Firing(r.Context(), g, shard, epoch)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.answer(w, r, http.StatusOK, firing)
}

// accumulators answers GET …/accumulators.
func (s *Server) accumulators(ctx context.Context, g api.Ref, _ struct{}) (api.Page[api.AccumulatorSummary], error) {
	items, err := s.ctl.Accumulators(ctx, g)
	return whole(items), err
}

// accumulator answers GET …/accumulators/{accumulator}.
func (s *Server) accumulator(w http.ResponseWriter, r *request) {
	g, name, err := accumulatorRef(r)
	var row string
	if err == nil {
		row, err = param.Row(r.Request)
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	detail, err := s.ctl.Accumulator(r.Context(), g, name, row)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.answer(w, r, http.StatusOK, detail)
}

// get answers what read finds of a graph, as the query says that ask reads.
func get[Q, A any](s *Server, ask func(*http.Request) (Q, error), read func(context.Context, api.Ref, Q) (A, error),
) handler {
	return func(w http.ResponseWriter, r *request) {
		g, err := graphRef(r)
		var q Q
		if err == nil {
			q, err = ask(r.Request)
		}
		var found A
		if err == nil {
			found, err = read(r.Context(), g, q)
		}
		if err != nil {
			s.fail(w, r, err)
			return
		}
		s.answer(w, r, http.StatusOK, found)
	}
}

// serveList answers one page of a list, whose cursors have at most so many bytes; also are the parameters it has beside
// limit and before.
func serveList[T any](s *Server, w http.ResponseWriter, r *request, most int, read func(context.Context, api.Ref,
	api.Query) (api.Page[T], error), also ...string) {
	g, err := graphRef(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	q, err := param.List(r.Request, most, also...)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	page, err := read(r.Context(), g, q)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	if page.Items == nil {
		page.Items = []T{}
	}
	s.answer(w, r, http.StatusOK, page)
}
