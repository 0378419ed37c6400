package server

import (
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/graphd/graphd/internal/server/site"
)

// index answers GET / and GET /graphs/{graph}: the page finds out itself what the address shows, and whether there is
// such a graph.
func (s *Server) index(w http.ResponseWriter, r *request) {
	s.site.Index(w, r.Request, s.cfg.Gate.SignsOn(), s.pages.Session(r.Request) != "")
}

// file answers GET /page/{file}.
func (s *Server) file(w http.ResponseWriter, r *request) {
	if !s.site.File(w, r.Request, chi.URLParam(r.Request, "file")) {
		s.notFound(w, r.Request)
	}
}

// manual answers GET /docs and GET /docs/{page}.
func (s *Server) manual(w http.ResponseWriter, r *request) {
	if !s.site.Manual(w, r.Request, chi.URLParam(r.Request, "page")) {
		s.notFound(w, r.Request)
	}
}

// openapi serves the document that describes all of this.
func (s *Server) openapi(w http.ResponseWriter, _ *request) { site.OpenAPI(w) }

// agent answers POST /mcp: a message of an agent.
func (s *Server) agent(w http.ResponseWriter, r *request) {
	b, err := s.bodies.Read(w, r.Request, &r.who)
	defer b.Free()
	if err == nil {
		err = s.agents.Answer(w, r.Request, &r.who, b.Data)
	}
	if err != nil {
		s.fail(w, r, err)
	}
}
