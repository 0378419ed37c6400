package socket

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/coder/websocket"

	"github.com/graphd/graphd/internal/access"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/server/wire"
)

// topics are what a client can subscribe to.
var topics = []string{"outputs", "firings", "health", "state", topicSummary}

// watchEndpoint carries out commands, one after the other, on the reader, and streams what
// was subscribed to on the writer.
type watchEndpoint struct {
	c   *conn
	ref api.Ref // of all the tenant's graphs when Name is ""
	who *access.Principal

	mu   sync.Mutex
	stop context.CancelFunc    // ends the subscription being streamed; nil when none is
	next chan api.Subscription // room for one: the one to stream next
	over bool                  // the writer has returned: nobody takes from next any more
}

func newWatchEndpoint(c *conn, g api.Ref, who *access.Principal) *watchEndpoint {
	return &watchEndpoint{c: c, ref: g, who: who, next: make(chan api.Subscription, 1)}
}

func (e *watchEndpoint) frame(ctx context.Context, raw []byte) error {
	var f frame
	bad := f.parse(raw, e.c.h.cfg.MaxDepth)
	reply := func(b []byte) error { return e.c.send(ctx, b) }
	if bad == nil {
		var err error
		switch kind := f.text(memberType); {
		case kind == "subscribe":
			bad, err = e.subscribe(ctx, &f)
		case kind == "command" && e.ref.Name != "":
			bad, err = e.command(ctx, &f)
		default:
			bad = &frameError{api.CodeUnknownType,
				fmt.Sprintf("this endpoint does not know the type %q, only %s", wire.Clip(kind), e.types())}
		}
		if bad == nil {
			e.c.bad = 0
			return err
		}
	}
	return e.c.badFrame(reply, f[memberID], bad.code, bad.detail)
}

// types are the types of frames that the endpoint knows.
func (e *watchEndpoint) types() string {
	if e.ref.Name == "" { // of all graphs: there is none to command
		return "subscribe"
	}
	return "command, subscribe"
}

// maxSince bounds the places of a watcher: one for each of 1,024 shards.
const maxSince = 32 << 10

// maxSample bounds how many epochs a second a sample may have.
const maxSample = 1000

// subscribed answers a subscription.
type subscribed struct {
	Topics []string `json:"topics"`
	// At is where it begins in the shards of its graph, as far as they run.
	At string `json:"at,omitempty"`
}

// subscribe starts the stream, in place of the one there is.
func (e *watchEndpoint) subscribe(ctx context.Context, f *frame) (*frameError, error) {
	if bad := f.only("subscribe", memberTopics, memberSince, memberWhere, memberSample); bad != nil {
		return bad, nil
	}
	var wanted []string
	if json.Unmarshal(f[memberTopics], &wanted) != nil || len(wanted) == 0 || len(wanted) > len(topics) {
		return &frameError{api.CodeUnknownTopic, "topics must list some of " + strings.Join(topics, ", ")}, nil
	}
	for _, t := range wanted {
		if !slices.Contains(topics, t) {
			return &frameError{
				api.CodeUnknownTopic, fmt.Sprintf("there is no topic %q, only %s", wire.Clip(t),
					strings.Join(topics, ", ")),
			}, nil
		}
	}
	var since string
	if raw := f[memberSince]; raw != nil {
		if err := json.Unmarshal(raw, &since); err != nil || len(since) > maxSince {
			return &frameError{api.CodeInvalidFrame, `since must be a string of the form "incarnation:seq"`}, nil
		}
	}
	wants, bad := where(f[memberWhere])
	if bad != nil {
		return bad, nil
	}
	sample, bad := e.sample(f)
	if bad != nil {
		return bad, nil
	}
	of := slices.DeleteFunc(slices.Clone(wanted), func(t string) bool { return t == topicSummary })
	sub, err := e.c.h.ctl.Watch(ctx, e.ref, api.Wanted{Topics: of, Since: since, Sample: sample})
	if err != nil {
		return nil, e.answer(ctx, f, nil, err)
	}
	at := ""
	if q, ok := sub.(interface{ Places() string }); ok {
		at = q.Places()
	}
	if e.ref.Name == "" && len(e.who.Scope.Graphs) > 0 {
		sub = &filtered{sub, narrowed(e.who)}
	}
	if wants != nil {
		sub = &filtered{sub, wants}
	}
	if len(of) < len(wanted) {
		sub = newSurvey(ctx, sub, e.c.h.lookout, e.ref, e.who.Sees)
	}
	if err := e.answer(ctx, f, subscribed{wanted, at}, nil); err != nil {
		sub.Close()
		return nil, err
	}
	e.replace(sub)
	return nil, nil
}

// sample is how many epochs a second are wanted, 0 for all.
func (e *watchEndpoint) sample(f *frame) (n int, bad *frameError) {
	switch raw := f[memberSample]; {
	case raw == nil:
		return 0, nil
	case e.ref.Name == "":
		return 0, &frameError{api.CodeInvalidFrame, "sample is for one graph, and this is the stream of all"}
	case f[memberWhere] != nil:
		return 0, &frameError{api.CodeInvalidFrame,
			"sample and where exclude each other: what is left out is not looked at"}
	case json.Unmarshal(raw, &n) != nil || n < 1 || n > maxSample:
		return 0, &frameError{api.CodeInvalidFrame,
			"sample must be a whole number from 1 to 1,000: how many epochs a second come"}
	}
	return n, nil
}

// replace makes sub the next subscription to stream and ends the one before.
func (e *watchEndpoint) replace(sub api.Subscription) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.over {
		sub.Close()
		return
	}
	if e.stop != nil {
		e.stop()
	}
	e.dropNext()
	e.next <- sub // there is room: only this function puts one in
}

// dropNext closes a subscription that was never begun. The caller holds the lock.
func (e *watchEndpoint) dropNext() {
	select {
	case sub := <-e.next:
		sub.Close()
	default:
	}
}

// answer sends a command's result, or why there is none.
func (e *watchEndpoint) answer(ctx context.Context, f *frame, result any, err error) error {
	id := f[memberID]
	if err == nil {
		frame, err := appendResult(nil, id, result)
		if err != nil {
			return fmt.Errorf("encode the result: %w", err)
		}
		return e.c.send(ctx, frame)
	}
	refused, ok := errors.AsType[*api.Error](err)
	if !ok {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		e.c.log.Error("command failed", slog.String("graph", e.ref.Name), slog.String("tenant", e.ref.Tenant),
			slog.Any("err", err))
		refused = wire.Refuse(http.StatusInternalServerError, api.CodeInternal,
			"the daemon failed on this command; its log says why")
	}
	return e.c.send(ctx, appendRefusal(nil, id, refused))
}

// write streams one subscription after the other.
func (e *watchEndpoint) write(ctx context.Context) error {
	defer func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.over = true
		e.dropNext()
	}()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case sub := <-e.next:
			if err := e.stream(ctx, sub); err != nil {
				return err
			}
		}
	}
}

// stream sends what sub has until the client goes, another subscription takes its place, or
// the graph ends. What is ready leaves in one write.
func (e *watchEndpoint) stream(ctx context.Context, sub api.Subscription) error {
	defer sub.Close()
	subCtx, stop := context.WithCancel(ctx)
	defer stop()
	e.mu.Lock()
	e.stop = stop
	replaced := len(e.next) > 0
	e.mu.Unlock()
	if replaced {
		return nil
	}
	quiet := context.WithoutCancel(ctx)
	var out []byte
	for {
		f, err := sub.Next(subCtx)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case subCtx.Err() != nil:
			return nil
		case errors.Is(err, io.EOF):
			end := &closing{code: websocket.StatusGoingAway, reason: "the graph is gone"}
			return errors.Join(end,
				e.c.send(quiet, appendError(nil, nil, api.CodeGraphEnded,
					"the graph was removed or its daemon is stopping")))
		case err != nil:
			return fmt.Errorf("watch graph %q: %w", e.ref.Name, err)
		}
		if out, err = e.burst(quiet, sub, f, out); err != nil {
			return err
		}
	}
}

// maxBurst bounds the frames of one write, so that a stream without pause is still flushed.
const maxBurst = 256

// burst sends f and what else is ready.
func (e *watchEndpoint) burst(quiet context.Context, sub api.Subscription, f *api.Frame, out []byte) ([]byte, error) {
	second := sub.TryNext()
	if second == nil { // the usual case at a moderate rate
		return e.sendFrame(quiet, f, out)
	}
	e.c.cork.hold(e.c.h.cfg.WriteTimeout)
	var err error
	if out, err = e.sendFrame(quiet, f, out); err != nil {
		return out, err
	}
	for n := 1; second != nil; n++ {
		if out, err = e.sendFrame(quiet, second, out); err != nil {
			return out, err
		}
		if n == maxBurst {
			break
		}
		second = sub.TryNext()
	}
	return out, e.c.uncork()
}

func (e *watchEndpoint) sendFrame(quiet context.Context, f *api.Frame, out []byte) ([]byte, error) {
	out, err := appendFrame(out[:0], f)
	if err != nil {
		return out, fmt.Errorf("encode a %s frame of graph %q: %w", f.Type, f.Graph, err)
	}
	err = e.c.send(quiet, out)
	if cap(out) > keptBuffer {
		out = nil
	}
	return out, err
}
