package life

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/accumulator/pump"
	"github.com/graphd/graphd/internal/accumulator/pump/reader"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/compile"
	"github.com/graphd/graphd/internal/failpoint"
	"github.com/graphd/graphd/internal/feed"
	"github.com/graphd/graphd/internal/graphrun/told"
	"github.com/graphd/graphd/internal/graphrun/told/lately"
	"github.com/graphd/graphd/internal/lease"
	"github.com/graphd/graphd/internal/live"
	"github.com/graphd/graphd/internal/live/delivery"
	"github.com/graphd/graphd/internal/live/hands"
	"github.com/graphd/graphd/internal/live/laps"
	"github.com/graphd/graphd/internal/quota"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/rest"
	"github.com/graphd/graphd/internal/sink"
	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/supervisor"
	"github.com/graphd/graphd/internal/trace"
	"github.com/graphd/graphd/internal/watch"
)

// Kinds builds what a declaration names.
type Kinds interface {
	// Source makes accumulator i's source; nil when the socket is all there is.
	Source(u *compile.Unit, i int) (accumulator.Source, error)
	// Sink makes output i's sink; nil when values are only counted and watched.
	Sink(u *compile.Unit, i int) (sink.Sink, error)
}

// Host is what the runs of all graphs of one daemon share.
type Host struct {
	Store checkpoint.Store
	Kinds Kinds
	Log   *slog.Logger
	// Feeds are the links between graphs.
	Feeds *feed.Links
	// Gate bounds how many graphs run epochs at one time; nil is no bound.
	Gate *live.Gate
	// Careful has one place, for the graph that tries an epoch again which it tried before a crash (M43).
	Careful *live.Gate
	// Fail is the failpoint that is armed; nil for none.
	Fail *failpoint.Set
	// Quotas are those of tenants; nil bounds nobody.
	Quotas *quota.Book
	// Traces are told of epochs; nil tells nobody.
	Traces *trace.Tracer
}

// Graph is what a run shares with the runs of its graph before and after it.
type Graph struct {
	*Host
	Ref  api.Ref
	ID   checkpoint.ID
	Unit *compile.Unit
	// Shards is how many the graph is dealt to, ID says which one of them is run; 1 where it is not dealt.
	Shards int
	// Mailboxes take pushes whether a run is on or not, per accumulator.
	Mailboxes []*pump.Mailbox
	// Readers read the sources for all shards, per accumulator; nil where the graph is not dealt.
	Readers  []*reader.Reader
	Hub      *watch.Hub
	Restarts *told.Restarts
	// Record keeps a recovery event.
	Record func(checkpoint.RecoveryEvent)
	// Held says whether the run is to wait for LetGo.
	Held func() bool
	// Published is told that the reactor has published a view. It must not block.
	Published func()
	// StopTime is the time that a stop of the run has; it outlives what asked for the stop.
	StopTime func() (context.Context, context.CancelFunc)
}

// Run is one life of a graph, from a checkpoint to its end. Everything in it is fresh.
type Run struct {
	Head    checkpoint.Head // what it began with
	Reactor *live.Reactor

	g       *Graph
	term    *lease.Term // the run sends nothing out when it is over
	inbox   *live.Inbox
	accs    []*accumulatorRun
	rates   lately.Rates
	epochs  lately.EpochRate
	ages    lately.Ages
	astray  told.Misplaced
	traces  *trace.Graph
	foreign *foreign
	flushed *supervisor.Group // the writers

	attaching sync.Mutex // one look for new links at a time

	abandoned atomic.Bool     // nothing of the run leaves it any more
	handed    atomic.Bool     // it ends for another daemon to go on
	end       context.Context // of the stop; set before the reactor is told to stop

	ending atomic.Pointer[laps.Laps] // the steps of a hand-back; nil while there is none, or nobody asks
	begins *laps.Laps                // those to the first commit, nil after it; the reactor's, once that runs
	fired  bool                      // an epoch was kept; the reactor's, too

	gaveUp chan error // why the run is to end; a place for each accumulator, for the reactor and for a hand-back
	bell   rest.Bell  // of Live
	failed bool       // the reactor has said so; its goroutine's alone

	wmu     sync.Mutex
	writers []*delivery.Writer // per output; nil where nothing is delivered. More may come with links
}

// accumulatorRun is one accumulator's place in a run.
type accumulatorRun struct {
	index    int
	spec     *spec.Accumulator
	operator *supervisor.Restarter

	// epochs tells an accumulator that flushes with epochs that some were kept; nil for others.
	// One signal stands for any number, so it holds one.
	epochs chan struct{}

	mu       sync.Mutex
	restarts int
	live     accumulator.Source // the one that runs; nil when none does
}

// New builds the run of a graph that was acquired as head says, from its last checkpoint. It ends
// with t.
func New(ctx context.Context, g *Graph, head checkpoint.Head, t *lease.Term, begins *laps.Laps) (*Run, error) {
	instance, err := uuid.Parse(head.Instance)
	if err != nil {
		return nil, fmt.Errorf("%w: instance %q: %w", reactor.ErrCorrupt, head.Instance, err)
	}
	sinks, err := g.openSinks()
	if err != nil {
		return nil, err
	}
	r, err := g.build(ctx, head, instance, sinks, t)
	if err != nil {
		g.closeSinks(sinks)
		return nil, err
	}
	begins.Lap("loaded")
	r.begins = begins
	return r, nil
}

// build makes the pieces of a run around the restored core.
func (g *Graph) build(ctx context.Context, head checkpoint.Head, instance uuid.UUID, sinks []sink.Sink, t *lease.Term) (
	*Run, error) {
	depths, err := g.Store.OutboxDepths(ctx, g.ID)
	if err != nil {
		return nil, err
	}
	cfg := g.Unit.Reactor()
	cfg.Shards, cfg.Refusals = g.Shards, true
	cfg.ID, cfg.Instance, cfg.Incarnation, cfg.Fence = g.ID, instance, head.Incarnation, head.Fence
	cfg.Routes = g.routes(sinks, depths)
	began := time.Now()
	cfg.Mono = func() int64 { return int64(time.Since(began)) }
	traces := g.traces(&cfg)
	code := new(foreign)
	cfg.Foreign = code.runs
	workers := hands.New(cfg.Plan, cfg.EpochTimeout)
	if workers != nil {
		cfg.Hands = workers
	}
	core, err := g.restore(ctx, cfg, head)
	if err != nil {
		return nil, err
	}
	declared := g.Unit.Spec
	r := &Run{g: g, foreign: code, traces: traces, term: t, Head: head, inbox: live.NewInbox(g.Unit.Lanes()),
		writers: make([]*delivery.Writer, len(sinks)),
		gaveUp:  make(chan error, len(g.Unit.Programs)+2)}
	for i, in := range core.Look().Inputs {
		if declared.Accumulators[i].Strategy != "latest" && !declared.Accumulators[i].Fed() {
			r.inbox.Occupy(i, in.Depth-in.Own.Boundaries, in.DepthBytes-in.Own.Bytes)
		}
		g.Mailboxes[i].Begin(declared.Accumulators[i].Name)
		if in.Stopped != nil {
			g.Mailboxes[i].Stop()
		} else {
			g.Mailboxes[i].Start()
		}
		a := &accumulatorRun{index: i, spec: &declared.Accumulators[i], operator: supervisor.NewRestarter()}
		if g.Unit.Programs[i].FlushesWithEpochs() {
			a.epochs = make(chan struct{}, 1)
		}
		r.accs = append(r.accs, a)
	}
	for i, sink := range sinks {
		if cfg.Routes[i].Path != reactor.PathCoTransaction {
			sink = g.relayed(i, sink)
		}
		if sink != nil {
			if r.writers[i], err = r.storedWriter(ctx, i, sink, depths, core); err != nil {
				return nil, err
			}
		}
	}
	d, meter := declared.Durability, g.meter(core.Keyed())
	workers.Bill(func(took time.Duration) { meter.Worked(g.ID.Shard, took) })
	r.Reactor = live.New(live.Options{
		Core: core, Inbox: r.inbox, Writers: slices.Clone(r.writers), Store: g.Store, Journal: g.Store,
		Ledger: g.Store, Head: &head,
		Drop:     g.orphans(depths, r.writers, cfg.Routes, head.Incarnation),
		Interval: d.Interval, EveryEpochs: d.EveryEpochs, Watch: r.watch, Kept: r.kept, Mirror: r.mirror,
		Flush: r.flush, Published: r.published, Committed: r.committed,
		Hold: g.Held(), Epochs: g.Gate, Careful: g.Careful,
		Owned: r.owned, Term: t.Context(), Shutdown: func() context.Context { return r.end }, Fail: g.Fail,
		HandOver: r.handed.Load, Steps: r.ending.Load,
		Idle: declared.Idle, Meter: meter, Waiting: g.waiting, Hands: workers,
		Log: g.Log.With("graph", g.Ref.Name, "tenant", g.Ref.Tenant),
	})
	r.epochs.Sample(core.Epoch(), time.Now())
	r.ages.Sample(&r.Reactor.View().View, declared, time.Now())
	r.astray.Sample(r.Reactor.View().Inputs, declared.Accumulators)
	return r, nil
}

// meter counts what the graph costs, and keeps it within its limits.
func (g *Graph) meter(keyed bool) *quota.Meter {
	m, limits := g.Quotas.Meter(g.Ref.Tenant, g.Ref.Name), g.Unit.Spec.Limits
	m.Bind(quota.Bounds{EventsPerSecond: limits.EventsPerSecond, Cores: limits.CPU, Memory: limits.Memory,
		Keyed: keyed})
	return m
}

// waiting is what pushed events hold that no accumulator has taken.
func (g *Graph) waiting() (bytes int64) {
	for _, m := range g.Mailboxes {
		_, b := m.Depth()
		bytes += b
	}
	return bytes
}

// newWriter makes the writer of output i, to begin with nothing.
func (r *Run) newWriter(i int, sink sink.Sink) *delivery.Writer {
	return delivery.NewWriter(r.writerConfig(i, sink))
}

// storedWriter makes the writer of output i, to begin with what the store has for it.
func (r *Run) storedWriter(ctx context.Context, i int, sink sink.Sink, depths []checkpoint.OutboxDepth,
	core *reactor.Core) (*delivery.Writer, error) {
	cfg := r.writerConfig(i, sink)
	if err := r.g.stored(ctx, i, &cfg, core, depths); err != nil {
		return nil, err
	}
	return delivery.NewWriter(cfg), nil
}

func (r *Run) writerConfig(i int, sink sink.Sink) delivery.Config {
	o := &r.g.Unit.Spec.Outputs[i]
	cfg := delivery.Config{Output: o.Name, Sink: sink, Room: func() {
		r.Reactor.Room()
	}, Owned: r.owned, Fail: r.g.Fail, EventClock: r.g.Unit.Spec.EventClock(),
		Retry: delivery.RetryPolicy{Base: o.Retry.Base, Max: o.Retry.Max, Attempts: o.Retry.Attempts}}
	cfg.Trace = r.traces.Output(i, o.Name, carries(sink))
	cfg.DeadLetter, cfg.Block = r.sinkLetter, o.OnError != "dead_letter"
	return cfg
}
