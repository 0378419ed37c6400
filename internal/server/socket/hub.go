package socket

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/graphd/graphd/internal/access"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/server/wire"
)

// Control is what connections need of the daemon; the methods are those of the server's
// Control. All may be called concurrently.
type Control interface {
	Intake
	Operator
	Observer
	Surveyor
}

// Intake takes pushed events.
type Intake interface {
	// Submit queues events in the order of the calls, so that one connection can have many pushes on their way. It
	// waits for room until ctx is done. answer, called once, waits for what became of them; when ctx ends before they
	// are taken it says how many were, with Full.
	Submit(ctx context.Context, g api.Ref, accumulator string, events []json.RawMessage) (
		answer func(ctx context.Context) (api.PushResult, error), err error)
	RejectBody(ctx context.Context, g api.Ref, accumulator, code string, n int) error
}

// Operator carries out commands.
type Operator interface {
	Fire(ctx context.Context, g api.Ref, req api.FireRequest) (api.FireResult, error)
	Pause(ctx context.Context, g api.Ref, by string) (api.GraphSummary, error)
	Resume(ctx context.Context, g api.Ref, by string) (api.GraphSummary, error)
	Step(ctx context.Context, g api.Ref, n int) (api.GraphSummary, error)
}

// Observer looks at graphs and brings them to rest.
type Observer interface {
	State(ctx context.Context, g api.Ref, key string) (api.State, error)
	Checkpoint(ctx context.Context, g api.Ref) (int64, error)
	Drain(ctx context.Context, g api.Ref) (api.GraphSummary, error)
	Watch(ctx context.Context, g api.Ref, w api.Wanted) (api.Subscription, error)
}

// Config is how connections are served. Every field is needed, except where it says otherwise.
type Config struct {
	Log             *slog.Logger
	Max             int           // connections at one time
	MaxFrame        int64         // bytes of a frame
	MaxDepth        int           // nesting of JSON
	FramesPerSecond int           // of one connection; 0: no limit
	PingInterval    time.Duration // between two pings
	WriteTimeout    time.Duration // how long a client may take to accept a write
	// Still refuses one who has connected and may not stay; it is asked every AskAgain.
	Still    func(ctx context.Context, who *access.Principal) error
	AskAgain time.Duration
	// Moved says that another daemon runs a graph, to which a connection gets that is made anew; it is asked as often.
	// Nil says it of none.
	Moved func(g api.Ref) bool
	// Take counts a connection of a tenant, and refuses one that its quota leaves no room for; nil takes any. free is
	// called once.
	Take func(tenant string) (free func(), err error)
	// Frames holds back one whose token sends too many frames and bytes in them, or returns when ctx is done.
	Frames func(ctx context.Context, who *access.Principal, frames, bytes int) error
	// Denied is told of a command that its sender may not give.
	Denied func(ctx context.Context, command, graph string)
}

// Hub admits connections and knows all of them. It starts no goroutine of its own but those that look at graphs while
// somebody watches how they stand, which [Hub.Join] joins. Safe for concurrent use.
type Hub struct {
	cfg      Config
	ctl      Control
	commands map[string]access.Guard[command]
	lookout  *lookout
	slow     atomic.Int64

	mu         sync.Mutex
	each       map[string]int // connections by tenant
	conns      map[*conn]struct{}
	turnedAway int
	closing    bool
	idle       chan struct{} // closed when closing and nobody is left
}

// NewHub makes a hub over ctl.
func NewHub(ctl Control, cfg Config) *Hub {
	h := &Hub{cfg: cfg, ctl: ctl, conns: map[*conn]struct{}{}, each: map[string]int{}, idle: make(chan struct{}),
		commands: commands(), lookout: newLookout(ctl, cfg.Log)}
	return h
}

// Push serves a connection that pushes to an accumulator, which exists. The error
// is a refusal that the caller is to answer: the request was not upgraded.
func (h *Hub) Push(w http.ResponseWriter, r *http.Request, g api.Ref, accumulator string,
	who *access.Principal) error {
	return h.serve(w, r, g, who, func(c *conn) endpoint { return newPushEndpoint(c, g, accumulator) })
}

// Watch serves a connection that commands and watches one graph, which exists, or watches
// all graphs of a tenant that who may know of when g.Name is "". The error is as for Push.
func (h *Hub) Watch(w http.ResponseWriter, r *http.Request, g api.Ref, who *access.Principal) error {
	return h.serve(w, r, g, who, func(c *conn) endpoint { return newWatchEndpoint(c, g, who) })
}

// Open is how many connections there are.
func (h *Hub) Open() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return int64(len(h.conns) - h.turnedAway)
}

// SlowClosed is how many connections ended because their client took nothing for too long.
func (h *Hub) SlowClosed() int64 { return h.slow.Load() }

// maxTurnedAway is how many connections over the limit are told so with 1013 at one
// time. Their goodbye takes a goroutine for up to ten seconds each; the rest get a 503.
const maxTurnedAway = 64

// enter admits c, which must leave.
func (h *Hub) enter(c *conn) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.closing:
		return wire.Refuse(http.StatusServiceUnavailable, api.CodeShuttingDown, "the daemon is shutting down")
	case len(h.conns)-h.turnedAway < h.cfg.Max, h.spare(c.who.Tenant):
		h.each[c.who.Tenant]++
	case h.turnedAway < maxTurnedAway:
		h.turnedAway++
		c.turned = true
	default:
		return wire.Refuse(http.StatusServiceUnavailable, api.CodeTooManyConnections,
			fmt.Sprintf("there are %d WebSocket connections already; try again later", h.cfg.Max))
	}
	h.conns[c] = struct{}{}
	return nil
}

// spare says whether a tenant with few connections may have one past the bound: those of others do not keep it out.
func (h *Hub) spare(tenant string) bool {
	return len(h.conns)-h.turnedAway < h.cfg.Max+h.cfg.Max/4 && h.each[tenant] < h.cfg.Max/8
}

func (h *Hub) leave(c *conn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.conns, c)
	if c.turned {
		h.turnedAway--
	} else if h.each[c.who.Tenant]--; h.each[c.who.Tenant] == 0 {
		delete(h.each, c.who.Tenant)
	}
	if h.closing && len(h.conns) == 0 {
		close(h.idle)
	}
}

// Close admits nobody any more and begins to close every connection: with 1001, and with 1012 those that another member
// has forwarded, which stays.
func (h *Hub) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closing {
		return
	}
	h.closing = true
	if len(h.conns) == 0 {
		close(h.idle)
	}
	for c := range h.conns {
		if c.forwarded {
			c.end(moved)
		} else {
			c.end(&closing{code: websocket.StatusGoingAway, reason: "the daemon is shutting down"})
		}
	}
}

// Join waits, after Close, until every connection has ended. When ctx is done first it
// cuts off those that have not, and says how many.
func (h *Hub) Join(ctx context.Context) error {
	defer h.lookout.close() // what looks ends with its context
	select {
	case <-h.idle:
		return nil
	case <-ctx.Done():
	}
	h.mu.Lock()
	n := len(h.conns)
	for c := range h.conns {
		c.cut()
	}
	h.mu.Unlock()
	if n == 0 {
		return nil
	}
	// A connection that was cut ends as soon as what it called in the daemon returns.
	grace := time.NewTimer(h.cfg.WriteTimeout)
	defer grace.Stop()
	select {
	case <-h.idle:
	case <-grace.C:
	}
	return fmt.Errorf("%d WebSocket connections were cut off: %w", n, context.Cause(ctx))
}
