package socket

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/coder/websocket"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/boundary/traced"
	"github.com/graphd/graphd/internal/server/wire"
)

// heldAcks is how long acknowledgements are held back at most to leave together.
const heldAcks = time.Millisecond

// pushEndpoint takes events for one accumulator. The reader submits the events of every frame, and the writer waits
// for what became of them and acknowledges in the order of the frames.
type pushEndpoint struct {
	c           *conn
	ref         api.Ref
	accumulator string
	inbox       *inbox
	// frames has room for one: whoever puts a token in has a frame in hand. The reader does
	// so for each, the writer before its last look into the inbox, so that nothing submitted
	// stays unanswered.
	frames chan struct{}
	out    []byte // the writer's, used again for every answer
}

func newPushEndpoint(c *conn, g api.Ref, accumulator string) *pushEndpoint {
	return &pushEndpoint{c: c, ref: g, accumulator: accumulator, inbox: newInbox(), frames: make(chan struct{}, 1)}
}

func (e *pushEndpoint) frame(ctx context.Context, raw []byte) error {
	var f frame
	bad := f.parse(raw, e.c.h.cfg.MaxDepth)
	it := item{id: bytes.Clone(f[memberID]), size: len(raw)}
	var events wire.Events
	if bad == nil {
		events, bad = eventsOf(&f)
	}
	if bad != nil {
		if err := e.c.h.ctl.RejectBody(ctx, e.ref, e.accumulator, bad.code, 1); err != nil {
			e.c.log.Debug("rejected frame not counted", slog.Any("err", err)) // the graph has gone; the next push tells
		}
		return e.c.badFrame(func(reply []byte) error { // in its place among the acknowledgements
			it.reply = reply
			return e.inbox.put(ctx, it)
		}, it.id, bad.code, bad.detail)
	}
	e.c.bad = 0
	e.frames <- struct{}{} // the writer holds it only when it ends, and then not for long
	defer func() { <-e.frames }()
	if ctx.Err() != nil { // the writer may have gone
		return context.Cause(ctx)
	}
	e.submit(traced.With(ctx, traced.FromHeader(f.text(memberTraceparent))), &events, &it)
	return e.inbox.put(ctx, it)
}

// eventsOf takes the events out of a frame: a copy, for the frame's bytes are only lent.
func eventsOf(f *frame) (wire.Events, *frameError) {
	kind, data := f.text(memberType), f[memberData]
	switch {
	case kind != "event" && kind != "events":
		return wire.Events{}, &frameError{
			api.CodeUnknownType, `this endpoint knows the types "event" and "events", not "` + wire.Clip(kind) + `"`,
		}
	case data == nil:
		return wire.Events{}, &frameError{api.CodeInvalidFrame, "data is missing"}
	case kind == "event":
		return wire.One(bytes.Clone(data)), f.only(kind, memberData, memberTraceparent)
	case data[0] != '[':
		return wire.Events{}, &frameError{api.CodeInvalidFrame, `the data of "events" is an array`}
	}
	return wire.ArrayOf(bytes.Clone(data)), f.only(kind, memberData, memberTraceparent)
}

// submit sends a frame's events on their way, in order. A full accumulator holds it, and
// so the reader, and so in the end the client: nothing is dropped.
func (e *pushEndpoint) submit(ctx context.Context, events *wire.Events, it *item) {
	it.first = e.submitBatch(ctx, events.Next()) // an empty frame asks, too, whether the accumulator is there
	for it.first.wait != nil {
		next := events.Next()
		if next == nil {
			return
		}
		b := e.submitBatch(ctx, next)
		it.more = append(it.more, b)
		if b.wait == nil {
			return
		}
	}
}

func (e *pushEndpoint) submitBatch(ctx context.Context, events []json.RawMessage) batch {
	w, err := e.c.h.ctl.Submit(ctx, e.ref, e.accumulator, events)
	if err != nil {
		return batch{n: len(events), err: err}
	}
	return batch{n: len(events), wait: w}
}

func (e *pushEndpoint) write(ctx context.Context) error {
	var items []item
	for {
		var err error
		if items, err = e.inbox.drain(ctx, items); err != nil {
			return e.last(ctx, err)
		}
		if err := e.answerAll(ctx, items); err != nil {
			return err
		}
	}
}

// last answers, when ctx has ended, what the reader had in hand meanwhile.
func (e *pushEndpoint) last(ctx context.Context, cause error) error {
	e.frames <- struct{}{} // at most as long as a Submit takes to see that ctx has ended
	defer func() { <-e.frames }()
	if left := e.inbox.rest(); len(left) > 0 {
		if err := e.answerAll(ctx, left); err != nil {
			return err
		}
	}
	return cause
}

// answerAll answers some frames; the answers leave together.
func (e *pushEndpoint) answerAll(ctx context.Context, items []item) error {
	quiet := context.WithoutCancel(ctx)
	for i := range items {
		var end error
		e.out, end = e.answer(ctx, e.out[:0], &items[i])
		if len(items) > 1 { // from now on: what has been waited for may have taken long, as a commit does
			e.c.cork.hold(heldAcks)
		}
		if len(e.out) > 0 {
			if err := e.c.send(quiet, e.out); err != nil {
				return err
			}
		}
		if end != nil {
			return errors.Join(end, e.c.uncork())
		}
		if cap(e.out) > keptBuffer {
			e.out = nil
		}
	}
	if len(items) > 1 {
		return e.c.uncork()
	}
	return nil
}

// answer waits for what became of a frame's events and encodes what the client is told,
// if anything. When ctx ends it waits no more, but tells what was taken. An error ends the
// connection after that.
func (e *pushEndpoint) answer(ctx context.Context, dst []byte, it *item) ([]byte, error) {
	if it.reply != nil {
		return append(dst, it.reply...), nil
	}
	var p wire.Pushed
	err := it.wait(ctx, &p)
	if err == nil {
		if p.Full && (p.Moved() || p.Refused != nil) {
			dst = appendRefusal(dst, it.id, p.Problem(0))
			dst[len(dst)-1] = ',' // the result's members follow the refusal's
			return append(p.AppendMembers(dst), '}'), nil
		}
		if p.Full && p.Done == 0 {
			return dst, nil // the connection ends, and nothing of this frame was taken
		}
		return appendAck(dst, it.id, &p), nil
	}
	refused, ok := errors.AsType[*api.Error](err)
	if !ok {
		if ctx.Err() != nil {
			return dst, context.Cause(ctx)
		}
		e.c.log.Error("push failed", slog.String("graph", e.ref.Name),
			slog.String("tenant", e.ref.Tenant), slog.String("accumulator", e.accumulator), slog.Any("err", err))
		refused = wire.Refuse(http.StatusInternalServerError, api.CodeInternal,
			"the daemon failed on this frame; its log says why")
	}
	dst = appendRefusal(dst, it.id, refused)
	if refused.Status == http.StatusNotFound {
		return dst, &closing{code: websocket.StatusGoingAway, reason: "the accumulator is gone"}
	}
	return dst, nil
}
