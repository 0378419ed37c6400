package graphrun

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/accumulator/pump"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/compile"
	"github.com/graphd/graphd/internal/graphrun/bell"
	"github.com/graphd/graphd/internal/graphrun/life"
	"github.com/graphd/graphd/internal/graphrun/told"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/spec/trait"
	"github.com/graphd/graphd/internal/supervisor"
	"github.com/graphd/graphd/internal/watch"
)

// MaxAttempts is how often an epoch is tried again after crashes without progress before
// the graph is quarantined (M43).
const MaxAttempts = 3

// Graph is one graph: what outlives its runs.
type Graph struct {
	host *Host
	ref  api.Ref
	decl checkpoint.Declaration
	unit *compile.Unit // nil when the declaration does not compile
	// mailboxes take pushes whether a run is on or not, per accumulator.
	mailboxes []*pump.Mailbox
	hub       *watch.Hub
	restarts  *told.Restarts
	routing   atomic.Pointer[[]reactor.Route] // of the last run; nil before the first
	expired   atomic.Int64                    // dead letters that retention removed since the start
	operator  *supervisor.Restarter
	changed   bell.Bell
	letters   chan struct{} // capacity 1: held while dead letters are replayed, so that each is once

	mu      sync.Mutex
	run     *life.Run // the run in progress, or nil
	last    api.GraphSummary
	health  reactor.Health // while there is no run
	reason  *api.Reason
	owner   string        // who runs the graph while it stands by here
	ownerAt string        // where that one is reached, "" when it has not said
	held    bool          // runs are held back: an update is being tried
	swap    chan struct{} // closed when the update under way has ended; nil while there is none
	update  *api.UpdateStatus
	gaps    []int64 // per accumulator: how often it was let go on behind what its source had lost (M44)
	task    *supervisor.Task
	node    *supervisor.Node // of the supervising goroutine, which alone reads it
	failure error            // why the last run ended badly at shutdown
	stopBy  time.Time        // until when the stop under way has time; zero for none

	// outlived are the fences of runs that the process has outlived, since the store was told
	// last. They belong to the supervising goroutine.
	outlived []int64
	// taken is the fence of the last taking that was answered, unanswered how many have failed
	// since, so that nobody knows whether the store has them; mu guards them.
	taken, unanswered int64
	// unrecorded are the recovery events that the store has not taken yet, oldest first.
	unrecorded struct {
		sync.Mutex
		events []checkpoint.RecoveryEvent
	}
}

// New makes a graph of a declaration; unit is nil when that does not compile. Start runs it.
func New(h *Host, d checkpoint.Declaration, unit *compile.Unit) *Graph {
	ref := api.Ref{Tenant: d.Tenant, Name: d.Graph}
	g := &Graph{
		host: h, ref: ref, decl: d, unit: unit, health: reactor.HealthStarting,
		hub: watch.NewHub(ref), operator: supervisor.NewRestarter(), restarts: new(told.Restarts),
		letters: make(chan struct{}, 1),
	}
	if unit != nil {
		for range unit.Programs {
			g.mailboxes = append(g.mailboxes, pump.NewMailbox(h.MailboxEvents, h.MailboxBytes))
		}
		g.gaps = make([]int64, len(unit.Programs))
	}
	return g
}

// Ref names the graph.
func (g *Graph) Ref() api.Ref { return g.ref }

// Declaration is what the graph was made of, with the revision that the store has given it.
func (g *Graph) Declaration() checkpoint.Declaration {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.decl
}

// Stored notes the revision that the store has given the declaration.
func (g *Graph) Stored(revision int64) {
	g.show(func() { g.decl.Revision = revision })
}

// Restated gives the graph another text of the same meaning, with the revision it was stored
// under. It runs on untouched.
func (g *Graph) Restated(d checkpoint.Declaration) {
	g.show(func() { g.decl, g.update = d, nil })
}

// Unit is the compiled declaration; nil when it does not compile.
func (g *Graph) Unit() *compile.Unit { return g.unit }

// Mailbox takes what another graph hands to an accumulator; nil when the graph has none of that name
// that takes it.
func (g *Graph) Mailbox(name string) *pump.Mailbox {
	if i := g.find(name); i >= 0 && g.unit.Spec.Accumulators[i].From == "" {
		return g.mailboxes[i]
	}
	return nil
}

// Hands says what an accumulator's boundaries are; known is false where there is none of the name.
func (g *Graph) Hands(accumulator string) (hands trait.Hands, known bool) {
	if i := g.find(accumulator); i >= 0 {
		return g.unit.Spec.Accumulators[i].Folding().Hands, true
	}
	return trait.OneValue, false
}

// Hub is where the graph's watchers are attached.
func (g *Graph) Hub() *watch.Hub { return g.hub }

// Waiting is how many pushed events wait in the fullest mailbox.
func (g *Graph) Waiting() (events int) {
	for _, box := range g.mailboxes {
		n, _ := box.Depth()
		events = max(events, n)
	}
	return events
}

// Expired counts dead letters that retention has removed, and answers with all since the start.
func (g *Graph) Expired(letters int64) int64 { return g.expired.Add(letters) }

// Broken marks a graph whose declaration cannot be used.
func (g *Graph) Broken(err error) {
	g.setHealth(reactor.HealthFailed, "declaration_invalid", err.Error()+"; apply a fixed declaration")
}

func (g *Graph) setHealth(h reactor.Health, code, detail string) {
	reason := api.ReasonOf(code, detail)
	g.show(func() { g.health, g.reason = h, reason })
	g.hub.HealthChanged(string(h), reason)
}

// Start has the graph supervised until ctx ends.
func (g *Graph) Start(ctx context.Context) {
	if g.unit == nil {
		return
	}
	r := g.unit.Spec.Reactor.Restart
	task := g.host.Tasks.Go(ctx, g.ref.Tenant+"/"+g.ref.Name, func(ctx context.Context, n *supervisor.Node) error {
		g.node = n
		return supervisor.Supervise(ctx, supervisor.Config{
			Name:      "graph",
			Policy:    supervisor.Policy{Attempts: r.Attempts, Base: r.Base, Max: r.Max, Reset: r.Reset},
			Run:       g.once,
			Classify:  classify,
			OnEvent:   g.supervised,
			Restarter: g.operator,
			Revive:    true,
			Node:      n,
		})
	})
	g.mu.Lock()
	g.task, g.stopBy = task, time.Time{}
	g.mu.Unlock()
}

// Stop ends the graph and waits until it has, within the shutdown timeout.
func (g *Graph) Stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), g.host.ShutdownTimeout)
	defer cancel()
	return g.StopWithin(ctx)
}

// StopWithin ends the graph and waits until it has, or ctx is done: all of the stop, its last
// checkpoint too, has that time. What does not come to its end then is abandoned: it can change
// nothing in the store and sends nothing more, and the error names it.
func (g *Graph) StopWithin(ctx context.Context) error {
	by, _ := ctx.Deadline()
	g.mu.Lock()
	task := g.task
	g.stopBy = by
	g.mu.Unlock()
	if task == nil {
		return nil
	}
	task.Stop()
	if err := task.Wait(ctx); err != nil && ctx.Err() != nil {
		return err
	}
	return g.StopError()
}

// stopTime is the time that the stop of a run has: that of who asked for it, of the daemon's
// shutdown, or the shutdown timeout.
func (g *Graph) stopTime() (context.Context, context.CancelFunc) {
	g.mu.Lock()
	by := g.stopBy
	g.mu.Unlock()
	if closing := g.host.CloseBy(); by.IsZero() || !closing.IsZero() && closing.Before(by) {
		by = closing
	}
	if by.IsZero() {
		by = time.Now().Add(g.host.ShutdownTimeout)
	}
	return context.WithDeadline(context.Background(), by) // the stop outlives what asked for it
}

// briefly is a context for a call to the store that outlives what asked for it: it has so long,
// and no longer than the shutdown.
func (g *Graph) briefly(d time.Duration) (context.Context, context.CancelFunc) {
	by := time.Now().Add(d)
	if closing := g.host.CloseBy(); !closing.IsZero() && closing.Before(by) {
		by = closing
	}
	return context.WithDeadline(context.Background(), by)
}

// StopError is how the last stop of the graph failed; nil when it was clean.
func (g *Graph) StopError() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.failure
}

// classify judges how a run ended.
func classify(err error) supervisor.Verdict {
	switch {
	case errors.Is(err, told.ErrCrashLoop), told.Corrupt(err), errors.Is(err, told.ErrExhausted),
		errors.Is(err, told.ErrCold):
		return supervisor.Permanent
	}
	return supervisor.Restart
}

// supervised records what the supervisor does, and shows it as the graph's health.
func (g *Graph) supervised(ev supervisor.Event) {
	reason := ""
	if ev.Err != nil {
		reason = ev.Err.Error()
	}
	switch ev.Kind {
	case supervisor.EventWaiting:
		g.setHealth(reactor.HealthStarting, cmp.Or(checkpoint.Ailment(ev.Err), "restarting"),
			told.Restarting(&ev, reason))
	case supervisor.EventGaveUp:
		g.setHealth(reactor.HealthFailed, told.FailureCode(ev.Err), reason+"; fix the cause, then restart the graph")
	}
	if ev.Kind != supervisor.EventWaiting {
		g.restarts.Count("", &ev)
		g.host.Log.Warn("graph supervised", "graph", g.ref.Name, "kind", string(ev.Kind), "attempt", ev.Attempt,
			"delay", ev.Delay, "err", ev.Err)
	}
	if ev.Durable() {
		rec := ev.Record(g.ref.Name, g.incarnation())
		if ev.Kind == supervisor.EventGaveUp && errors.Is(ev.Err, told.ErrCrashLoop) {
			rec.Kind = "quarantined"
		}
		if caught := new(accumulator.PanicError); errors.As(ev.Err, &caught) {
			rec.Stack = string(caught.Stack) // where it was, which is not the goroutine it was carried to
		}
		g.recordRecovery(rec)
	}
}

// ID is the graph in the store.
func (g *Graph) ID() checkpoint.ID { return checkpoint.ID{Tenant: g.ref.Tenant, Graph: g.ref.Name} }

// running is the run in progress, or a refusal that names the graph's state.
func (g *Graph) running() (*life.Run, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.run != nil {
		return g.run, nil
	}
	if g.health == reactor.HealthStandby {
		return nil, g.standbyError(http.StatusConflict)
	}
	detail := "the graph is " + string(g.health)
	if g.reason != nil {
		detail += ": " + g.reason.Detail
	}
	return nil, &api.Error{Status: 409, Code: "graph_not_running", Detail: detail}
}

func (g *Graph) incarnation() int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.run != nil {
		return g.run.Head.Incarnation
	}
	return g.last.Incarnation
}
