package engine

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/graphd/graphd/internal/reactor"
)

// queue is one watcher's bounded queue: a [Subscription].
type queue struct {
	tenant string
	all    bool // it watches every graph of the tenant
	topics map[string]bool
	leave  func()
	wake   chan struct{} // capacity 1: "look"

	mu     sync.Mutex
	frames []*Frame
	gap    *Frame // what did not fit since the queue was full
	hubs   map[*hub]struct{}
	ended  bool
}

func newQueue(tenant string, topics []string) *queue {
	q := &queue{tenant: tenant, topics: make(map[string]bool), wake: make(chan struct{}, 1), hubs: make(map[*hub]struct{})}
	for _, t := range topics {
		q.topics[t] = true
	}
	return q
}

// put queues a frame, or notes the gap that it leaves. A health or state frame replaces an
// older one that still waits: only the newest matters.
func (q *queue) put(f *Frame) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ended {
		return
	}
	if len(q.frames) >= watcherFrames || q.gap != nil && len(q.frames) > watcherFrames/2 {
		switch {
		case q.gap == nil:
			q.gap = &Frame{Type: "gap", Graph: f.Graph, Incarnation: f.Incarnation, From: f.Seq, To: f.Seq, Seq: f.Seq}
		default:
			q.gap.To, q.gap.Seq = f.Seq, f.Seq
		}
		return
	}
	if q.gap != nil {
		q.frames = append(q.frames, q.gap)
		q.gap = nil
	}
	if n := len(q.frames); n > 0 && f.Type == "state" && q.frames[n-1].Type == "state" && q.frames[n-1].Graph == f.Graph {
		q.frames[n-1] = f
	} else {
		q.frames = append(q.frames, f)
	}
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// end takes a hub away; the queue ends with its last one unless it watches all.
func (q *queue) end(h *hub) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.hubs, h)
	if len(q.hubs) == 0 && !q.all {
		q.ended = true
	}
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// TryNext is the next frame, or nil when none is ready.
func (q *queue) TryNext() *Frame {
	f, _ := q.pop()
	return f
}

func (q *queue) pop() (f *Frame, ended bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.frames) == 0 {
		if q.gap != nil {
			f, q.gap = q.gap, nil
			return f, false
		}
		return nil, q.ended
	}
	f = q.frames[0]
	q.frames[0] = nil
	q.frames = q.frames[1:]
	return f, false
}

// Next waits for the next frame; io.EOF when the graph is gone.
func (q *queue) Next(ctx context.Context) (*Frame, error) {
	for {
		f, ended := q.pop()
		if f != nil {
			return f, nil
		}
		if ended {
			return nil, io.EOF
		}
		select {
		case <-q.wake:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// Close ends the subscription.
func (q *queue) Close() {
	q.mu.Lock()
	q.ended = true
	q.frames, q.gap = nil, nil
	hubs := q.hubs
	q.hubs = nil
	q.mu.Unlock()
	for h := range hubs {
		h.detach(q)
	}
	if q.leave != nil {
		q.leave()
	}
}

// Watch subscribes to one graph, or to all of the tenant's when the name is empty.
func (e *Engine) Watch(ctx context.Context, g Ref, topics []string, since string) (Subscription, error) {
	for _, t := range topics {
		if !slices.Contains([]string{topicOutputs, topicFirings, topicHealth, topicState}, t) {
			return nil, &Error{Status: http.StatusUnprocessableEntity, Code: "unknown_topic", Detail: fmt.Sprintf("there is no topic %q; the topics are outputs, firings, health and state", t)}
		}
	}
	q := newQueue(g.Tenant, topics)
	if g.Name == "" {
		return e.watchAll(ctx, q), nil
	}
	m, err := e.graph(g)
	if err != nil {
		return nil, err
	}
	if since == "" {
		m.hub.join(ctx, m, q)
		return q, nil
	}
	a, b, ok := strings.Cut(since, ":")
	incarnation, err1 := strconv.ParseInt(a, 10, 64)
	seq, err2 := strconv.ParseInt(b, 10, 64)
	if !ok || err1 != nil || err2 != nil {
		return nil, &Error{Status: http.StatusUnprocessableEntity, Code: "bad_since", Detail: `since must be "incarnation:seq" of the last frame that was seen`}
	}
	_, _, err = e.command(ctx, g, func(c *reactor.Core, now time.Time) error {
		m.hub.attachLive(c, now, q)
		m.hub.replay(c, q, incarnation, seq)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return q, nil
}

func (e *Engine) watchAll(ctx context.Context, q *queue) Subscription {
	q.all = true
	q.leave = func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		if i := slices.Index(e.everyone, q); i >= 0 {
			e.everyone = slices.Delete(e.everyone, i, i+1)
		}
	}
	e.mu.Lock()
	e.everyone = append(e.everyone, q)
	e.mu.Unlock()
	for _, m := range e.all() {
		if m.ref.Tenant == q.tenant {
			m.hub.join(ctx, m, q)
		}
	}
	return q
}
