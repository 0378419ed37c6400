package server

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/server/wire"
)

// validName says whether s is a name: [a-z][a-z0-9_]{0,63}.
func validName(s string) bool {
	if len(s) == 0 || len(s) > 64 || s[0] < 'a' || s[0] > 'z' {
		return false
	}
	for i := 1; i < len(s); i++ {
		c := s[i]
		if !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_') {
			return false
		}
	}
	return true
}

const nameForm = "[a-z][a-z0-9_]{0,63}"

// graphRef names the graph of a request. A name no graph can have is simply not found, and one
// that the caller may not know of is that of no graph.
func graphRef(r *request) (api.Ref, error) {
	name := chi.URLParam(r.Request, "graph")
	if !validName(name) {
		return api.Ref{}, wire.Refuse(http.StatusNotFound, api.CodeGraphNotFound,
			fmt.Sprintf("no graph can be named %q: names have the form %s", wire.Clip(name), nameForm))
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
	if !validName(name) {
		return ref, "", wire.Refuse(http.StatusNotFound, api.CodeAccumulatorNotFound,
			fmt.Sprintf("no accumulator can be named %q: names have the form %s", wire.Clip(name), nameForm))
	}
	return ref, name, nil
}

// who names the caller for the record.
func who(r *request) string { return r.who.Subject }

// maxAgent bounds what is kept of a caller's name for itself.
const maxAgent = 200

// author is the caller as one who changes a declaration.
func author(r *request) api.Author {
	a := api.Author{Agent: strings.ToValidUTF8(r.UserAgent(), "\uFFFD"), Host: hostOf(r.Request)}
	if r.who.Vouched() {
		a.Token = r.who.Subject
	}
	if len(a.Agent) > maxAgent {
		a.Agent = strings.ToValidUTF8(a.Agent[:maxAgent], "")
	}
	return a
}

// query parses the query and refuses parameters that the route does not have: a
// misspelled dry_run must not apply.
func query(r *request, known ...string) (url.Values, error) {
	if r.URL.RawQuery == "" {
		return nil, nil
	}
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, wire.Refuse(http.StatusBadRequest, api.CodeInvalidParameter,
			"the query is not of the form name=value&…")
	}
	for name, given := range values {
		if !slices.Contains(known, name) {
			has := "no parameters"
			if len(known) > 0 {
				has = strings.Join(known, ", ")
			}
			return nil, wire.Refuse(http.StatusBadRequest, api.CodeUnknownParameter,
				fmt.Sprintf("unknown parameter %q: this route knows %s", wire.Clip(name), has))
		}
		if len(given) > 1 {
			return nil, wire.Refuse(http.StatusBadRequest, api.CodeInvalidParameter,
				fmt.Sprintf("parameter %s is given more than once", name))
		}
	}
	return values, nil
}

// keyParam is ?key= as the engine takes it.
func keyParam(values url.Values) (string, error) {
	text := values.Get("key")
	if len(text) > maxCursor {
		return "", wire.Refuse(http.StatusBadRequest, api.CodeInvalidParameter,
			fmt.Sprintf("key can have %d bytes at most", maxCursor))
	}
	return wire.Key(text), nil
}

// rowParam is the key of a row as JSON, "" when none is asked for.
func rowParam(r *request) (string, error) {
	values, err := query(r, "row")
	if err != nil {
		return "", err
	}
	key, err := keyParam(url.Values{"key": values["row"]})
	if err == nil && key == "" && values.Has("row") {
		err = wire.Refuse(http.StatusBadRequest, api.CodeInvalidParameter,
			"a table has no row of this key; write a text as it is, the empty one as \"\", another key as JSON")
	}
	return key, err
}

// maxCursor bounds what a client may send as a cursor, key or identifier; they go to the store as they are.
const maxCursor = 1024

// listQuery reads ?limit=&before= and whatever else the list has.
func listQuery(r *request, also ...string) (api.Query, error) {
	values, err := query(r, append(also, "limit", "before")...)
	if err != nil {
		return api.Query{}, err
	}
	key, err := keyParam(values)
	if err != nil {
		return api.Query{}, err
	}
	q := api.Query{Before: values.Get("before"), Key: key}
	if len(q.Before) > maxCursor {
		return q, wire.Refuse(http.StatusBadRequest, api.CodeInvalidParameter,
			fmt.Sprintf("before can have %d bytes at most", maxCursor))
	}
	limit, err := numberParam(values, "limit", 1, 1000)
	if err != nil {
		return q, err
	}
	q.Limit = int(limit)
	return q, nil
}

// boolParam reads a parameter that is there or not: "1", "true", "0", "false".
func boolParam(values url.Values, name string) (bool, error) {
	if !values.Has(name) {
		return false, nil
	}
	switch text := values.Get(name); text {
	case "1", "true":
		return true, nil
	case "0", "false":
		return false, nil
	default:
		return false, wire.Refuse(http.StatusBadRequest, api.CodeInvalidParameter,
			fmt.Sprintf("%s is %q, and must be 1 or 0", name, wire.Clip(text)))
	}
}

// commandBody reads the small JSON object of a command into dst, strictly. No body
// at all leaves dst as it is, unless the command needs one.
func (s *Server) commandBody(w http.ResponseWriter, r *request, needed bool, dst any) error {
	if _, err := query(r); err != nil {
		return err
	}
	b, err := s.bodies.Read(w, r.Request, r.who.Holder())
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
