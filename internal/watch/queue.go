package watch

import (
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/graphd/graphd/internal/api"
)

// Queue is one watcher's bounded queue: a [Subscription].
type Queue struct {
	all    bool // it watches every graph of its tenant
	topics map[string]bool
	wake   chan struct{} // capacity 1: "look"

	mu     sync.Mutex
	frames []*api.Frame
	gap    *api.Frame // what did not fit since the queue was full
	hubs   map[*Hub]struct{}
	ended  bool
}

// The topics of a subscription.
const (
	topicOutputs = "outputs"
	topicFirings = "firings"
	topicHealth  = "health"
	topicState   = "state"
)

// NewQueue makes the queue of a watcher of topics; all says that it outlives each graph that
// it is attached to.
func NewQueue(topics []string, all bool) (*Queue, error) {
	q := &Queue{all: all, topics: make(map[string]bool), wake: make(chan struct{}, 1), hubs: make(map[*Hub]struct{})}
	for _, t := range topics {
		switch t {
		case topicOutputs, topicFirings, topicHealth, topicState:
			q.topics[t] = true
		default:
			return nil, &api.Error{Status: http.StatusUnprocessableEntity, Code: "unknown_topic",
				Detail: fmt.Sprintf("there is no topic %q; the topics are outputs, firings, health and state", t)}
		}
	}
	return q, nil
}

// Place is where a watcher was when it went: at the last frame that it has seen.
type Place struct{ Incarnation, Seq int64 }

// ParsePlace reads "incarnation:seq".
func ParsePlace(since string) (Place, error) {
	a, b, ok := strings.Cut(since, ":")
	incarnation, err1 := strconv.ParseInt(a, 10, 64)
	seq, err2 := strconv.ParseInt(b, 10, 64)
	// No frame has the greatest number there is: what comes after it would be negative.
	if !ok || err1 != nil || err2 != nil || incarnation < 0 || seq < 0 || seq == math.MaxInt64 {
		return Place{}, &api.Error{Status: http.StatusUnprocessableEntity, Code: "bad_since",
			Detail: `since must be "incarnation:seq" of the last frame that was seen`}
	}
	return Place{incarnation, seq}, nil
}

// put queues a frame, or notes the gap that it leaves. A health or state frame replaces an
// older one that still waits: only the newest matters.
func (q *Queue) put(f *api.Frame) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ended {
		return
	}
	if len(q.frames) >= MaxFrames || q.gap != nil && len(q.frames) > MaxFrames/2 {
		switch {
		case q.gap == nil:
			q.gap = &api.Frame{Type: "gap", Graph: f.Graph, Incarnation: f.Incarnation, From: f.Seq, To: f.Seq,
				Seq: f.Seq}
		default:
			q.gap.To, q.gap.Seq = f.Seq, f.Seq
		}
		return
	}
	if q.gap != nil {
		q.frames = append(q.frames, q.gap)
		q.gap = nil
	}
	if n := len(q.frames); n > 0 && f.Type == "state" && q.frames[n-1].Type == "state" &&
		q.frames[n-1].Graph == f.Graph {
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
func (q *Queue) end(h *Hub) {
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
func (q *Queue) TryNext() *api.Frame {
	f, _ := q.pop()
	return f
}

func (q *Queue) pop() (f *api.Frame, ended bool) {
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
func (q *Queue) Next(ctx context.Context) (*api.Frame, error) {
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
func (q *Queue) Close() {
	q.mu.Lock()
	q.ended = true
	q.frames, q.gap = nil, nil
	hubs := q.hubs
	q.hubs = nil
	q.mu.Unlock()
	for h := range hubs {
		h.detach(q)
	}
}
