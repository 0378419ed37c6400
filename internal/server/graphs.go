package server

import (
	"errors"
	"net/http"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/server/param"
	"github.com/graphd/graphd/internal/server/wire"
)

// graphs answers GET /v1/graphs.
func (s *Server) graphs(w http.ResponseWriter, r *request) {
	_, err := param.Query(r.Request)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	list, err := s.ctl.Graphs(r.Context(), r.who.Tenant)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	list.Narrow(r.who.Sees)
	s.answer(w, r, http.StatusOK, list)
}

// whole wraps what is not paged in the form of a page; an empty one is [] and not null.
func whole[T any](items []T) api.Page[T] {
	if items == nil {
		items = []T{}
	}
	return api.Page[T]{Items: items}
}

// graph answers GET /v1/graphs/{graph}.
func (s *Server) graph(w http.ResponseWriter, r *request) {
	g, shard, err := shardRef(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	w.Header().Add("Vary", "Accept")
	if shard != nil {
		summary, err := s.ctl.Shard(r.Context(), g, *shard)
		s.answerSummary(w, r, summary, err)
		return
	}
	if wire.WantsDocument(r.Header) {
		found, err := s.ctl.Revision(r.Context(), g, 0)
		s.answerDocument(w, r, &found, err)
		return
	}
	summary, err := s.ctl.Graph(r.Context(), g)
	s.answerSummary(w, r, summary, err)
}

// shardRef is the graph of a request, and which of its shards is asked for; nil for the graph as a whole.
func shardRef(r *request) (api.Ref, *int, error) {
	g, err := graphRef(r)
	if err != nil {
		return g, nil, err
	}
	values, err := param.Query(r.Request, "shard")
	if err != nil {
		return g, nil, err
	}
	shard, err := param.Shard(values)
	return g, shard, err
}

// plain is the graph of a request that has no parameters beside it.
func (s *Server) plain(r *request) (api.Ref, error) {
	g, err := graphRef(r)
	if err != nil {
		return g, err
	}
	_, err = param.Query(r.Request)
	return g, err
}

// answerSummary writes a graph's summary with its revision as ETag, or err.
func (s *Server) answerSummary(w http.ResponseWriter, r *request, summary api.GraphSummary, err error) {
	if err != nil {
		s.fail(w, r, err)
		return
	}
	w.Header().Set("ETag", wire.ETag(summary.Revision))
	s.answer(w, r, http.StatusOK, summary.Narrowed(r.who.Sees))
}

// applyGraph answers PUT /v1/graphs/{graph}.
func (s *Server) applyGraph(w http.ResponseWriter, r *request) {
	result, err := s.apply(w, r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.answerApplied(w, r, &result)
}

// answerApplied writes what applying a declaration has come to.
func (s *Server) answerApplied(w http.ResponseWriter, r *request, result *api.ApplyResult) {
	status := http.StatusOK
	if result.Created && !result.DryRun {
		status = http.StatusCreated
	}
	if !result.DryRun {
		w.Header().Set("ETag", wire.ETag(result.Revision))
	}
	if result.Graph != nil {
		result.Graph = new(result.Graph.Narrowed(r.who.Sees))
	}
	s.answer(w, r, status, result)
}

// declared is the graph of a request that sends a declaration: there need be none of that name.
func declared(r *request) (g api.Ref, err error) {
	if g, err = graphRef(r); err != nil { // a graph that is to be made must hear what its name should be
		return g, wire.Refuse(http.StatusBadRequest, api.CodeInvalidName, "a graph's name must have the form "+
			param.NameForm)
	}
	if g.Tenant == unseen {
		return g, wire.Refuse(http.StatusForbidden, api.CodeForbidden,
			"the token is narrowed to graphs of other names; ask whoever gives tokens for another")
	}
	return g, nil
}

func (s *Server) apply(w http.ResponseWriter, r *request) (api.ApplyResult, error) {
	var none api.ApplyResult
	g, err := declared(r)
	if err != nil {
		return none, err
	}
	dryRun, set, err := param.Apply(r.Request)
	if err != nil {
		return none, err
	}
	want, err := wire.IfMatch(r.Header)
	if err != nil {
		return none, err
	}
	if want < 0 { // If-Match: * means whatever revision there is
		now, err := s.ctl.Graph(r.Context(), g)
		if e, ok := errors.AsType[*api.Error](err); ok && e.Status == http.StatusNotFound {
			return none, wire.Refuse(http.StatusPreconditionFailed, api.CodeRevisionConflict,
				"If-Match: * asks for a graph that exists, and there is none")
		}
		if err != nil {
			return none, err
		}
		want = now.Revision
	}
	switch fresh, err := wire.IfNone(r.Header); {
	case err != nil:
		return none, err
	case fresh:
		want = api.IfNone
	}
	b, err := s.bodies.Read(w, r.Request, &r.who)
	if err != nil {
		return none, err
	}
	defer b.Free()
	if len(wire.Trim(b.Data)) == 0 {
		return none, wire.Refuse(http.StatusBadRequest, api.CodeInvalidBody,
			"the body is empty: send the graph's declaration as YAML or JSON")
	}
	return s.ctl.Apply(r.Context(), g, b.Data, api.Change{
		IfMatch: want, DryRun: dryRun, Set: set, By: param.Author(r.Request, &r.who),
		Sees: r.who.Sees, Reads: r.who.Reads})
}

// deleteGraph answers DELETE /v1/graphs/{graph}?state=keep|delete.
func (s *Server) deleteGraph(w http.ResponseWriter, r *request) {
	g, err := graphRef(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	values, err := param.Query(r.Request, "state")
	if err != nil {
		s.fail(w, r, err)
		return
	}
	choice := values.Get("state")
	if choice != "keep" && choice != "delete" {
		s.fail(w, r, wire.Refuse(http.StatusBadRequest, api.CodeStateChoice,
			"say what becomes of the graph's state: ?state=keep to find it again when the graph comes back, "+
				"?state=delete to remove it for good"))
		return
	}
	if err := s.ctl.Delete(r.Context(), g, choice == "delete"); err != nil {
		s.fail(w, r, wire.Unnamed(err, r.who.Scope.Narrow()))
		return
	}
	s.idem.Forget(g)
	w.WriteHeader(http.StatusNoContent)
}
