package watch

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"sync"

	"github.com/graphd/graphd/internal/api"
)

// Queue is one watcher's bounded queue: a [Subscription].
type Queue struct {
	skip func(*api.Frame) bool
	all  bool // it watches every graph of its tenant
	// forMember says that another member is fed by it, whose places are what it was given of shards that have moved.
	forMember bool
	topics    map[string]bool
	sample    int           // of how many epochs a second it is told; 0 of all
	wake      chan struct{} // capacity 1: "look"

	mu     sync.Mutex
	frames []*api.Frame
	gaps   []*api.Frame // what did not fit since the queue was full, by shard; one for all graphs
	at     api.Places   // where it began in the shards of its graph, or in its only one
	last   api.Places   // where it is in them, of one that goes on at another member; nil of others
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

// NewQueue makes the queue of a watcher of topics, which is told of so many epochs a second, with sample 0 of all; all
// says that it outlives each graph that it is attached to.
func NewQueue(topics []string, sample int, all bool) (*Queue, error) {
	q := &Queue{all: all, sample: sample, topics: make(map[string]bool), wake: make(chan struct{}, 1),
		hubs: make(map[*Hub]struct{})}
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

// ofEpochs says that epochs come to the watcher, or what they have put out.
func (q *Queue) ofEpochs() bool { return q.topics[topicOutputs] || q.topics[topicFirings] }

// Skip has the queue leave out what is said here and which others tell of. It is called before the queue is attached,
// and skip under a hub's lock.
func (q *Queue) Skip(skip func(*api.Frame) bool) { q.skip = skip }

// ForMember has the queue take any place to go on from. It is called before the queue is attached.
func (q *Queue) ForMember() { q.forMember = true }

// ParsePlaces reads where a watcher was when it went; see [api.Places].
func ParsePlaces(since string) (api.Places, error) {
	at, ok := api.ParsePlaces(since)
	if !ok {
		return nil, &api.Error{Status: http.StatusUnprocessableEntity, Code: api.CodeBadSince,
			Detail: `since must be "incarnation:seq" of the last frame that was seen; of a graph with shards that of ` +
				`each, as "7:18,2/7:31"`}
	}
	return at, nil
}

// Places are where the watcher began, in each shard of its graph that runs: who loses the connection before the first
// frame goes on from there. They are "" of one who watches all graphs.
func (q *Queue) Places() string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.at.String()
}

// Follow has the queue know where it is in the shards of its graph, which move to other members and come from them.
func (q *Queue) Follow(since api.Places) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.last = api.Places{}
	maps.Copy(q.last, since)
}

// Last is where a queue that follows is: what it has been given, read or not.
func (q *Queue) Last(shards []int) api.Places {
	q.mu.Lock()
	defer q.mu.Unlock()
	at := api.Places{}
	for _, n := range shards {
		if place, known := q.last[n]; known {
			at[n] = place
		}
	}
	return at
}

// Put queues a frame of another member, as those of a hub are.
func (q *Queue) Put(f *api.Frame) { q.put(f) }

// Begin notes where the subscription to other members begins.
func (q *Queue) Begin(places api.Places) {
	for shard, at := range places {
		q.begin(shard, at)
	}
}

// IsEnded says that the graph is gone, or the subscription closed.
func (q *Queue) IsEnded() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.ended
}

// move notes where a frame brings the watcher, read or not, and is what it has missed before that, if from is not above
// to: where the shard has moved in between, the first numbers of a new incarnation. q.mu is held.
func (q *Queue) move(f *api.Frame) (from, to int64) {
	from, to = f.Seq, f.Seq-1
	if q.last == nil || f.Type != "output" && f.Type != "firing" && f.Type != "gap" {
		return from, to
	}
	was, known := q.last[f.Shard]
	q.last[f.Shard] = f.At()
	// The gaps of a sample, which leaves out, are told where the run begins.
	if !known || f.Type == "gap" || f.Incarnation == was.Incarnation || f.LeftOut > 0 {
		return from, to
	}
	if f.Firing != nil && !q.topics[topicOutputs] {
		to -= int64(len(f.Firing.Outputs)) // which it has not asked for
	}
	return was.Seq + 1, to
}

// begin notes where the watcher begins in a shard of its graph.
func (q *Queue) begin(shard int, at api.Place) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.all {
		return
	}
	if q.at == nil {
		q.at = api.Places{}
	}
	q.at[shard] = at
	if _, known := q.last[shard]; q.last != nil && !known {
		q.last[shard] = at
	}
}

// put queues a frame, or notes the gap that it leaves. A health or state frame replaces an
// older one that still waits: only the newest matters.
func (q *Queue) put(f *api.Frame) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ended {
		return
	}
	if len(q.frames) >= MaxFrames || len(q.gaps) > 0 && len(q.frames) > MaxFrames/2 {
		q.miss(f)
		return
	}
	q.frames = append(q.frames, q.gaps...)
	q.gaps = nil
	if from, to := q.move(f); from <= to {
		q.frames = append(q.frames, &api.Frame{Type: "gap", Graph: f.Graph, Shard: f.Shard, Incarnation: f.Incarnation,
			From: from, To: to, Seq: to})
	}
	if n := len(q.frames); n > 0 && f.Type == "state" && q.frames[n-1].Type == "state" &&
		q.frames[n-1].Graph == f.Graph && q.frames[n-1].Shard == f.Shard {
		q.frames[n-1] = f
	} else {
		q.frames = append(q.frames, f)
	}
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// miss notes a frame in the gap of its stream. The watcher of all graphs has one gap for all, which has the name of the
// first: how many it has would tell of graphs that it may not know of.
func (q *Queue) miss(f *api.Frame) {
	from, _ := q.move(f)
	if f.Type == "gap" {
		from = f.From
	}
	for _, gap := range q.gaps {
		if q.all || gap.Shard == f.Shard {
			if gap.To, gap.Seq = f.Seq, f.Seq; !q.all {
				gap.Incarnation = f.Incarnation
			}
			gap.LeftOut += f.LeftOut
			return
		}
	}
	q.gaps = append(q.gaps, &api.Frame{Type: "gap", Graph: f.Graph, Shard: f.Shard, Incarnation: f.Incarnation,
		From: min(from, f.Seq), To: f.Seq, Seq: f.Seq, LeftOut: f.LeftOut})
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
		if len(q.gaps) > 0 {
			f, q.gaps = q.gaps[0], q.gaps[1:]
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
	q.frames, q.gaps = nil, nil
	hubs := q.hubs
	q.hubs = nil
	q.mu.Unlock()
	for h := range hubs {
		h.detach(q)
	}
}
