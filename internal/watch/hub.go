package watch

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/sink"
)

const (
	// MaxFrames bounds one watcher's queue: half a second of a busy graph. What does
	// not fit is announced as a gap, and never waited for.
	MaxFrames = 4096
	// stateEvery is how often watchers of the state see it at most.
	stateEvery = 100 * time.Millisecond
)

// Hub hands what happens in one graph to its watchers. It outlives the graph's runs. look
// runs on the reactor's goroutine, and costs one atomic load while nobody watches.
type Hub struct {
	ref      api.Ref
	shard    int
	watching atomic.Int32

	mu       sync.Mutex
	queues   []*Queue
	whole    []*Queue   // of these, who is told of every epoch
	samples  []*sampled // and who of some
	seen     int64      // records of the run that were handed out
	frame    int64      // the last frame that was, or that a gap told of
	run      int64      // the incarnation that seen counts
	told     condition  // by the last health frame
	stateAt  time.Time
	stateFor int64     // the epoch the last state frame showed
	rests    time.Time // until then nobody may be told of an epoch or a state: all are told of some, and have been
	closed   bool
}

// NewHub makes the hub of a graph that nobody watches.
func NewHub(ref api.Ref) *Hub { return &Hub{ref: ref} }

// NewShardHub makes the hub of one of several shards of a graph: its frames name it and are numbered for themselves.
func NewShardHub(ref api.Ref, shard int) *Hub { return &Hub{ref: ref, shard: shard} }

// Look hands out the records made since the last look. It answers when it wants to look
// again although nothing happens: a state frame may be due.
func (h *Hub) Look(c *reactor.Core, now time.Time) (again time.Time) {
	if h.watching.Load() == 0 {
		return time.Time{}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	cfg := c.Config()
	is := condition{string(c.Health()), c.Paused()}
	if now.Before(h.rests) && h.run == cfg.Incarnation && is == h.told {
		return h.rests // a thousand times a second, where four are told
	}
	if h.run != cfg.Incarnation {
		h.begin(cfg.Incarnation, c.FramesBefore())
	}
	h.seen = c.Records(h.seen, func(_ int64, r *reactor.Record) bool {
		h.missed(r.Seq - 1)
		h.publish(cfg, r, 0, h.whole, nil)
		h.frame = r.Seq + int64(len(r.Emitted))
		return true
	})
	h.missed(c.FramesShown())
	for _, s := range h.samples {
		again = sooner(again, s.tell(h, c, now))
	}
	if is != h.told {
		h.told = is
		h.sendHealth(api.ReasonOf(c.HealthReason()))
	}
	again = sooner(again, h.publishState(c, now))
	h.rests = h.restsUntil(now)
	return again
}

// begin has the hub follow a new run of the graph, whose frames begin behind one.
func (h *Hub) begin(run, before int64) {
	for _, s := range h.samples {
		s.begin(h, run, before)
	}
	h.run, h.seen, h.frame = run, 0, before
}

// missed announces a gap to a frame where those before it have left the ring since the last look.
func (h *Hub) missed(to int64) {
	if to <= h.frame {
		return
	}
	for _, q := range h.whole {
		if q.ofEpochs() {
			q.put(h.gap(h.run, h.frame+1, to))
		}
	}
	h.frame = to
}

func (h *Hub) gap(incarnation, from, to int64) *api.Frame {
	return &api.Frame{Type: "gap", Graph: h.ref.Name, Shard: h.shard, Incarnation: incarnation, Seq: to, From: from,
		To: to}
}

// publish sends one record's frames that come after a sequence number: an output frame
// each, then the firing. The first of them says what was left out before it, where to is who is told of some.
func (h *Hub) publish(cfg *reactor.Config, r *reactor.Record, after int64, to []*Queue, left *int64) {
	var outputs, firings bool
	for _, q := range to {
		outputs = outputs || q.topics[topicOutputs]
		firings = firings || q.topics[topicFirings]
	}
	if outputs {
		for k, e := range r.Emitted {
			if r.Seq+int64(k) <= after {
				continue
			}
			msg := sink.Message{Instance: cfg.Instance, Incarnation: r.Incarnation, Epoch: r.Epoch, Key: r.Key,
				Output: cfg.Outputs[e.Output], Stable: cfg.Stable(e.Output)}
			h.send(to, topicOutputs, &api.Frame{
				Type: "output", Seq: r.Seq + int64(k), Incarnation: r.Incarnation, Output: msg.Output, Epoch: r.Epoch,
				Key: keyJSON(r.Key), FiringID: msg.FiringID(), Value: valueJSON(e.Value), LeftOut: taken(left),
			})
		}
	}
	if firings {
		f := new(api.Firing)
		if err := json.Unmarshal(cfg.AppendRecord(nil, r), f); err != nil {
			return // its own encoding; a test reads every shape back
		}
		f.Shard = h.shard
		h.send(to, topicFirings, &api.Frame{
			Type: "firing", Seq: r.Seq + int64(len(r.Emitted)), Incarnation: r.Incarnation, Epoch: r.Epoch, Firing: f,
			LeftOut: taken(left),
		})
	}
}

func keyJSON(key boundary.Key) json.RawMessage {
	if key == "" {
		return nil
	}
	return json.RawMessage(key)
}

// publishState sends the state to those who watch it, when an epoch has changed it and the
// last frame is old enough; otherwise it says when that will be.
func (h *Hub) publishState(c *reactor.Core, now time.Time) (again time.Time) {
	var whole bool
	if c.Epoch() != h.stateFor && slices.ContainsFunc(h.whole, func(q *Queue) bool { return q.topics[topicState] }) {
		if due := h.stateAt.Add(stateEvery); now.Before(due) {
			again = due
		} else {
			h.stateAt, h.stateFor, whole = now, c.Epoch(), true
		}
	}
	var some []*sampled
	for _, s := range h.samples {
		is, due := s.stateDue(c.Epoch(), now)
		if again = sooner(again, due); is {
			some = append(some, s)
		}
	}
	if !whole && len(some) == 0 {
		return again
	}
	key := c.LastKey()
	st, err := c.GetState(key)
	if err != nil {
		return again // the key has been evicted since
	}
	wire := StateOf(c.Config(), &st)
	send := func(to []*Queue, seq int64) {
		h.send(to, topicState, &api.Frame{Type: "state", Seq: seq, Incarnation: h.run, Epoch: st.Epoch,
			Key: keyJSON(key), State: &wire})
	}
	if whole {
		send(h.whole, h.frame)
	}
	for _, s := range some {
		send([]*Queue{s.q}, s.frame)
	}
	return again
}

// condition is what a health frame tells.
type condition struct {
	health string
	paused bool
}

// frame has the number of the last output or firing that the watcher was told, or that was left out: it takes none of
// its own, so that a watcher can go on behind it.
func (c condition) frame(seq int64, why *api.Reason) *api.Frame {
	return &api.Frame{Type: "health", Health: c.health, Paused: &c.paused, Reason: why, Seq: seq}
}

// HealthChanged tells watchers of a change while no reactor runs.
func (h *Hub) HealthChanged(health string, why *api.Reason) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.told.health == health {
		return
	}
	h.told.health = health
	h.sendHealth(why)
}

// sendHealth tells each watcher of the condition, as of what it was told.
func (h *Hub) sendHealth(why *api.Reason) {
	h.send(h.whole, topicHealth, h.told.frame(h.frame, why))
	for _, s := range h.samples {
		h.send([]*Queue{s.q}, topicHealth, h.told.frame(s.frame, why))
	}
}

func (h *Hub) send(to []*Queue, topic string, f *api.Frame) {
	f.Graph, f.Shard = h.ref.Name, h.shard
	if f.Incarnation == 0 {
		f.Incarnation = h.run
	}
	for _, q := range to {
		if q.topics[topic] && (q.skip == nil || !q.skip(f)) {
			q.put(f)
		}
	}
}

// Attach adds a watcher of a graph without a run, or whose run begins later.
func (h *Hub) Attach(q *Queue) {
	h.mu.Lock()
	defer h.mu.Unlock()
	q.mu.Lock()
	defer q.mu.Unlock()
	if _, already := q.hubs[h]; already || h.closed || q.ended {
		return
	}
	h.queues = append(slices.Clip(h.queues), q)
	h.rests = time.Time{}
	if q.sample > 0 {
		h.samples = append(h.samples, newSampled(q, h))
	} else {
		h.whole = append(slices.Clip(h.whole), q)
	}
	q.hubs[h] = struct{}{}
	h.watching.Add(1)
}

// Join adds the watchers that another hub of the graph has. Who watches all graphs is not among them.
func (h *Hub) Join(of *Hub) {
	of.mu.Lock()
	queues := of.queues
	of.mu.Unlock()
	for _, q := range queues {
		if !q.all {
			h.Attach(q)
		}
	}
}

// AttachLive adds a watcher between two epochs, on the reactor's goroutine: it gets all
// that comes after, and those who watch already get theirs first.
func (h *Hub) AttachLive(c *reactor.Core, now time.Time, q *Queue) {
	h.mu.Lock()
	h.rests = time.Time{} // what is there now is for those who watch already
	h.mu.Unlock()
	h.Look(c, now)
	if h.watching.Load() == 0 {
		h.mu.Lock()
		h.run, h.seen, h.frame = c.Config().Incarnation, c.Records(math.MaxInt64, nil), c.FramesShown()
		h.told = condition{string(c.Health()), c.Paused()}
		h.mu.Unlock()
	}
	// What is not shown yet is still to come.
	q.begin(h.shard, api.Place{Incarnation: c.Config().Incarnation, Seq: c.FramesShown()})
	h.Attach(q)
}

// Resume adds a watcher as AttachLive does, and gives it what it has missed since its last frame, as far as the ring
// still has it. The rest is announced as a gap; where it does not say at which frame it was, all that there was is one.
// A place that the shard has not come to yet is refused. It runs on the reactor's goroutine.
func (h *Hub) Resume(c *reactor.Core, now time.Time, q *Queue, all api.Places) error {
	at, is := all[h.shard], api.Place{Incarnation: c.Config().Incarnation, Seq: c.Frames()}
	if !q.forMember && (at.Incarnation > is.Incarnation || at.Incarnation == is.Incarnation && at.Seq > is.Seq) {
		return ahead(h.shard, at, is)
	}
	h.AttachLive(c, now, q)
	h.replay(c, q, all)
	return nil
}

// ahead refuses a place that is ahead of where a shard is.
func ahead(shard int, at, is api.Place) error {
	return &api.Error{Status: http.StatusUnprocessableEntity, Code: api.CodeBadSince,
		Detail: fmt.Sprintf("since is ahead of the graph: there is no %s yet, the last frame is %s; leave since out "+
			"for what comes from now on", api.Places{shard: at}, api.Places{shard: is})}
}

// OfShards refuses places none of which is of a shard that there is: with another number of shards some may have gone.
func OfShards(at api.Places, shards int) error {
	for n := range at {
		if n < shards {
			return nil
		}
	}
	there := "the graph has one stream, which since names as incarnation:seq"
	if shards > 1 {
		there = fmt.Sprintf("the graph has the shards 0 to %d", shards-1)
	}
	return &api.Error{Status: http.StatusUnprocessableEntity, Code: api.CodeBadSince,
		Detail: fmt.Sprintf("since %s is of no shard that there is: %s", at, there)}
}

func (h *Hub) replay(c *reactor.Core, q *Queue, all api.Places) {
	at, known := all[h.shard]
	known = known && at.Incarnation > 0 // what is told of a shard before its first start has none
	h.mu.Lock()
	defer h.mu.Unlock()
	cfg, seq := c.Config(), at.Seq
	switch {
	case !known: // there was no such shard, or it was never heard of
		seq = c.FramesDealt()
	case at.Incarnation == cfg.Incarnation:
	case at.Incarnation == cfg.Incarnation-1, at.Incarnation >= c.Unbroken():
		seq = min(seq, c.FramesBefore()) // the numbers went on, from those that a crash did not undo
	default:
		seq = 0 // what was undone in between nobody knows
	}
	from, before := int64(math.MaxInt64), c.FramesShown() // the first record behind it that is kept; what was before
	c.Records(0, func(n int64, r *reactor.Record) bool {
		if r.Seq+int64(len(r.Emitted)) <= seq {
			return true
		}
		from, before = n, r.Seq-1
		return false
	})
	if before > seq {
		q.put(h.gap(cfg.Incarnation, seq+1, before))
	}
	for _, s := range h.samples {
		if s.q == q {
			s.hand(h, c, from, seq)
			return
		}
	}
	c.Records(from, func(_ int64, r *reactor.Record) bool {
		h.publish(cfg, r, seq, []*Queue{q}, nil)
		return true
	})
}

func (h *Hub) detach(q *Queue) {
	h.mu.Lock()
	defer h.mu.Unlock()
	is := func(one *Queue) bool { return one == q }
	if slices.Contains(h.queues, q) {
		h.queues = slices.DeleteFunc(slices.Clone(h.queues), is)
		h.whole = slices.DeleteFunc(slices.Clone(h.whole), is)
		h.samples = slices.DeleteFunc(h.samples, func(s *sampled) bool { return s.q == q })
		h.watching.Add(-1)
	}
}

// Close ends the graph's own watchers; those of all graphs just lose this one.
func (h *Hub) Close() {
	h.mu.Lock()
	queues := h.queues
	h.queues, h.whole, h.samples, h.closed = nil, nil, nil, true
	h.watching.Store(0)
	h.mu.Unlock()
	for _, q := range queues {
		q.end(h)
	}
}
