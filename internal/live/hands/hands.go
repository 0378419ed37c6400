// Package hands are the workers of a graph's lanes: they evaluate the nodes of pools beside the reactor (M23).
//
// # Concurrency
//
// [Hands] are for the reactor's goroutine, but for Told, Running and Await. A pool has so many goroutines at work as
// its declaration says, and none while it has nothing to do. A run that is given up keeps its goroutine until it comes
// back, and another works in its place: the node itself is not run again meanwhile, so there are at most as many as
// nodes, or as `reentrant` of each. When the reactor has ended its owner takes leave of them: [Hands.Leave] says which
// nodes are at work still, [Hands.Await] waits for one of these, and [Hands.Close] joins all goroutines.
package hands

import (
	"slices"
	"sync"
	"time"

	"github.com/graphd/graphd/internal/graph"
)

// Hands are the workers of all pools of one graph. Nil has none.
type Hands struct {
	plan    *graph.Plan
	most    time.Duration // how long an epoch may take; 0: as long as it likes
	pools   []pool
	timer   *time.Timer     // of Take; nil before the first
	done    chan *graph.Run // what was given and neither taken nor dropped, when it has ended
	waited  time.Duration   // in Take
	working sync.WaitGroup

	mu   sync.Mutex
	back sync.Cond                // a run has ended
	runs []*run                   // that are at work, those that were given up too, in the order they began
	away map[int]int              // by node: those that were given up
	bill func(took time.Duration) // nil for nobody
}

// pool is one lane.
type pool struct {
	queue   []*graph.Run // bounded by the nodes of the lane
	workers int          // those of runs that were given up are none of them
	told    Told
}

// run is one that is at work.
type run struct {
	*graph.Run
	since time.Time
	lost  bool
}

// Told is what a pool has done.
type Told struct {
	// Runs is how many have ended, those that were given up among them once they have come back; Late are these.
	Runs, Late int64
	// Busy is how many are at work, Lost how many of them were given up, Waiting how many wait for a worker.
	Busy, Lost, Waiting int
}

// New makes the workers of a plan whose epochs may take so long; nil for a plan without pools.
func New(plan *graph.Plan, most time.Duration) *Hands {
	lanes := plan.Lanes()
	if len(lanes) == 0 {
		return nil
	}
	// A node is out once at a time, so what is done never waits for room.
	h := &Hands{plan: plan, most: most, pools: make([]pool, len(lanes)), away: map[int]int{},
		done: make(chan *graph.Run, len(plan.Nodes()))}
	h.back.L = &h.mu
	return h
}

// Work is a stretch of the reactor's work. To wait for pools is none: what they work they say themselves.
type Work struct {
	Began  time.Time
	hands  *Hands
	waited time.Duration // until then
}

// Begin begins a stretch of work, without pools too.
func (h *Hands) Begin() Work {
	w := Work{Began: time.Now(), hands: h}
	if h != nil {
		w.waited = h.waited
	}
	return w
}

// Took is how long the reactor has worked since then.
func (w Work) Took() time.Duration {
	took := time.Since(w.Began)
	if w.hands != nil {
		took -= w.hands.waited - w.waited
	}
	return took
}

// Bill has from now on somebody told how long each run took, one that was given up too when it comes back. He is told
// by the workers, one at a time, and must neither block nor call the Hands.
func (h *Hands) Bill(to func(took time.Duration)) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.bill = to
}

// Give implements [graph.Hands].
func (h *Hands) Give(r *graph.Run) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := &h.pools[r.Lane()]
	p.queue = append(p.queue, r)
	if p.workers < h.plan.Lanes()[r.Lane()].Threads {
		p.workers++
		h.working.Go(func() { h.work(p) })
	}
}

// work evaluates what waits in a pool until nothing does.
func (h *Hands) work(p *pool) {
	for {
		r := h.next(p)
		if r == nil {
			return
		}
		r.Do()
		if h.ended(p, r) {
			return
		}
	}
}

// next takes what has waited longest; nil when nothing does, and the worker is none any more.
func (h *Hands) next(p *pool) *run {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(p.queue) == 0 {
		p.queue = nil
		p.workers--
		return nil
	}
	r := &run{Run: p.queue[0], since: time.Now()}
	p.queue[0] = nil
	p.queue = p.queue[1:]
	h.runs = append(h.runs, r)
	return r
}

// ended takes note that a run has come back, and says whether its worker has been replaced.
func (h *Hands) ended(p *pool, r *run) (replaced bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.runs = slices.DeleteFunc(h.runs, func(o *run) bool { return o == r })
	h.back.Broadcast()
	p.told.Runs++
	if h.bill != nil {
		h.bill(time.Since(r.since))
	}
	if !r.lost {
		h.done <- r.Run // there is room
		return false
	}
	p.told.Late++
	if h.away[r.Node()]--; h.away[r.Node()] == 0 {
		delete(h.away, r.Node())
	}
	return true
}

// Take implements [graph.Hands].
func (h *Hands) Take(spent time.Duration, interrupt func() error) (*graph.Run, error) {
	select {
	case r := <-h.done:
		return r, nil
	default:
	}
	began := time.Now()
	r, err := h.take(spent, interrupt)
	h.waited += time.Since(began)
	return r, err
}

// take waits for a run that has ended, as Take does.
func (h *Hands) take(spent time.Duration, interrupt func() error) (*graph.Run, error) {
	if interrupt == nil || h.most <= 0 {
		return <-h.done, nil
	}
	for wait := h.most - spent; ; wait = 0 {
		wait = max(wait, time.Millisecond) // the epoch began a little before that was counted, or a little later
		if h.timer == nil {
			h.timer = time.NewTimer(wait)
		} else {
			h.timer.Reset(wait)
		}
		select {
		case r := <-h.done:
			h.timer.Stop()
			return r, nil
		case <-h.timer.C:
			if err := interrupt(); err != nil {
				return nil, err
			}
		}
	}
}

// Drop implements [graph.Hands].
func (h *Hands) Drop() (node int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range h.pools {
		clear(h.pools[i].queue)
		h.pools[i].queue = nil
	}
	node = -1
	for _, r := range h.runs { // in the order they began
		if !r.lost {
			if r.lost = true; node < 0 {
				node = r.Node()
			}
			h.away[r.Node()]++
			h.pools[r.Lane()].workers--
		}
	}
	for len(h.done) > 0 {
		<-h.done
	}
	return node
}

// Away implements [graph.Hands].
func (h *Hands) Away(node int) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.away[node]
}

// Told is what the pools have done and do, by the plan's lanes. It may be called from any goroutine.
func (h *Hands) Told() map[string]Told {
	if h == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	all := make(map[string]Told, len(h.pools))
	for i := range h.pools {
		t := h.pools[i].told
		t.Waiting = len(h.pools[i].queue)
		for _, r := range h.runs {
			if r.Lane() == i {
				t.Busy++
				if r.lost {
					t.Lost++
				}
			}
		}
		all[h.plan.Lanes()[i].Name] = t
	}
	return all
}

// Running is the node that has been at work for longest, those first that were given up: node is -1 when none is. It
// may be called from any goroutine.
func (h *Hands) Running() (node int, since time.Time, lost bool) {
	if h == nil {
		return -1, since, false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	node = -1
	for _, r := range h.runs {
		if node < 0 || r.lost && !lost {
			node, since, lost = r.Node(), r.since, r.lost
		}
	}
	return node, since, lost
}

// Leave gives up all that was given, when no epoch follows any more. It answers with the nodes that are at work still,
// in the order they began.
func (h *Hands) Leave() (nodes []int) {
	if h == nil {
		return nil
	}
	h.Drop()
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range h.runs {
		if !slices.Contains(nodes, r.Node()) {
			nodes = append(nodes, r.Node())
		}
	}
	return nodes
}

// Await waits until no run of a node is at work, however long that takes. It may be called from any goroutine.
func (h *Hands) Await(node int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for slices.ContainsFunc(h.runs, func(r *run) bool { return r.Node() == node }) {
		h.back.Wait()
	}
}

// Close waits for all that is at work.
func (h *Hands) Close() {
	if h != nil {
		h.working.Wait()
	}
}
