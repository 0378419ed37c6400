package server

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/audit"
	"github.com/graphd/graphd/internal/server/param"
	"github.com/graphd/graphd/internal/server/wire"
)

// audit answers GET /v1/audit with a chain's entries, a line each, oldest first.
func (s *Server) audit(w http.ResponseWriter, r *request) {
	q, err := s.auditQuery(r)
	var leave func()
	if err == nil {
		leave, err = s.cfg.Trail.Reader(r.who.Tenant)
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	defer leave()
	left := q.Limit
	var rows []audit.Row
	next := func() (err error) {
		if q.Limit = audit.MaxRows; left > 0 {
			q.Limit = min(left, audit.MaxRows)
		}
		rows, err = s.cfg.Trail.Store().AuditRows(r.Context(), q)
		return err
	}
	if err = next(); err != nil {
		s.fail(w, r, err)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "application/x-ndjson")
	h.Set("X-Content-Type-Options", "nosniff")
	for {
		var lines []byte
		for i := range rows {
			line, err := wire.Encode(&rows[i])
			if err != nil {
				panic(http.ErrAbortHandler) // the client sees that it is not whole
			}
			lines = append(append(lines, line...), '\n')
		}
		if _, err := w.Write(lines); err != nil {
			return // the client has gone
		}
		if left -= len(rows); len(rows) < q.Limit || left == 0 {
			return
		}
		q.After = rows[len(rows)-1].Seq
		if err := next(); err != nil {
			s.cfg.Log.Warn("the audit was not sent whole", "err", err)
			panic(http.ErrAbortHandler)
		}
	}
}

// auditQuery reads which entries a request means.
func (s *Server) auditQuery(r *request) (q audit.Query, err error) {
	values, err := param.Query(r.Request, "chain", "after", "since", "subject", "graph", "limit")
	if err != nil {
		return q, err
	}
	if s.cfg.Trail == nil {
		return q, wire.Refuse(http.StatusNotFound, api.CodeNotFound, "this daemon keeps no audit")
	}
	q = audit.Query{Tenant: r.who.Tenant, Subject: values.Get("subject"), Graph: values.Get("graph")}
	if chain := values.Get("chain"); chain != "" && chain != q.Tenant {
		if !r.who.SeesAll() { // the same whether there is such a tenant or not
			return q, wire.Refuse(http.StatusNotFound, api.CodeTenantNotFound,
				"there is no tenant of that name for this token")
		}
		q.Tenant = chain
	}
	if q.After, err = param.Number(values, "after", 0, 1<<62); err != nil {
		return q, err
	}
	limit, err := param.Number(values, "limit", 1, 1<<31-1)
	if err != nil {
		return q, err
	}
	q.Limit = int(limit)
	if values.Has("since") {
		text := values.Get("since")
		if q.Since, err = time.Parse(time.RFC3339Nano, text); err != nil {
			return q, wire.Refuse(http.StatusBadRequest, api.CodeInvalidParameter,
				fmt.Sprintf("since is %q, and must be a time such as 2026-11-22T10:00:00Z", wire.Clip(text)))
		}
	}
	return q, nil
}

// auditChains answers GET /v1/audit/chains: where the chains end that the caller may read.
func (s *Server) auditChains(w http.ResponseWriter, r *request) {
	_, err := param.Query(r.Request)
	var chains []audit.Chain
	if err == nil && s.cfg.Trail != nil {
		chains, err = s.cfg.Trail.Store().AuditChains(r.Context())
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	chains = slices.DeleteFunc(chains, func(c audit.Chain) bool { return !r.who.Looks(c.Tenant) })
	s.answer(w, r, http.StatusOK, whole(chains))
}
