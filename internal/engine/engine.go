// Package engine is the catalogue of a daemon's graphs: it keeps them by tenant and name,
// applies, updates and deletes declarations, follows what other daemons on the same store
// declare, and holds the limits. What one graph does is in graphrun; the methods of [Engine]
// that the control plane calls find the graph and hand the request on.
//
// # Concurrency
//
// All methods of [Engine] may be called from any goroutine. One change of a graph goes on at a
// time. The engine's own goroutines (janitor, memory, declarations), each graph's and the
// lease's are tasks of groups that Close joins.
package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/compile"
	"github.com/graphd/graphd/internal/engine/heap"
	"github.com/graphd/graphd/internal/engine/keyed"
	"github.com/graphd/graphd/internal/engine/members"
	"github.com/graphd/graphd/internal/engine/refusals"
	"github.com/graphd/graphd/internal/engine/spread"
	"github.com/graphd/graphd/internal/engine/trial"
	"github.com/graphd/graphd/internal/failpoint"
	"github.com/graphd/graphd/internal/feed"
	"github.com/graphd/graphd/internal/graphrun"
	"github.com/graphd/graphd/internal/graphrun/life"
	"github.com/graphd/graphd/internal/graphrun/lives"
	"github.com/graphd/graphd/internal/graphrun/parts"
	"github.com/graphd/graphd/internal/lease"
	"github.com/graphd/graphd/internal/live"
	"github.com/graphd/graphd/internal/outbound"
	"github.com/graphd/graphd/internal/quota"
	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/supervisor"
	"github.com/graphd/graphd/internal/trace"
	"github.com/graphd/graphd/internal/watch"
)

// Kinds compiles declarations and builds what they name. *builtin.Kinds implements it.
type Kinds interface {
	life.Kinds
	trial.Asker
	Parsing
	// Files says which file each relative path of a declaration is.
	Files(u *compile.Unit) []api.File
	// Check looks at what u names outside of the daemon: it takes its time, and what it says
	// may be otherwise a moment later.
	Check(ctx context.Context, u *compile.Unit) spec.Diagnostics
}

// Config is what an engine is made of. The zero limits mean the defaults named beside them.
type Config struct {
	Store checkpoint.Store
	Kinds Kinds
	Log   *slog.Logger
	// MaxEventBytes bounds one event (8 MiB), MaxGraphs the graphs of the daemon (10,000),
	// MailboxEvents the pushed events waiting per accumulator (4,096).
	MaxEventBytes, MaxGraphs, MailboxEvents int
	// MaxEpochs bounds how many graphs run epochs at one time; 0 is no bound.
	MaxEpochs int
	// Spread has the shards of a graph placed each by itself, over all members, as long as each of these takes requests
	// of the others; without it one member has all of them.
	Spread bool
	// Members asks other members for the shards that run there; nil: each daemon answers for what runs there alone.
	Members parts.Members
	// Memory reads the use of memory; nil is the process's own.
	Memory heap.Reader
	// Quotas are those of tenants; nil bounds nobody.
	Quotas *quota.Book
	// Traces are told of epochs; nil tells nobody.
	Traces *trace.Tracer
	// Outbound is what sources and sinks call out through; nil when nothing of it is to be shown.
	Outbound *outbound.Guard
	// Scratch is a folder for what is written and removed again; "" is the system's.
	Scratch string
	// Fail is the failpoint that is armed, for kill tests; nil for none.
	Fail *failpoint.Set
	// PushTimeout bounds how long the answer to a push waits for the journal where its caller sets
	// no bound (5s).
	PushTimeout time.Duration
	// ShutdownTimeout bounds Close (30s).
	ShutdownTimeout time.Duration
	// LeaseTTL is how long this daemon stays the owner of its graphs without a word to a store
	// that others share (3s).
	LeaseTTL time.Duration
	// Patience is how long another daemon must have ranked first for a graph that runs here before
	// that is handed back (30s).
	Patience time.Duration
}

// Engine runs graphs.
type Engine struct {
	members.Members
	Untaken refusals.Untaken // of what other daemons have declared

	cfg   Config
	tree  *supervisor.Tree
	group *supervisor.Group
	// own keeps this daemon the owner of its graphs; keeping is its goroutines, which end last.
	own     *lease.Keeper
	keeping *supervisor.Group
	host    *graphrun.Host
	spread  spread.Desk // asks other members for their shards

	ctx  context.Context // ends when Close begins; the parent of every graph
	stop context.CancelFunc

	changing keyed.Locks // one change of a graph at a time
	away     atomic.Bool // the store did not answer when it was last asked whether the daemon is ready
	mu       sync.RWMutex
	graphs   map[api.Ref]*graphrun.Graph
	shards   map[checkpoint.ID]int // of the graphs that have several, and of those that are about to begin
	closing  bool
	closeBy  time.Time      // until when Shutdown has time; zero before it
	feeds    *feed.Links    // how graphs feed graphs
	everyone watch.Everyone // watchers of all graphs of a tenant

	epochs   *live.Gate
	dealing  map[api.Ref]bool // graphs whose keys are dealt by themselves, or are to be
	deals    chan struct{}    // a place for each that is
	careful  *live.Gate       // one graph at a time tries its first epoch after a crash (M43)
	memory   heap.Watch
	refusals refusals.Counts
	tests    *trial.Bench
	speller  *trial.Speller
}

// New makes an engine; Open starts what the store holds.
func New(cfg Config) *Engine {
	cfg.MaxEventBytes = cmp.Or(cfg.MaxEventBytes, 8<<20)
	cfg.MaxGraphs = cmp.Or(cfg.MaxGraphs, 10_000)
	cfg.MailboxEvents = cmp.Or(cfg.MailboxEvents, 4096)
	cfg.PushTimeout = cmp.Or(cfg.PushTimeout, 5*time.Second)
	cfg.ShutdownTimeout = cmp.Or(cfg.ShutdownTimeout, 30*time.Second)
	e := &Engine{cfg: cfg, tree: supervisor.NewTree(time.Now), graphs: make(map[api.Ref]*graphrun.Graph),
		shards: make(map[checkpoint.ID]int), dealing: make(map[api.Ref]bool), deals: make(chan struct{}, dealsAtOnce)}
	e.feeds, e.spread.Local.Quotas = feed.New((*ends)(e)), cfg.Quotas
	if e.cfg.Memory == nil {
		e.cfg.Memory = heap.Process
	}
	e.tests, e.speller = trial.New(cfg.Kinds, e.cfg.Memory), trial.NewSpeller(cfg.Kinds)
	e.epochs, e.careful = live.NewGate(cfg.MaxEpochs, live.LendAfter), live.NewGate(1, 0)
	root := e.tree.Root("graphd")
	e.group, e.keeping = root.NewGroup(), root.NewGroup()
	e.own = lease.New(lease.Config{
		Store: cfg.Store, Log: cfg.Log, TTL: cmp.Or(cfg.LeaseTTL, 3*time.Second),
		Patience: cmp.Or(cfg.Patience, 30*time.Second), Places: e.places,
	})
	e.Members = members.Members{Store: cfg.Store, Claims: cfg.Store, Log: cfg.Log, Own: e.own, Tasks: e.keeping,
		Units: e.units, Places: e.places}
	e.ctx, e.stop = context.WithCancel(context.Background())
	e.host = &graphrun.Host{
		Host: lives.Host{
			Host: life.Host{
				Store: cfg.Store, Kinds: cfg.Kinds, Log: cfg.Log, Feeds: e.feeds, Gate: e.epochs, Careful: e.careful,
				Fail: cfg.Fail, Quotas: cfg.Quotas, Traces: cfg.Traces,
			},
			Lease: e.own, Tasks: e.group, ShutdownTimeout: cfg.ShutdownTimeout, Closing: e.isClosing,
			CloseBy: e.closesBy, DealtOtherwise: e.dealtOtherwise,
		},
		MaxEventBytes: cfg.MaxEventBytes, MailboxEvents: cfg.MailboxEvents, MailboxBytes: e.mailboxBytes(),
		PushTimeout: cfg.PushTimeout, Room: e.hasRoom,
	}
	if cfg.Members != nil {
		e.spread.Open(e.ctx, cfg.Members, &e.Members, cfg.PushTimeout)
		e.host.Away = e.spread.Away
	}
	return e
}

// Open starts every graph whose declaration is in the store. A declaration that no longer
// compiles is kept, its graph shown as failed: it never stops the others.
func (e *Engine) Open(ctx context.Context) error {
	if err := e.own.Begin(ctx, e.keeping); err != nil {
		return fmt.Errorf("take a lease in the store: %w", err)
	}
	decls, err := e.cfg.Store.Declarations(ctx)
	if err != nil {
		return fmt.Errorf("read the declarations in the store: %w", err)
	}
	e.group.Go(e.ctx, "janitor", e.sweep)
	e.group.Go(e.ctx, "memory", func(ctx context.Context, _ *supervisor.Node) error {
		e.memory.Run(ctx, e.cfg.Memory, e.cfg.Quotas.Crowd)
		return nil
	})
	if e.cfg.Quotas.Bounds() {
		e.group.Go(e.ctx, "quotas", e.keepQuotas)
	}
	graphs := make([]*graphrun.Graph, 0, len(decls))
	for _, d := range decls {
		graphs = append(graphs, e.stored(d))
	}
	e.mu.Lock()
	for _, m := range graphs {
		e.count(m) // once for all of them: who looks at where graphs are placed looks at each
	}
	e.mu.Unlock()
	e.own.Places() // who feeds whom says where a graph is placed: all links are known before one begins
	for _, m := range graphs {
		done := e.changing.Lock(m.Ref()) // one whose keys are dealt otherwise is changed once all of it has begun
		e.adopt(m)
		done()
	}
	// What another daemon has changed meanwhile is looked at now: a graph that was not there yet would begin twice.
	e.group.Go(e.ctx, "declarations", e.follow)
	return nil
}

// adopt adds a graph and starts it.
func (e *Engine) adopt(m *graphrun.Graph) {
	e.set(m)
	e.cfg.Quotas.Add(m.Ref().Tenant, quota.Graphs, 1)
	m.Seen(&e.everyone)
	m.Connect()
	m.Start(e.ctx)
	e.rewired(m)
}

// rewired says that m has come or changed, and gives the graphs that feed it the writers
// for that.
func (e *Engine) rewired(m *graphrun.Graph) {
	e.feeds.Touch()
	if m.Unit() == nil {
		return
	}
	for _, from := range feed.FeedersOf(m.Ref(), m.Unit().Spec) {
		if up, err := e.graph(from); err == nil && up != m {
			up.Attach(e.ctx)
		}
	}
}

// Close is Shutdown within the shutdown timeout.
func (e *Engine) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), e.cfg.ShutdownTimeout)
	defer cancel()
	return e.Shutdown(ctx)
}

// Shutdown stops every graph at its epoch boundary, with a final checkpoint each (M38). All of
// it has the time that ctx has, and what would not stop is named in the error.
func (e *Engine) Shutdown(ctx context.Context) error {
	by, ok := ctx.Deadline()
	if !ok {
		by = time.Now().Add(e.cfg.ShutdownTimeout)
	}
	e.mu.Lock()
	e.closing, e.closeBy = true, by
	e.mu.Unlock()
	ctx, cancel := context.WithDeadline(ctx, by)
	defer cancel()
	e.HandOver(ctx, by)
	e.stopFeeders(ctx)
	e.stop()
	err := stuckOnly(e.group.WaitContext(ctx))
	e.spread.Close()
	e.keeping.Stop() // the graphs have ended: nobody needs the lease any more
	err = errors.Join(err, stuckOnly(e.keeping.WaitContext(ctx)))
	e.mu.RLock()
	defer e.mu.RUnlock()
	for _, m := range e.graphs {
		if stopErr := m.StopError(); stopErr != nil {
			err = errors.Join(err, fmt.Errorf("graph %s: %w", m.Ref().Name, stopErr))
		}
		m.Close()
	}
	return err
}

// stopFeeders stops the graphs that feed others before those that they feed, so that what is
// on its way between them arrives; within half of the time that there is.
func (e *Engine) stopFeeders(ctx context.Context) {
	by, _ := ctx.Deadline()
	ctx, cancel := context.WithTimeout(ctx, time.Until(by)/2)
	defer cancel()
	for _, ref := range e.feeds.Feeders() {
		if m, err := e.graph(ref); err == nil {
			_ = m.StopWithin(ctx) // how it ended is told by Shutdown
		}
	}
}

// stuckOnly keeps an error that names what would not stop, and drops failures that the
// supervisor has dealt with.
func stuckOnly(err error) error {
	if _, stuck := errors.AsType[*supervisor.StuckError](err); stuck {
		return err
	}
	return nil
}

// graph finds a graph, or refuses with 404.
func (e *Engine) graph(g api.Ref) (*graphrun.Graph, error) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if m := e.graphs[g]; m != nil {
		return m, nil
	}
	return nil, &api.Error{Status: http.StatusNotFound, Code: "graph_not_found",
		Detail: fmt.Sprintf("there is no graph %q; 'graphd get' lists those there are", g.Name)}
}

// Find refuses a graph that is not there.
func (e *Engine) Find(g api.Ref) error { _, err := e.graph(g); return err }

// settled finds a graph, and waits for a change of it that is under way.
func (e *Engine) settled(ctx context.Context, g api.Ref) (*graphrun.Graph, error) {
	for {
		m, err := e.graph(g)
		if err != nil {
			return nil, err
		}
		if again, err := m.Settle(ctx); err != nil || !again {
			return m, err
		}
	}
}

// all is every graph, by tenant and name.
func (e *Engine) all() []*graphrun.Graph {
	e.mu.RLock()
	defer e.mu.RUnlock()
	ms := make([]*graphrun.Graph, 0, len(e.graphs))
	for _, m := range e.graphs {
		ms = append(ms, m)
	}
	slices.SortFunc(ms, func(a, b *graphrun.Graph) int {
		return cmp.Or(cmp.Compare(a.Ref().Tenant, b.Ref().Tenant), cmp.Compare(a.Ref().Name, b.Ref().Name))
	})
	return ms
}

func (e *Engine) closesBy() time.Time {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.closeBy
}

// isClosing says whether Close has begun.
func (e *Engine) isClosing() bool {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.closing
}

// Ready says whether the daemon can do its work: the store answers and it is not stopping.
// A sick graph never fails it.
func (e *Engine) Ready(ctx context.Context) error {
	if e.isClosing() {
		return &api.Error{
			Status: http.StatusServiceUnavailable, Code: "shutting_down", Detail: "the daemon is shutting down",
		}
	}
	err := e.cfg.Store.Ping(ctx)
	if away := err != nil; e.away.Swap(away) != away && away {
		e.cfg.Log.Warn("the store does not answer, and the daemon is not ready", "err", err)
	}
	if errors.Is(err, checkpoint.ErrNewerSchema) {
		return &api.Error{Status: http.StatusServiceUnavailable, Code: "store_newer", Detail: "a newer " +
			"release has raised the store beyond what this one reads: start that release in this one's place"}
	}
	if err != nil { // it is everybody's to read, who need no token: where the store is stands in the log alone
		return &api.Error{
			Status: http.StatusServiceUnavailable, Code: "store_unreachable", Detail: "the store does not answer; " +
				"the log says why",
		}
	}
	return nil
}

// Tree is everything that runs (M34).
func (e *Engine) Tree(context.Context) []api.TreeNode {
	lines := e.tree.Snapshot()
	nodes := make([]api.TreeNode, len(lines))
	for i, l := range lines {
		nodes[i] = api.TreeNode(l)
	}
	return nodes
}
