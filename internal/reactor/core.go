package reactor

import (
	"time"

	"github.com/google/uuid"
	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/graph"
)

// Config is what a core needs to know of its graph. It does not change for the core's life.
type Config struct {
	ID          checkpoint.ID
	Instance    uuid.UUID
	Incarnation int64
	Fence       int64
	Plan        *graph.Plan
	// Inputs are the plan's inputs, in the plan's order.
	Inputs []Input
	// Outputs are the plan's outputs, in the plan's order.
	Outputs []string
	// All fires when every triggering input has arrived, instead of any (M8).
	All       bool
	Guard     bool // the plan has a guard
	RateLimit time.Duration
	// WarmTimeout bounds the wait for healthy accumulators; then the graph fires anyway,
	// degraded, or fails when FailCold is set (M10).
	WarmTimeout time.Duration
	FailCold    bool
	// EpochTimeout bounds one epoch; it is checked between nodes (M25). Mono is the clock it is
	// read from, in nanoseconds; nil for virtual time, which has no such bound.
	EpochTimeout time.Duration
	Mono         func() int64
	// HaltOnFailure stops the graph at a failed epoch instead of moving on (M21).
	HaltOnFailure bool
	// Forgetful keeps no state between starts: records and dead letters only (durability: none).
	Forgetful bool
	// PlanHash tells whether a checkpoint was made under the same declaration (M33).
	PlanHash string
	// KeepFirings bounds the ring of firing records (M32).
	KeepFirings int
	// FullRecompute computes every node in every epoch; see [graph.Epoch].
	FullRecompute bool
}

// Input is one input of the graph.
type Input struct {
	Name       string
	Triggers   bool
	Sequential bool
	// Default is the value until the first boundary arrives; absent when there is none.
	Default boundary.Value
	// Identity names what the accumulator's persisted state belongs to: kind and source.
	// State and positions of another identity are not restored (M33).
	Identity string
}

// Core is a reactor's state and the rules that change it. Not safe for concurrent use.
type Core struct {
	cfg  Config
	cell *cell
	accs []account
	cut  cut
	res  graph.Result
	ep   graph.Epoch

	now      time.Time // engine time; never goes back (M26)
	epoch    int64
	admitted uint64 // admission sequence, over all inputs
	frames   int64  // sequence of what watchers see

	life      life
	paused    bool
	pausedBy  string
	pausedAt  time.Time
	lastStart time.Time // start of the last epoch, for rate_limit
	lastFired time.Time
	steps     int // epochs allowed while paused

	began      int64        // Mono at the start of the epoch
	interrupt  func() error // what the plan asks between nodes; nil without a clock
	guardWaits bool         // the head waits for an input the guard reads
	out        []Message
	ring       ring
	letters    []checkpoint.DeadLetter // since the last seal
	letterNo   int64
	sealing    int      // letters in the seal that is out
	emitted    []int64  // per output
	freed      []Credit // per input, what left its queue since TakeFreed
	stats      Stats
	changes    changes
}

// account is what the reactor keeps of one accumulator: where it stood at the last
// hand-over, its health, and the reactor's share of its books (M42).
type account struct {
	mark     accumulator.Mark
	restored []byte // the fold's state as loaded, until a mark brings a newer one
	health   accumulator.Health
	code     string
	detail   string

	filtered, conflated, dead, consumed int64
}

// NewCore makes a core that has never fired. Restore, if there is something to restore, comes next, then Start.
func NewCore(cfg Config) *Core {
	c := &Core{cfg: cfg, accs: make([]account, len(cfg.Inputs)), emitted: make([]int64, len(cfg.Outputs)), freed: make([]Credit, len(cfg.Inputs))}
	for i := range c.accs {
		c.accs[i].health = accumulator.Starting
	}
	c.cell = newCell(&cfg)
	c.cut.init(len(cfg.Inputs))
	c.ring.keep = cfg.KeepFirings
	c.changes.init(len(cfg.Inputs), len(cfg.Plan.Cells()))
	c.life = life{state: HealthStarting}
	if cfg.Mono != nil && cfg.EpochTimeout > 0 {
		c.interrupt = c.overran
	}
	return c
}

// Config is what the core was made with; it must not be changed.
func (c *Core) Config() *Config { return &c.cfg }

// Epoch is the number of the last epoch, 0 before the first.
func (c *Core) Epoch() int64 { return c.epoch }

// Frames is the number of the last watch frame.
func (c *Core) Frames() int64 { return c.frames }

// Now is the engine time: the greatest time the core was ever told.
func (c *Core) Now() time.Time { return c.now }

// Credit is room that became free in an input's queue.
type Credit struct {
	Boundaries int
	Bytes      int64
}

func (c *Credit) add(b *boundary.Boundary) {
	c.Boundaries++
	c.Bytes += int64(b.Size)
}

// TakeFreed calls each for every input whose queue got room since the last call.
func (c *Core) TakeFreed(each func(input int, freed Credit)) {
	for i := range c.freed {
		if c.freed[i].Boundaries > 0 {
			each(i, c.freed[i])
			c.freed[i] = Credit{}
		}
	}
}

// Released is what the epochs since the last call released, in order. The slice is
// reused by the next epoch.
func (c *Core) Released() []Message { return c.out }

// ResetReleased forgets what was released; the caller has handed it on.
func (c *Core) ResetReleased() {
	clear(c.out)
	c.out = c.out[:0]
}

func (c *Core) advance(now time.Time) {
	if now.After(c.now) {
		c.now = now
	}
}

// cell is the state of one key. An unkeyed graph has one, with the empty key.
type cell struct {
	key   boundary.Key
	slots []slot
	nodes *graph.State
	stamp uint64 // the last stamp given out; versions and ticks are stamps (M16)
}

// slot is one input of one key.
type slot struct {
	// cur is the value as of the last cut that was kept, set at version; absent and 0 before the first.
	cur     boundary.Value
	version uint64
	at      boundary.Position // where cur came from
	// pend is the newest boundary of a latest input that no cut has taken yet: its dirty flag.
	pend *boundary.Boundary
	// queue holds the boundaries of a sequential input in admission order.
	queue queue
}

func newCell(cfg *Config) *cell {
	c := &cell{slots: make([]slot, len(cfg.Inputs)), nodes: cfg.Plan.NewState()}
	for i, in := range cfg.Inputs {
		if !in.Default.IsAbsent() {
			c.stamp = 1
			c.slots[i].cur, c.slots[i].version = in.Default, 1
		}
	}
	return c
}

func (s *slot) dirty() bool   { return s.pend != nil || s.queue.len() > 0 }
func (s *slot) arrived() bool { return s.pend != nil || !s.cur.IsAbsent() }

// queued is one waiting boundary with its place in the admission order.
type queued struct {
	b   *boundary.Boundary
	seq uint64
}

// queue is a FIFO that reuses its array. Its length is bounded by the input's
// capacity, which the Inbox enforces.
type queue struct {
	items []queued
	head  int
}

func (q *queue) len() int         { return len(q.items) - q.head }
func (q *queue) at(i int) *queued { return &q.items[q.head+i] }
func (q *queue) push(it queued)   { q.items = append(q.compact(), it) }
func (q *queue) compact() []queued {
	if q.head > 64 && q.head*2 > len(q.items) {
		n := copy(q.items, q.items[q.head:])
		clear(q.items[n:])
		q.items, q.head = q.items[:n], 0
	}
	return q.items
}

func (q *queue) pop() queued {
	it := q.items[q.head]
	q.items[q.head] = queued{}
	q.head++
	return it
}
