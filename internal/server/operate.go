package server

import (
	"context"
	"fmt"
	"net/http"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/server/param"
	"github.com/graphd/graphd/internal/server/wire"
)

// posted answers a request about a graph, with a body, with what do says.
func posted[Q, A any](s *Server, ref func(*request) (api.Ref, error), do func(context.Context, api.Ref, Q) (A, error),
) handler {
	return func(w http.ResponseWriter, r *request) {
		var req Q
		g, err := ref(r)
		if err == nil {
			err = s.commandBody(w, r, true, &req)
		}
		var result A
		if err == nil {
			result, err = do(r.Context(), g, req)
		}
		if err != nil {
			s.fail(w, r, err)
			return
		}
		s.answer(w, r, http.StatusOK, result)
	}
}

// fire answers POST …/fire. A failed epoch is a 200 too: the fire was carried out.
func (s *Server) fire(ctx context.Context, g api.Ref, req api.FireRequest) (api.FireResult, error) {
	if err := wire.CheckFire(&req); err != nil {
		return api.FireResult{}, err
	}
	return s.ctl.Fire(ctx, g, req)
}

// nothing is the body of a command without arguments: none, or {}.
type nothing struct{}

// pieceName is the accumulator that a command is for, "" for the graph as a whole.
func pieceName(q *api.PieceRequest) (string, error) {
	if q.Accumulator == nil {
		return "", nil
	}
	if !param.Name(*q.Accumulator) {
		return "", wire.Refuse(http.StatusUnprocessableEntity, api.CodeInvalidBody,
			fmt.Sprintf("no accumulator can be named %q", wire.Clip(*q.Accumulator)))
	}
	return *q.Accumulator, nil
}

// pause answers POST …/pause.
func (s *Server) pause(w http.ResponseWriter, r *request) {
	s.command(w, r, &nothing{}, func(ctx context.Context, g api.Ref) (api.GraphSummary, error) {
		return s.ctl.Pause(ctx, g, who(r))
	})
}

// resume answers POST …/resume.
func (s *Server) resume(w http.ResponseWriter, r *request) {
	s.command(w, r, &nothing{}, func(ctx context.Context, g api.Ref) (api.GraphSummary, error) {
		return s.ctl.Resume(ctx, g, who(r))
	})
}

// step answers POST …/step.
func (s *Server) step(w http.ResponseWriter, r *request) {
	var req api.StepRequest
	s.command(w, r, &req, func(ctx context.Context, g api.Ref) (api.GraphSummary, error) {
		n, err := wire.Steps(&req)
		if err != nil {
			return api.GraphSummary{}, err
		}
		return s.ctl.Step(ctx, g, n)
	})
}

// drain answers POST …/drain, when nothing is left to fire.
func (s *Server) drain(w http.ResponseWriter, r *request) {
	s.command(w, r, &nothing{}, s.ctl.Drain)
}

// restart answers POST …/restart.
func (s *Server) restart(w http.ResponseWriter, r *request) {
	var req api.PieceRequest
	s.command(w, r, &req, func(ctx context.Context, g api.Ref) (api.GraphSummary, error) {
		name, err := pieceName(&req)
		if err != nil {
			return api.GraphSummary{}, err
		}
		return s.ctl.Restart(ctx, g, name, who(r))
	})
}

// part answers POST …/stop and …/start of one input or output.
func (s *Server) part(
	do func(context.Context, api.Ref, api.Part, string) (api.GraphSummary, error),
) handler {
	return func(w http.ResponseWriter, r *request) {
		var req api.PartRequest
		s.command(w, r, &req, func(ctx context.Context, g api.Ref) (api.GraphSummary, error) {
			part, err := partOf(&req)
			if err != nil {
				return api.GraphSummary{}, err
			}
			return do(ctx, g, part, who(r))
		})
	}
}

// partOf is the one input or output that a request names.
func partOf(q *api.PartRequest) (p api.Part, err error) {
	if (q.Accumulator == nil) == (q.Output == nil) {
		return p, wire.Refuse(http.StatusUnprocessableEntity, api.CodeInvalidBody,
			"say which input or output is meant: accumulator or output, one of the two")
	}
	if q.Output == nil {
		p.Accumulator, err = pieceName(&api.PieceRequest{Accumulator: q.Accumulator})
		return p, err
	}
	if p.Output = *q.Output; !param.Name(p.Output) {
		return p, wire.Refuse(http.StatusUnprocessableEntity, api.CodeInvalidBody,
			fmt.Sprintf("no output can be named %q", wire.Clip(p.Output)))
	}
	return p, nil
}

// skipLost answers POST …/skip-lost.
func (s *Server) skipLost(w http.ResponseWriter, r *request) {
	var req api.PieceRequest
	g, err := graphRef(r)
	if err == nil {
		err = s.commandBody(w, r, false, &req)
	}
	var name string
	if err == nil {
		name, err = pieceName(&req)
	}
	if err == nil && name == "" {
		err = wire.Refuse(http.StatusUnprocessableEntity, api.CodeInvalidBody,
			"accumulator must name the input whose lost events are to be skipped")
	}
	var result api.SkipResult
	if err == nil {
		result, err = s.ctl.SkipLost(r.Context(), g, name, who(r))
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	w.Header().Set("ETag", wire.ETag(result.Revision))
	s.answer(w, r, http.StatusOK, result)
}

// command reads a command's body into req, carries it out, and answers with the graph's new summary.
func (s *Server) command(w http.ResponseWriter, r *request, req any,
	do func(context.Context, api.Ref) (api.GraphSummary, error)) {
	g, err := graphRef(r)
	if err == nil {
		err = s.commandBody(w, r, false, req)
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	summary, err := do(r.Context(), g)
	s.answerSummary(w, r, summary, err)
}

// checkpoint answers POST …/checkpoint once it is durable.
func (s *Server) checkpoint(w http.ResponseWriter, r *request) {
	g, err := graphRef(r)
	if err == nil {
		err = s.commandBody(w, r, false, &nothing{})
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	epoch, err := s.ctl.Checkpoint(r.Context(), g)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.answer(w, r, http.StatusOK, api.Checkpointed{Epoch: epoch})
}
