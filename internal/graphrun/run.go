package graphrun

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/lease"
	"github.com/graphd/graphd/internal/live"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/sink"
	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/supervisor"
)

// run is one life of a graph, from a checkpoint to its end. Everything in it is fresh.
type run struct {
	g       *Graph
	term    *lease.Term // the run sends nothing out when it is over
	head    checkpoint.Head
	reactor *live.Reactor
	inbox   *live.Inbox
	accs    []*accumulatorRun
	flushed *supervisor.Group // the writers

	attaching sync.Mutex // one look for new links at a time

	abandoned atomic.Bool     // nothing of the run leaves it any more
	end       context.Context // of the stop; set before the reactor is told to stop

	gaveUp chan error // why the run is to end; a place for each accumulator and for the reactor
	failed bool       // the reactor has said so; its goroutine's alone

	wmu     sync.Mutex
	writers []*live.Writer // per output; nil where nothing is delivered. More may come with links
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

// load takes the graph from the store and builds a run from its last checkpoint.
func (g *Graph) load(ctx context.Context, t *lease.Term) (*run, error) {
	store := g.host.Store
	head, err := store.Acquire(ctx, g.ID())
	if err != nil {
		return nil, fmt.Errorf("acquire the graph: %w", err)
	}
	if err := g.absolve(ctx, &head); err != nil {
		g.survived(head.Fence, nil)
		return nil, err
	}
	g.WriteRecovery()
	g.mu.Lock()
	g.last.Incarnation = head.Incarnation
	g.mu.Unlock()
	if head.UncleanStarts > 1 {
		g.recordRecovery(checkpoint.RecoveryEvent{At: time.Now(), Graph: g.ref.Name, Component: "graph",
			Kind: "unclean_start", Attempt: head.UncleanStarts - 1,
			Reason: fmt.Sprintf(
				"the process before did not stop cleanly; the graph goes on from its checkpoint of epoch %d",
				head.Epoch),
			Outcome: "restarted", Incarnation: head.Incarnation})
	}
	if err := quarantined(&head); err != nil {
		return nil, err
	}
	instance, err := uuid.Parse(head.Instance)
	if err != nil {
		return nil, fmt.Errorf("%w: instance %q: %w", reactor.ErrCorrupt, head.Instance, err)
	}
	sinks, err := g.openSinks()
	if err == nil {
		var r *run
		if r, err = g.build(ctx, head, instance, sinks, t); err == nil {
			return r, nil
		}
		g.closeSinks(sinks)
	}
	g.survived(head.Fence, err) // what cannot be opened or read has crashed nothing
	return nil, err
}

// build makes the pieces of a run around the restored core.
func (g *Graph) build(ctx context.Context, head checkpoint.Head, instance uuid.UUID, sinks []sink.Sink, t *lease.Term) (
	*run, error) {
	depths, err := g.host.Store.OutboxDepths(ctx, g.ID())
	if err != nil {
		return nil, err
	}
	cfg := g.unit.Reactor()
	cfg.ID, cfg.Instance, cfg.Incarnation, cfg.Fence = g.ID(), instance, head.Incarnation, head.Fence
	cfg.Routes = g.routes(sinks, depths)
	began := time.Now()
	cfg.Mono = func() int64 { return int64(time.Since(began)) }
	core, err := g.restore(ctx, cfg, head)
	if err != nil {
		return nil, err
	}
	g.routing.Store(&cfg.Routes)
	declared := g.unit.Spec
	r := &run{g: g, term: t, head: head, inbox: live.NewInbox(g.unit.Lanes()),
		writers: make([]*live.Writer, len(sinks)),
		gaveUp:  make(chan error, len(g.unit.Programs)+1)}
	for i, in := range core.Look().Inputs {
		if declared.Accumulators[i].Strategy != "latest" {
			r.inbox.Occupy(i, in.Depth, in.DepthBytes)
		}
		if in.Stopped != nil {
			g.mailboxes[i].Stop()
		} else {
			g.mailboxes[i].Start()
		}
		a := &accumulatorRun{index: i, spec: &declared.Accumulators[i], operator: supervisor.NewRestarter()}
		if g.unit.Programs[i].FlushesWithEpochs() {
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
	d := declared.Durability
	r.reactor = live.New(live.Options{
		Core: core, Inbox: r.inbox, Writers: slices.Clone(r.writers), Store: g.host.Store, Journal: g.host.Store,
		Ledger: g.host.Store, Head: head,
		Drop:     g.orphans(depths, r.writers, cfg.Routes, head.Incarnation),
		Interval: d.Interval, EveryEpochs: d.EveryEpochs, Watch: r.watch, Kept: r.kept, Mirror: r.mirror,
		Flush: r.flush,
		Hold:  g.isHeld(), Epochs: g.host.Gate, Careful: g.host.Careful,
		Owned: r.owned, Term: t.Context(), Shutdown: func() context.Context { return r.end }, Fail: g.host.Fail,
		Log: g.host.Log.With("graph", g.ref.Name, "tenant", g.ref.Tenant),
	})
	return r, nil
}

// watch looks at the core, on the reactor's goroutine: it lets the watchers see what is new, and
// ends the run of a graph that has failed (M10).
func (r *run) watch(c *reactor.Core, now time.Time) (again time.Time) {
	if r.abandoned.Load() {
		return time.Time{}
	}
	if c.Health() == reactor.HealthFailed && !r.failed {
		r.failed = true
		_, why := c.HealthReason()
		r.gaveUp <- fmt.Errorf("%w: %s are not healthy: %s", errCold, strings.Join(c.Degraded(), ", "), why)
	}
	return r.g.hub.Look(c, now)
}

// kept passes on that epochs were kept.
func (r *run) kept() {
	for _, a := range r.accs {
		select {
		case a.epochs <- struct{}{}:
		default:
		}
	}
}

// newWriter makes the writer of output i, to begin with nothing.
func (r *run) newWriter(i int, sink sink.Sink) *live.Writer {
	return live.NewWriter(r.writerConfig(i, sink))
}

// storedWriter makes the writer of output i, to begin with what the store has for it.
func (r *run) storedWriter(ctx context.Context, i int, sink sink.Sink, depths []checkpoint.OutboxDepth,
	core *reactor.Core) (*live.Writer, error) {
	cfg := r.writerConfig(i, sink)
	if err := r.g.stored(ctx, i, &cfg, core, depths); err != nil {
		return nil, err
	}
	return live.NewWriter(cfg), nil
}

func (r *run) writerConfig(i int, sink sink.Sink) live.WriterConfig {
	o := &r.g.unit.Spec.Outputs[i]
	cfg := live.WriterConfig{Output: o.Name, Sink: sink, Room: func() {
		r.reactor.Room()
	}, Owned: r.owned, Fail: r.g.host.Fail,
		Retry: live.RetryPolicy{Base: o.Retry.Base, Max: o.Retry.Max, Attempts: o.Retry.Attempts}}
	if o.OnError == "dead_letter" {
		cfg.DeadLetter = r.sinkLetter
	}
	return cfg
}

// writerOf is output i's, nil when nothing is delivered.
func (r *run) writerOf(i int) *live.Writer {
	r.wmu.Lock()
	defer r.wmu.Unlock()
	return r.writers[i]
}

// attach gives the outputs that feed other graphs by now a writer, while the run is on.
// Values of epochs from then on are delivered.
func (r *run) attach(ctx context.Context) {
	r.attaching.Lock()
	defer r.attaching.Unlock()
	for i := range r.g.unit.Spec.Outputs {
		name := r.g.unit.Spec.Outputs[i].Name
		if r.writerOf(i) != nil || !r.g.host.Feeds.Feeds(r.g.ref, name) {
			continue
		}
		w := r.newWriter(i, r.g.host.Feeds.Relay(r.g.ref, name, nil))
		// The group is asked on the reactor's goroutine: it does not end before the reactor has.
		err := r.reactor.Attach(ctx, i, w, func() {
			r.flushed.Go(context.WithoutCancel(ctx), "output/"+name,
				func(ctx context.Context, _ *supervisor.Node) error { return w.Run(ctx) })
		})
		if err != nil {
			return // the run is ending; the next one begins with a writer
		}
		r.wmu.Lock()
		r.writers[i] = w
		r.wmu.Unlock()
	}
}

// live runs the pieces until ctx ends or one of them ends the run. They stop in the order
// of the flow: accumulators, reactor, writers (M38).
//
// When the term ends nothing more goes out: writers end without a flush, the reactor without
// a checkpoint (M45).
func (r *run) live(ctx context.Context, t *lease.Term) error {
	g := r.g
	sources, reactors, writers := g.node.NewGroup(), g.node.NewGroup(), g.node.NewGroup()
	// The reactor and the writers end after what is before them in the flow, not with ctx.
	after := context.WithoutCancel(ctx)
	r.flushed = writers
	g.setRun(r)
	defer g.retire(r)
	for i := range g.unit.Spec.Outputs {
		if w := r.writerOf(i); w != nil {
			writers.Go(after, "output/"+g.unit.Spec.Outputs[i].Name,
				func(ctx context.Context, _ *supervisor.Node) error { return w.Run(ctx) })
		}
	}
	reacting := reactors.Go(after, "reactor", func(ctx context.Context, _ *supervisor.Node) error {
		return r.reactor.Run(ctx)
	})
	if err := r.reactor.Start(after); err != nil && !errors.Is(err, live.ErrStopped) {
		return err
	}
	if r.reactor.Hold && !g.isHeld() { // let go while it was being built
		r.letGo(after)
	}
	r.attach(after) // what was linked since the sinks were opened
	for _, a := range r.accs {
		sources.Supervise(ctx, r.supervision(a))
	}
	var cause error
	select {
	case <-ctx.Done():
	case <-reacting.Done():
	case cause = <-r.gaveUp:
	case <-t.Context().Done():
		writers.Stop()
	}
	return r.stop(cause, sources, reactors, reacting)
}

// cutOff is how much of the time for a stop is kept for what has to be cut off: calls to a
// store that does not answer return a moment after their time is up.
const cutOff = 10

// stop ends the pieces in the order of the flow, within one deadline.
func (r *run) stop(cause error, sources, reactors *supervisor.Group, reacting *supervisor.Task) error {
	all, cancel := r.g.stopTime()
	defer cancel()
	by, _ := all.Deadline()
	left := time.Until(by)
	end, cancel := context.WithDeadline(all, by.Add(-left/cutOff))
	defer cancel()
	r.end = end
	sources.Stop()
	soon, cancel := context.WithTimeout(end, left/2)
	defer cancel()
	stuck := stuckOnly(sources.WaitContext(soon))
	reacting.Stop()
	select {
	case <-reacting.Done():
	case <-all.Done():
		// It is in somebody's code, which nothing can end. Whoever runs the graph next raises the
		// fence, so that nothing of this run is ever stored; and from here on it sends nothing out.
		r.abandoned.Store(true)
		r.flushed.Stop()
		return errors.Join(cause, stuck, stuckOnly(reactors.WaitContext(all)))
	}
	r.flushed.Stop()
	return errors.Join(cause, reacting.Err(), stuck, r.flushed.WaitContext(all))
}

// owned says whether what the run does may still leave it.
func (r *run) owned() bool { return r.term.Holds() && !r.abandoned.Load() }

// stuckOnly keeps an error that names what would not stop, and drops failures that the
// supervisor has dealt with.
func stuckOnly(err error) error {
	var stuck *supervisor.StuckError
	if errors.As(err, &stuck) {
		return err
	}
	return nil
}

// flush waits until the writers have delivered what is queued.
func (r *run) flush(ctx context.Context) {
	if err := r.flushed.WaitContext(ctx); err != nil {
		r.g.host.Log.Warn("sinks were not flushed in time; what is pending is delivered no more", "graph", r.g.ref.Name,
			"err", err)
	}
}

// retire takes the run away, and keeps its last summary for those who ask.
func (g *Graph) retire(old *run) {
	var sum api.GraphSummary
	err := errAbandoned // its core is still somebody's
	if !old.abandoned.Load() {
		err = supervisor.Protect(func() error { sum = old.lastSummary(); return nil })
	}
	g.mu.Lock()
	if err == nil { // a core that has panicked may not bear looking at
		g.last = sum
	}
	g.run = nil
	g.mu.Unlock()
	g.setHealth(reactor.HealthStopped, "stopped", "the graph was stopped")
}

// sinkLetter keeps a message that a sink refused for good.
func (r *run) sinkLetter(ctx context.Context, msg *sink.Message, code, reason string) error {
	return r.reactor.DeadLetter(ctx, msg, code, reason)
}

// mark is where accumulator i goes on.
func (r *run) mark(ctx context.Context, i int) (accumulator.Mark, []byte, error) {
	return r.reactor.ResumePoint(ctx, i) // what was asked for on an error may be on its way still
}

// lastSummary is the summary of a run whose reactor has ended.
func (r *run) lastSummary() api.GraphSummary {
	return r.describe(r.reactor.View(), time.Now())
}
