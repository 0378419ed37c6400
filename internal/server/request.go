package server

import (
	"fmt"
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/server/param"
	"github.com/graphd/graphd/internal/server/wire"
)

// graphRef names the graph of a request. A name no graph can have is simply not found, and one
// that the caller may not know of is that of no graph.
func graphRef(r *request) (api.Ref, error) {
	name := chi.URLParam(r.Request, "graph")
	if !param.Name(name) {
		return api.Ref{}, wire.Refuse(http.StatusNotFound, api.CodeGraphNotFound,
			fmt.Sprintf("no graph can be named %q: names have the form %s", wire.Clip(name), param.NameForm))
	}
	if !r.who.Sees(name) {
		return api.Ref{Tenant: unseen, Name: name}, nil
	}
	return api.Ref{Tenant: r.who.Tenant, Name: name}, nil
}

// accumulatorRef names the graph and accumulator of a request.
func accumulatorRef(r *request) (api.Ref, string, error) {
	ref, err := graphRef(r)
	if err != nil {
		return ref, "", err
	}
	name := chi.URLParam(r.Request, "accumulator")
	if !param.Name(name) {
		return ref, "", wire.Refuse(http.StatusNotFound, api.CodeAccumulatorNotFound,
			fmt.Sprintf("no accumulator can be named %q: names have the form %s", wire.Clip(name), param.NameForm))
	}
	return ref, name, nil
}

// who names the caller for the record.
func who(r *request) string { return r.who.Subject }

// commandBody reads the small JSON object of a command into dst, strictly. No body
// at all leaves dst as it is, unless the command needs one.
func (s *Server) commandBody(w http.ResponseWriter, r *request, needed bool, dst any) error {
	if _, err := param.Query(r.Request); err != nil {
		return err
	}
	b, err := s.bodies.Read(w, r.Request, &r.who)
	if err != nil {
		return err
	}
	defer b.Free()
	if len(b.Data) == 0 {
		if needed {
			return wire.Refuse(http.StatusBadRequest, api.CodeInvalidBody, "the body is empty; a JSON object is needed")
		}
		return nil
	}
	return wire.DecodeObject(b.Data, s.cfg.MaxDepth, dst)
}
