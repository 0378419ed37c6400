// Package engine runs graphs: it keeps them by tenant and name, builds what each needs
// from its declaration, the kinds and the store, has it supervised, and carries out what
// the control plane asks.
//
// A graph that was applied is a [managed]: its declaration, its accumulators' mailboxes
// and its watchers, which outlive restarts, and at most one run at a time. A run is built
// from the last checkpoint: store → core → reactor, writers, accumulators; it ends as a
// whole, and the supervisor decides whether there is another.
//
// # Concurrency
//
// All methods of [Engine] may be called from any goroutine. Each graph has one supervising
// goroutine, joined by Close; what it starts is in supervisor.Group's care and shown by
// Tree. Nothing here touches a reactor's state: it is asked by reactor.Do.
package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/compile"
	"github.com/graphd/graphd/internal/failpoint"
	"github.com/graphd/graphd/internal/lease"
	"github.com/graphd/graphd/internal/live"
	"github.com/graphd/graphd/internal/outbound"
	"github.com/graphd/graphd/internal/sink"
	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/supervisor"
)

// Kinds compiles declarations and builds what they name. *builtin.Kinds implements it.
type Kinds interface {
	// Parse reads and compiles a declaration; name is its file, "" when there is none. The
	// unit is nil when there are diagnostics.
	Parse(document []byte, name string) (*compile.Unit, spec.Diagnostics)
	// Check looks at what u names outside of the daemon: it takes its time, and what it says
	// may be otherwise a moment later.
	Check(ctx context.Context, u *compile.Unit) spec.Diagnostics
	// Source makes accumulator i's source; nil when the socket is all there is.
	Source(u *compile.Unit, i int) (accumulator.Source, error)
	// Sink makes output i's sink; nil when values are only counted and watched.
	Sink(u *compile.Unit, i int) (sink.Sink, error)
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
	// Memory reads the use of memory; nil is the process's own.
	Memory Memory
	// Outbound is what sources and sinks call out through; nil when nothing of it is to be shown.
	Outbound *outbound.Guard
	// Scratch is a folder for what is written and removed again; "" is the system's.
	Scratch string
	// Fail is the failpoint that is armed, for kill tests; nil for none.
	Fail *failpoint.Set
	// ShutdownTimeout bounds Close (30s).
	ShutdownTimeout time.Duration
	// LeaseTTL is how long this daemon stays the owner of its graphs without a word to a store
	// that others share (3s).
	LeaseTTL time.Duration
}

// Engine runs graphs.
type Engine struct {
	cfg   Config
	tree  *supervisor.Tree
	group *supervisor.Group
	// own keeps this daemon the owner of its graphs; keeping is its goroutines, which end last.
	own     *lease.Keeper
	keeping *supervisor.Group

	ctx  context.Context // ends when Close begins; the parent of every graph
	stop context.CancelFunc

	changing keyed // one change of a graph at a time
	mu       sync.RWMutex
	graphs   map[Ref]*managed
	wiring   *wiring  // how graphs feed graphs
	everyone []*queue // watchers of all graphs of a tenant
	closing  bool

	epochs   *live.Gate
	memory   memory
	refusals refusals
}

// New makes an engine; Open starts what the store holds.
func New(cfg Config) *Engine {
	cfg.MaxEventBytes = cmpOr(cfg.MaxEventBytes, 8<<20)
	cfg.MaxGraphs = cmpOr(cfg.MaxGraphs, 10_000)
	cfg.MailboxEvents = cmpOr(cfg.MailboxEvents, 4096)
	cfg.ShutdownTimeout = cmpOr(cfg.ShutdownTimeout, 30*time.Second)
	e := &Engine{cfg: cfg, tree: supervisor.NewTree(time.Now), graphs: make(map[Ref]*managed), wiring: newWiring()}
	if e.cfg.Memory == nil {
		e.cfg.Memory = processMemory
	}
	e.epochs = live.NewGate(cfg.MaxEpochs)
	root := e.tree.Root("graphd")
	e.group, e.keeping = root.NewGroup(), root.NewGroup()
	e.own = lease.New(cfg.Store, cfg.Log, cmpOr(cfg.LeaseTTL, 3*time.Second))
	e.ctx, e.stop = context.WithCancel(context.Background())
	return e
}

func cmpOr[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
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
	e.group.Go(e.ctx, "memory", e.watchMemory)
	e.group.Go(e.ctx, "declarations", e.follow)
	for _, d := range decls {
		unit, diags := e.cfg.Kinds.Parse([]byte(d.Text), fileOf(d.Origin))
		m := e.manage(d, unit)
		if err := diags.Err(); err != nil {
			m.broken(err)
			e.cfg.Log.Error("a stored declaration cannot be used; its graph is not running", "graph", d.Graph, "tenant", d.Tenant, "err", err)
		}
		if unit != nil {
			if _, err := e.wiring.claim(m.ref, unit); err != nil {
				m.broken(err)
				m.unit = nil
			}
		}
		e.adopt(m)
	}
	return nil
}

// adopt adds a graph and starts it.
func (e *Engine) adopt(m *managed) {
	e.mu.Lock()
	e.graphs[m.ref] = m
	for _, q := range e.everyone {
		if q.tenant == m.ref.Tenant {
			m.hub.attach(q)
		}
	}
	e.mu.Unlock()
	e.wiring.connect(m)
	m.start(e.ctx)
	e.rewired(m)
}

// rewired says that m has come or changed, and gives the graphs that feed it the writers
// for that.
func (e *Engine) rewired(m *managed) {
	e.wiring.touch()
	if m.unit == nil {
		return
	}
	for _, l := range linksOf(m.ref, m.unit.Spec) {
		up, err := e.graph(l.from)
		if err != nil || up == m {
			continue
		}
		if r, err := up.running(); err == nil {
			r.attach()
		}
	}
}

// Close stops every graph at its epoch boundary, with a final checkpoint each, within the
// shutdown timeout (M38). What would not stop is named in the error.
func (e *Engine) Close() error {
	e.mu.Lock()
	e.closing = true
	e.mu.Unlock()
	e.stopFeeders()
	e.stop()
	err := stuckOnly(e.group.WaitDeadline(e.cfg.ShutdownTimeout))
	e.keeping.Stop() // the graphs have ended: nobody needs the lease any more
	err = errors.Join(err, stuckOnly(e.keeping.WaitDeadline(e.cfg.ShutdownTimeout)))
	e.mu.RLock()
	defer e.mu.RUnlock()
	for _, m := range e.graphs {
		if stopErr := m.stopError(); stopErr != nil {
			err = errors.Join(err, fmt.Errorf("graph %s: %w", m.ref.Name, stopErr))
		}
		for _, box := range m.mailboxes {
			box.Close()
		}
		m.hub.close()
	}
	return err
}

// stopFeeders stops the graphs that feed others before those that they feed, so that what is
// on its way between them arrives; within half of the shutdown timeout.
func (e *Engine) stopFeeders() {
	ctx, cancel := context.WithTimeout(context.Background(), e.cfg.ShutdownTimeout/2)
	defer cancel()
	for _, ref := range e.wiring.feeders() {
		m, err := e.graph(ref)
		if err != nil {
			continue
		}
		if task := m.current(); task != nil {
			task.Stop()
			_ = task.Wait(ctx) // how it ended is told by Close
		}
	}
}

// graph finds a graph, or refuses with 404.
func (e *Engine) graph(g Ref) (*managed, error) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if m := e.graphs[g]; m != nil {
		return m, nil
	}
	return nil, &Error{Status: http.StatusNotFound, Code: "graph_not_found",
		Detail: fmt.Sprintf("there is no graph %q; 'graphd get' lists those there are", g.Name)}
}

// all is every graph, by tenant and name.
func (e *Engine) all() []*managed {
	e.mu.RLock()
	defer e.mu.RUnlock()
	ms := make([]*managed, 0, len(e.graphs))
	for _, m := range e.graphs {
		ms = append(ms, m)
	}
	slices.SortFunc(ms, func(a, b *managed) int {
		if a.ref.Tenant != b.ref.Tenant {
			return cmpString(a.ref.Tenant, b.ref.Tenant)
		}
		return cmpString(a.ref.Name, b.ref.Name)
	})
	return ms
}

func cmpString(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// Ready says whether the daemon can do its work: the store answers and it is not stopping.
// A sick graph never fails it.
func (e *Engine) Ready(ctx context.Context) error {
	e.mu.RLock()
	closing := e.closing
	e.mu.RUnlock()
	if closing {
		return &Error{Status: http.StatusServiceUnavailable, Code: "shutting_down", Detail: "the daemon is shutting down"}
	}
	if err := e.cfg.Store.Ping(ctx); err != nil {
		return &Error{Status: http.StatusServiceUnavailable, Code: "store_unreachable", Detail: "the store does not answer: " + err.Error()}
	}
	return nil
}

// Tree is everything that runs (M34).
func (e *Engine) Tree(context.Context) []TreeNode {
	lines := e.tree.Snapshot()
	nodes := make([]TreeNode, len(lines))
	for i, l := range lines {
		nodes[i] = TreeNode(l)
	}
	return nodes
}
