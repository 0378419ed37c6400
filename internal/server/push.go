package server

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/boundary/traced"
	"github.com/graphd/graphd/internal/pushkey"
	"github.com/graphd/graphd/internal/server/once"
	"github.com/graphd/graphd/internal/server/param"
	"github.com/graphd/graphd/internal/server/wire"
)

// push answers POST …/accumulators/{accumulator}/events.
func (s *Server) push(w http.ResponseWriter, r *request) {
	ref, accumulator, err := accumulatorRef(r)
	if err == nil {
		_, err = param.Query(r.Request)
	}
	told := int(max(0, r.ContentLength)) // what is too much is refused before it is read
	if err == nil {
		err = s.arrivals.Push(r.Context(), &r.who, told)
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	b, err := s.bodies.Read(w, r.Request, &r.who)
	if err != nil {
		s.rejectBody(w, r, ref, accumulator, err)
		return
	}
	defer b.Free()
	if err := s.arrivals.Push(r.Context(), &r.who, max(0, len(b.Data)-told)); err != nil {
		s.fail(w, r, err)
		return
	}
	lines := wire.IsLines(r.Header.Get("Content-Type"))
	ev, bad := wire.Cut(b.Data, lines, s.cfg.MaxDepth)
	if bad.Is() {
		s.rejectBody(w, r, ref, accumulator, wire.NotJSON("body", bad))
		return
	}
	if _, keyed := r.Header["Idempotency-Key"]; keyed {
		s.pushOnce(w, r, ref, accumulator, &ev, once.Hash(b.Data, lines))
		return
	}
	var p wire.Pushed
	if err := s.pushFor(r, ref, accumulator, &ev, &p); err != nil {
		s.fail(w, r, err)
		return
	}
	s.writeReply(w, s.replyTo(&p, ev.Form))
}

// pushFor pushes for as long as a full queue may hold a request up.
func (s *Server) pushFor(r *request, g api.Ref, accumulator string, ev *wire.Events, p *wire.Pushed) error {
	ctx, cancel := context.WithTimeout(traced.With(r.Context(), traced.FromHeader(r.Header.Get("Traceparent"))),
		param.Patience(r.Header, s.cfg.PushTimeout))
	defer cancel()
	err := p.Push(ctx, s.ctl, g, accumulator, ev)
	if p.Full && p.Done == 0 && !p.Moved() {
		s.arrivals.Linger(r.Context(), r.who.Holder())
	}
	return err
}

// pushOnce is a push with an Idempotency-Key.
func (s *Server) pushOnce(w http.ResponseWriter, r *request, g api.Ref, accumulator string, ev *wire.Events,
	hash [sha256.Size]byte) {
	given := r.Header["Idempotency-Key"]
	if len(given) != 1 || !once.ValidKey(given[0]) {
		s.fail(w, r, wire.Refuse(http.StatusBadRequest, api.CodeIdempotencyKey,
			"Idempotency-Key must be given once, with 1 to 255 printable ASCII characters"))
		return
	}
	id := once.ID{Tenant: g.Tenant, Graph: g.Name, Accumulator: accumulator, Key: given[0]}
	c, err := s.idem.Claim(id, hash, time.Now())
	if err != nil {
		s.fail(w, r, err)
		return
	}
	if c.Reply != nil {
		w.Header().Set("Idempotency-Replayed", "true")
		s.writeReply(w, c.Reply)
		return
	}
	p := c.Pushed
	finished := false
	defer func() { // whatever ends this attempt, also a panic, the key is free again
		switch {
		case finished:
		case p.Done > 0 && !p.KeyKept: // else the graph knows it, also what others took of it meanwhile
			s.idem.Park(c, p)
		default:
			s.idem.Drop(c)
		}
	}()
	keyed := *r
	keyed.Request = r.WithContext(pushkey.With(r.Context(), pushkey.Key{Text: given[0], Hash: hash[:]}))
	if err := s.pushFor(&keyed, g, accumulator, ev, &p); err != nil {
		s.fail(w, r, err)
		return
	}
	if p.Known && !p.Full {
		w.Header().Set("Idempotency-Replayed", "true")
	}
	answer := s.replyTo(&p, ev.Form)
	if !p.Full {
		s.idem.Finish(c, answer)
		finished = true
	}
	s.writeReply(w, answer)
}

// rejectBody counts a body that holds no events one could name as one rejected event
// (M42), and answers err.
func (s *Server) rejectBody(w http.ResponseWriter, r *request, g api.Ref, accumulator string, err error) {
	if e, ok := errors.AsType[*api.Error](err); ok && (e.Status == http.StatusBadRequest ||
		e.Status == http.StatusRequestEntityTooLarge) {
		if unknown := s.ctl.RejectBody(context.WithoutCancel(r.Context()), g, accumulator, e.Code, 1); unknown != nil {
			err = unknown
		}
	}
	s.fail(w, r, err)
}

// replyTo is the answer to a push that ended in p.
func (s *Server) replyTo(p *wire.Pushed, f wire.Form) *once.Reply {
	e := p.Problem(f)
	if e == nil {
		return &once.Reply{Status: http.StatusOK, ContentType: "application/json",
			Body: p.AppendJSON(make([]byte, 0, 96))}
	}
	s.refusals.Count(e.Code)
	doc := wire.AppendProblem(make([]byte, 0, 512), e, "")
	doc[len(doc)-1] = ',' // the result's members follow the problem's
	return &once.Reply{Status: e.Status, ContentType: "application/problem+json", After: p.After,
		Body: append(p.AppendMembers(doc), '}')}
}

// writeReply is on the way of every pushed event: no header here that is not needed.
func (s *Server) writeReply(w http.ResponseWriter, r *once.Reply) {
	h := w.Header()
	h["Content-Type"] = []string{r.ContentType}
	if r.Status == http.StatusTooManyRequests || r.Status == http.StatusServiceUnavailable {
		h.Set("Retry-After", wire.Seconds(r.After))
	}
	w.WriteHeader(r.Status)
	_, _ = w.Write(r.Body) // a client that went away is no error of ours
}
