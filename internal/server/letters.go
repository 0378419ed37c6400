package server

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/go-chi/chi/v5"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/server/param"
	"github.com/graphd/graphd/internal/server/wire"
)

// letterFilters are the parameters that choose dead letters.
var letterFilters = [...]string{"key", "code", "stage", "accumulator", "output", "since", "until", "where"}

// maxWhere bounds an expression over dead letters.
const maxWhere = 4096

// letterChoice reads the filters of a query.
func letterChoice(values url.Values) (c api.LetterChoice, err error) {
	if c.Key, err = param.Key(values); err != nil {
		return c, err
	}
	for i, to := range []*string{&c.Code, &c.Stage, &c.Accumulator, &c.Output, &c.Since, &c.Until, &c.Where} {
		*to = values.Get(letterFilters[i+1])
	}
	return c, checkChoice(&c)
}

func checkChoice(c *api.LetterChoice) error {
	for i, text := range []string{c.Key, c.Code, c.Stage, c.Accumulator, c.Output, c.Since, c.Until} {
		if len(text) > param.MaxCursor {
			return wire.Refuse(http.StatusBadRequest, api.CodeInvalidParameter,
				fmt.Sprintf("%s can have %d bytes at most", letterFilters[i], param.MaxCursor))
		}
	}
	if len(c.Where) > maxWhere {
		return wire.Refuse(http.StatusBadRequest, api.CodeInvalidParameter,
			fmt.Sprintf("where can have %d bytes at most", maxWhere))
	}
	return nil
}

// deadLetters answers GET …/dead-letters.
func (s *Server) deadLetters(w http.ResponseWriter, r *request) {
	g, err := graphRef(r)
	var page api.Query
	if err == nil {
		page, err = param.List(r.Request, param.MaxCursor, letterFilters[:]...)
	}
	q := api.LetterQuery{Limit: page.Limit, Before: page.Before}
	if err == nil {
		q.LetterChoice, err = letterChoice(r.URL.Query())
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), s.cfg.PushTimeout)
	defer cancel()
	letters, err := s.ctl.DeadLetters(ctx, g, q)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.answer(w, r, http.StatusOK, letters)
}

// letters answers POST …/dead-letters/replay and …/discard.
func (s *Server) letters(
	do func(context.Context, api.Ref, api.LettersRequest) (api.LettersResult, error),
) handler {
	return posted(s, graphRef, func(ctx context.Context, g api.Ref, req api.LettersRequest) (api.LettersResult, error) {
		req.Key = wire.Key(req.Key)
		if err := checkChoice(&req.LetterChoice); err != nil {
			return api.LettersResult{}, err
		}
		ctx, cancel := context.WithTimeout(ctx, s.cfg.PushTimeout)
		defer cancel()
		return do(ctx, g, req)
	})
}

// letterRef names the dead letter of a request.
func (s *Server) letterRef(r *request) (api.Ref, string, error) {
	g, err := s.plain(r)
	if err != nil {
		return g, "", err
	}
	id := chi.URLParam(r.Request, "letter")
	if len(id) > 128 {
		return g, "", wire.Refuse(http.StatusNotFound, api.CodeDeadLetterNotFound,
			fmt.Sprintf("no dead letter has the id %q", wire.Clip(id)))
	}
	return g, id, nil
}

// replayDeadLetter answers POST …/dead-letters/{letter}/replay.
func (s *Server) replayDeadLetter(w http.ResponseWriter, r *request) {
	g, id, err := s.letterRef(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), s.cfg.PushTimeout)
	defer cancel()
	result, err := s.ctl.ReplayDeadLetter(ctx, g, id)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	p := wire.Pushed{PushResult: result}
	s.writeReply(w, s.replyTo(&p, wire.Array))
}

// discardDeadLetter answers DELETE …/dead-letters/{letter}.
func (s *Server) discardDeadLetter(w http.ResponseWriter, r *request) {
	g, id, err := s.letterRef(r)
	if err == nil {
		err = s.ctl.DiscardDeadLetter(r.Context(), g, id)
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}
