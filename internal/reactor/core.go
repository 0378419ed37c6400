package reactor

import (
	"cmp"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/accumulator/stage"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/graph"
	"github.com/graphd/graphd/internal/kind"
	"github.com/graphd/graphd/internal/reactor/answers"
	"github.com/graphd/graphd/internal/reactor/form"
	"github.com/graphd/graphd/internal/reactor/pace"
	"github.com/graphd/graphd/internal/refused"
	"github.com/graphd/graphd/internal/sink"
)

// Config is what a core needs to know of its graph. It does not change for the core's life.
type Config struct {
	ID          checkpoint.ID
	Shards      int    // that the keys are dealt to, of which ID names one; 0 is one
	DealtBy     string // the function that they are dealt by; "" is graphd's own
	DealtOn     string // names what events have as their keys, by which they are dealt; "" where nobody asks
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
	// Debounce delays an epoch until nothing that triggers has arrived for so long, Every to
	// the next instant of a grid; MaxWait bounds how long what has arrived waits for the rest
	// or for quiet (M8). 0 is none.
	Debounce, Every, MaxWait time.Duration
	// WarmTimeout bounds the wait for healthy accumulators; then the graph fires anyway,
	// degraded, or fails when FailCold is set (M10).
	WarmTimeout time.Duration
	FailCold    bool
	// EpochTimeout bounds one epoch; it is checked between nodes (M25). Mono is the clock it is
	// read from, in nanoseconds; nil for virtual time, which has no such bound.
	EpochTimeout time.Duration
	Mono         func() int64
	// Observe is shown the record of each epoch that ends, and not those of a replay; nil: nobody looks.
	Observe func(*Record)
	// Beside is about how many bytes nodes hold beside their values. nil: none.
	Beside func() int64
	// Foreign is told which node runs somebody else's code; see [graph.Epoch]. nil: nobody asks.
	Foreign func(node int)
	// Hands evaluate nodes of pools; see [graph.Epoch]. nil: all run inline.
	Hands graph.Hands
	// HaltOnFailure stops the graph at a failed epoch instead of moving on (M21).
	HaltOnFailure bool
	// Forgetful keeps no state between starts: records and dead letters only (durability: none).
	Forgetful bool
	// PlanHash tells whether a checkpoint was made under the same declaration (M33).
	PlanHash string
	// MaxMicroEpochs bounds the epochs of one instant that take nothing new (M17); 0 is
	// DefaultMicroEpochs.
	MaxMicroEpochs int
	// KeepFirings bounds the ring of firing records (M32).
	KeepFirings int
	// FullRecompute computes every node in every epoch; see [graph.Epoch].
	FullRecompute bool
	// Keys is set for a keyed reactor (M13).
	Keys *Keys
	// Routes are how the outputs' values leave, by output; nil when all are direct.
	Routes []Route
	// Journal logs the calls that decide the epochs, for DrainJournal (M29).
	Journal bool
	// Stages are the inputs that nodes of the graph feed, each behind those that feed it.
	Stages []stage.Declared
	// EventClock says that engine time is that of the events; see [Core.SetWall].
	EventClock bool
	// Refusals keeps a sample of what comes to nothing, for [Core.Refused].
	Refusals bool
	// Answer answers what nodes call for at once, within the epoch, and Asked has nothing; nil where the shell calls.
	// An answer that is not in time fails the epoch by its epoch_timeout.
	Answer func(node int, r *kind.Request) (a kind.Answer, inTime bool)
}

// Keys is what a keyed reactor needs to know of its keys.
type Keys struct {
	// Identity names what the keys mean: persisted state of another identity is not restored, but where only inputs
	// have come or gone; see [Config.KeepsKeys].
	Identity string
	// Times says for each part of a key whether it is a time: expressions read it as one.
	Times []bool
	// TTL forgets a key this long after its last arrival; 0 for never.
	TTL time.Duration
	// Max is how many keys are kept; one more and the least recently used goes.
	Max int
	// MaxWaiting bounds what waits in each queue of a key, MaxWaitingBytes what waits in all keys.
	MaxWaiting      int
	MaxWaitingBytes int64
	// Drop counts the events that an evicted key had not consumed as filtered; otherwise
	// they become dead letters.
	Drop bool
}

// Input is one input of the graph.
type Input struct {
	Name     string
	Triggers bool
	// Sequential queues every boundary, one to an epoch; Burst queues them too and hands all of
	// them to the next epoch as a list. Neither: the newest is what counts (M9).
	Sequential, Burst bool
	// Group is the number of the input's sync_group, 0 for none.
	Group int
	// Global inputs of a keyed reactor have one value, which all keys share.
	Global bool
	// Alone says that under [Config.All] the input fires by itself: what the others wait for each
	// other for is what it comes of.
	Alone bool
	// Capacity and CapacityBytes are how much waits of a stage's boundaries before others wait for it.
	Capacity      int
	CapacityBytes int64
	// Lateness is how far the events may be out of order of an input that folds windows.
	Lateness time.Duration
	// LateTo is the input that this one's late events go to; "" for none.
	LateTo string
	// Table is set for a table: an input whose value refers to what its accumulator keeps; see tables.go.
	Table accumulator.TableRows
	// AsOf says that rows of the table are looked up as of the time of what fires; see lookBack.
	AsOf bool
	// Default is the value until the first boundary arrives; absent when there is none.
	Default boundary.Value
	// Key names what gives the input's boundaries their keys; "" where they have none, and where a join takes them.
	Key string
	// Identity names what the accumulator's persisted state belongs to: kind and source.
	// State and positions of another identity are not restored (M33).
	Identity string
}

// Lane is how much of one input may wait in front of the core, and how it waits: the shell keeps to it.
type Lane struct {
	Name       string
	LateTo     string // the lane that late events go to; "" for none
	Sequential bool   // or burst: every boundary waits for a cut
	Keyed      bool   // boundaries have keys: one overwrites another of the same key only
	Grouped    bool   // in a sync_group
	Table      bool   // the newest boundary has all that those before it had
	Capacity   int
	MaxBytes   int64
}

// queues says that boundaries wait in a queue, and not as the newest alone.
func (in *Input) queues() bool { return in.Sequential || in.Burst || in.Group != 0 }

// bounded says that the queue is bounded by the room of the input's lane, which a cut frees.
func (in *Input) bounded() bool { return in.Sequential || in.Burst }

// Core is a reactor's state and the rules that change it. Not safe for concurrent use.
type Core struct {
	cfg Config
	// cell is the key at hand: what criteria, cut and epoch speak of. shared is the only
	// one of an unkeyed graph; in a keyed one it holds the inputs that all keys share.
	cell, shared *cell
	place        []int   // by input: its slot in the cell of a key, -1 when it is in shared
	guardNeeds   []int   // the inputs that the guard plainly reads
	ending       *ending // at the end of a run whose stages ticks may feed; nil before
	// Flags stand together: there is a core for every graph, and many graphs rest.
	zip      bool // a sequential input is among those that trigger
	queueing bool // a key has queues
	alone    bool // some input fires by itself under all
	timed    bool // some timer decides when an epoch may start
	direct   bool // the criteria are those of most graphs: see pickDirect
	short    bool // see Through
	asOf     bool // rows are looked up as of what fires
	other    bool // what was restored goes by the other clock
	anew     bool // so does what is timed still, for engine time has not begun
	fed      bool // since what stage inputs have complete was handed over
	paused   bool
	emitAll  bool // the epoch at hand puts out every current value
	timedOut bool // the last epoch ran past its time
	asked    bool // the Fire at hand has met a guard that waits
	keys     keys
	accs     []account
	stages   *stage.Set // nil when there are none
	cut      cut
	*work    // nil before the first epoch

	now                   time.Time // engine time; never goes back (M26)
	wall                  time.Time // see SetWall
	open                  int64     // see OpenInstant; or never
	stamp                 uint64    // the last stamp given out; versions and ticks are stamps (M16)
	epoch                 int64
	kept                  int64  // epochs of this incarnation that changed the state
	admitted, completedBy uint64 // admission sequences: over all inputs, and of what completed the key at hand
	frames                int64  // sequence of what watchers see
	framesBefore          int64  // of it, what the checkpoint had that this run began with
	framesDealt           int64  // of it, what there was when the keys were dealt anew
	unbroken              int64  // see Unbroken; 0 is this incarnation

	life      life
	pausedBy  string
	pausedAt  time.Time
	stops     stops
	waited    map[string]int // what a restored head says of nodes that were left out, before the first epoch
	lastStart time.Time      // start of the last epoch
	ticked    int64          // the last instant of the cadence that was served, in nanoseconds; or never
	pace      *pace.Lanes    // the cadences of lanes; nil for none
	tick      pace.Tick      // the lanes that tick in the epoch at hand
	lastFired time.Time
	steps     int    // epochs allowed while paused
	taken     uint64 // boundaries that cuts have taken
	micro     int    // epochs since the last that took something, or since the instant began

	began       int64         // Mono at the start of the epoch
	took        time.Duration // by the last epoch or false guard since Fire began; see Took
	interrupt   func() error  // what the plan asks between nodes; nil without a clock
	out         []sink.Message
	ring        ring
	deadLetters []checkpoint.DeadLetter // since the last seal
	letterNo    int64
	sealing     int      // letters in the seal that is out
	emitted     []int64  // per output
	filtered    []int64  // per output, values that its condition or their being null kept back
	refused     []int64  // per output, values that became dead letters, by its sink or the store
	freed       []Credit // per input, what left its queue since DrainFreed
	caught      []bool   // per input, a side of a join that does not trail, see [Core.Trail]
	owed        []Credit // per input, what a join has taken and not given room back for; nil without joins
	changes     changes
	holds       holds
	journal     journal
	calls       *calls            // nil in a graph that calls nobody
	looks       *expression.Looks // rows that the epoch at hand has looked up; nil without tables
	defaults    map[string]uint64 // see [Config.defaults]; nil without any
	prints      []uint32          // of them, by input, as slots are sealed with; nil without any
	weigher     weigher

	nothing *refused.Ring // what has come to nothing; nil: it is not noted

	hands func(i int, bs []boundary.Boundary) // see OnHanded; nil: nobody asks
}

// work is what epochs are computed in. A graph that has had none is without it: most rest.
type work struct {
	res   graph.Result
	ep    graph.Epoch
	guard graph.Asking
	stats Stats
}

// MaxDeadLetters bounds the dead letters that wait for a commit. Past it nothing is admitted,
// fired or expired until the store takes them: nothing is dropped (M5).
const MaxDeadLetters = 10_000

// account is what the reactor keeps of one accumulator: where it stood at the last
// handoff, its health, and the reactor's share of its books (M42).
type account struct {
	mark     accumulator.Mark
	restored []byte // the fold's state as loaded, until a mark brings a newer one
	parts    parts
	table    accumulator.FoldState // of a table: what its newest boundary refers to; nil for an empty one
	health   accumulator.Health
	code     string
	detail   string

	filtered, conflated, dead, consumed int64
	reasons                             map[string]int64 // dead-lettered events, by code
	waiting                             backlog
	own                                 backlog // of what waits, what takes no room: it is the keys'

	last from // of the newest value, whose stream the next has as a rule
}

// NewCore makes a core that has never fired. Restore, if there is something to restore, comes next, then Start.
func NewCore(cfg Config) *Core {
	cfg.MaxMicroEpochs = cmp.Or(cfg.MaxMicroEpochs, DefaultMicroEpochs)
	c := &Core{cfg: cfg, accs: make([]account, len(cfg.Inputs)), emitted: make([]int64, len(cfg.Outputs)),
		filtered: make([]int64, len(cfg.Outputs)), refused: make([]int64, len(cfg.Outputs)),
		freed: make([]Credit, len(cfg.Inputs)), defaults: cfg.defaults()}
	if cfg.Keys == nil { // no key has a lane with a cadence, and nobody would serve its ticks
		c.pace = pace.New(cfg.Plan.Rates())
	}
	lateness := make([]time.Duration, len(cfg.Inputs))
	for i := range c.accs {
		c.accs[i].health, lateness[i] = accumulator.Starting, cfg.Inputs[i].Lateness
	}
	c.stages, c.caught = stage.NewSet(cfg.Stages, lateness), make([]bool, len(cfg.Inputs))
	c.watchRefusals()
	if slices.ContainsFunc(cfg.Stages, func(d stage.Declared) bool { return d.Joins }) {
		c.owed = make([]Credit, len(cfg.Inputs))
	}
	for _, s := range c.stages.All() {
		c.accs[s.Input].health = accumulator.Live
	}
	c.stops = stops{make([]*Stopped, len(cfg.Inputs)), make([]*Stopped, len(cfg.Outputs))}
	c.changes.init(len(cfg.Inputs), len(cfg.Plan.Cells()))
	c.guardNeeds = cfg.Plan.GuardNeeds()
	if cfg.Plan.Calls() {
		c.calls = &calls{Try: answers.Try{Callers: cfg.Plan.Callers(), Source: cfg.Answer}, trust: answers.MostTrust}
	}
	c.layOut()
	c.cut.init(len(cfg.Inputs))
	c.holds.init(len(cfg.Outputs))
	c.journal.marks = make([]bool, len(cfg.Inputs))
	c.ring.keep = cfg.KeepFirings
	if cfg.KeepFirings > 0 && slices.ContainsFunc(cfg.Inputs, func(in Input) bool { return in.Table != nil }) {
		c.looks = &expression.Looks{}
	}
	c.asOf = slices.ContainsFunc(cfg.Inputs, func(in Input) bool { return in.AsOf })
	c.life, c.ticked, c.open = life{state: HealthStarting}, form.Never, form.Never
	if cfg.Mono != nil && cfg.EpochTimeout > 0 {
		c.interrupt = c.overran
	}
	return c
}

// Config is what the core was made with; it must not be changed.
func (c *Core) Config() *Config { return &c.cfg }

// Epoch is the number of the last epoch, 0 before the first.
func (c *Core) Epoch() int64 { return c.epoch }

// Kept is how many epochs of this incarnation were kept.
func (c *Core) Kept() int64 { return c.kept }

// Completed is the admission sequence of the boundary that completed the criteria of the last epoch's key.
func (c *Core) Completed() uint64 { return c.completedBy }

// Frames is the number of the last watch frame.
func (c *Core) Frames() int64 { return c.frames }

// FramesBefore is the number of the last watch frame before those of this incarnation.
func (c *Core) FramesBefore() int64 { return c.framesBefore }

// FramesDealt is the number of the last watch frame before the keys were dealt to this shard.
func (c *Core) FramesDealt() int64 { return c.framesDealt }

// Unbroken is the incarnation since which each has ended with a checkpoint of everything: what any of them has shown to
// watchers was undone by none after it.
func (c *Core) Unbroken() int64 { return cmp.Or(c.unbroken, c.cfg.Incarnation) }

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

// DrainFreed calls each for every input whose queue got room since the last call. Less than none is
// room that was taken: late events of a stage wait there.
func (c *Core) DrainFreed(each func(input int, freed Credit)) {
	c.repay()
	for i := range c.freed {
		if c.freed[i] != (Credit{}) {
			if c.stages.Of(i) == nil { // what a stage hands over takes no room there
				each(i, c.freed[i])
			}
			c.freed[i] = Credit{}
		}
	}
}

// Released is what the epochs since the last call released, in order. The slice is
// reused by the next epoch.
func (c *Core) Released() []sink.Message { return c.out }

// ResetReleased forgets what was released; the caller has handed it on.
func (c *Core) ResetReleased() {
	clear(c.out)
	c.out = c.out[:0]
}

// advance moves engine time on, if now is later. Most calls tell the time that the one before
// told, which is seen without a call.
func (c *Core) advance(now time.Time) {
	if now != c.now {
		c.moveOn(now)
	}
}
