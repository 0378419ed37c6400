package engine

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/accumulator/pump"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/compile"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/supervisor"
)

// maxAttempts is how often an epoch is tried again after crashes without progress before
// the graph is quarantined (M43).
const maxAttempts = 3

var (
	errCrashLoop = errors.New("crash loop")
	// errExhausted ends a run whose accumulator was given up.
	errExhausted = errors.New("an accumulator was given up")
)

// managed is one graph: what outlives its runs.
type managed struct {
	e    *Engine
	ref  Ref
	decl checkpoint.Declaration
	unit *compile.Unit // nil when the declaration does not compile
	// mailboxes take pushes whether a run is on or not, per accumulator.
	mailboxes []*pump.Mailbox
	hub       *hub
	rates     rates
	routing   atomic.Pointer[[]reactor.Route] // of the last run; nil before the first
	expired   atomic.Int64                    // dead letters that retention removed since the start
	operator  *supervisor.Restarter

	mu     sync.Mutex
	run    *run // the run in progress, or nil
	last   GraphSummary
	health reactor.Health // while there is no run
	reason *Reason
	owner  string // who runs the graph while it stands by here
	// restarts of the graph as a whole ("") and of its accumulators, by reason.
	restarts map[string]map[string]int
	held     bool          // runs are held back: an update is being tried
	swap     chan struct{} // closed when the update under way has ended; nil while there is none
	update   *UpdateStatus
	gaps     []int64 // per accumulator: how often it was let go on behind what its source had lost (M44)
	task     *supervisor.Task
	node     *supervisor.Node // of the supervising goroutine, which alone reads it
	failure  error            // why the last run ended badly at shutdown
}

// manage makes a graph of a declaration; unit is nil when it does not compile.
func (e *Engine) manage(d checkpoint.Declaration, unit *compile.Unit) *managed {
	m := &managed{
		e: e, ref: Ref{Tenant: d.Tenant, Name: d.Graph}, decl: d, unit: unit, health: reactor.HealthStarting,
		operator: supervisor.NewRestarter(), restarts: make(map[string]map[string]int),
	}
	m.hub = newHub(m.ref)
	if unit != nil {
		for range unit.Programs {
			m.mailboxes = append(m.mailboxes, pump.NewMailbox(e.cfg.MailboxEvents, e.mailboxBytes()))
		}
		m.gaps = make([]int64, len(unit.Programs))
	}
	return m
}

// broken marks a graph whose declaration cannot be used.
func (m *managed) broken(err error) {
	m.setHealth(reactor.HealthFailed, "declaration_invalid", err.Error()+"; apply a fixed declaration")
}

func (m *managed) setHealth(h reactor.Health, code, detail string) {
	m.mu.Lock()
	m.health, m.reason = h, nil
	if code != "" {
		m.reason = &Reason{Code: code, Detail: detail}
	}
	reason := m.reason
	m.mu.Unlock()
	m.hub.healthChanged(string(h), reason)
}

// start has the graph supervised until ctx ends.
func (m *managed) start(ctx context.Context) {
	if m.unit == nil {
		return
	}
	r := m.unit.Spec.Reactor.Restart
	task := m.e.group.Go(ctx, m.ref.Tenant+"/"+m.ref.Name, func(ctx context.Context, n *supervisor.Node) error {
		m.node = n
		return supervisor.Supervise(ctx, supervisor.Config{
			Name:      "graph",
			Policy:    supervisor.Policy{Attempts: r.Attempts, Base: r.Base, Max: r.Max, Reset: r.Reset},
			Run:       m.once,
			Classify:  classify,
			OnEvent:   m.supervised,
			Restarter: m.operator,
			Revive:    true,
			Node:      n,
		})
	})
	m.mu.Lock()
	m.task = task
	m.mu.Unlock()
}

// current is the graph's supervising task, nil before its start.
func (m *managed) current() *supervisor.Task {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.task
}

// stop ends the graph and waits until it has, within the shutdown timeout.
func (m *managed) stop() error {
	task := m.current()
	if task == nil {
		return nil
	}
	task.Stop()
	ctx, cancel := context.WithTimeout(context.Background(), m.e.cfg.ShutdownTimeout)
	defer cancel()
	if err := task.Wait(ctx); err != nil && ctx.Err() != nil {
		return err
	}
	return m.stopError()
}

func (m *managed) stopError() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.failure
}

// classify judges how a run ended.
func classify(err error) supervisor.Verdict {
	switch {
	case errors.Is(err, errCrashLoop), errors.Is(err, reactor.ErrCorrupt), errors.Is(err, errExhausted):
		return supervisor.Permanent
	}
	return supervisor.Restart
}

// supervisedAfter stands in a health reason between the restart to come and its cause.
const supervisedAfter = " after: "

// supervised records what the supervisor does, and shows it as the graph's health.
func (m *managed) supervised(ev supervisor.Event) {
	reason := ""
	if ev.Err != nil {
		reason = ev.Err.Error()
	}
	switch ev.Kind {
	case supervisor.EventWaiting:
		m.setHealth(reactor.HealthStarting, "restarting", fmt.Sprintf("restart %d in %v"+supervisedAfter+"%s", ev.Attempt, ev.Delay.Round(time.Millisecond), reason))
	case supervisor.EventGaveUp:
		m.setHealth(reactor.HealthFailed, failureCode(ev.Err), reason+"; fix the cause, then restart the graph")
	}
	if ev.Kind != supervisor.EventWaiting {
		m.countRestart("", &ev)
		m.e.cfg.Log.Warn("graph supervised", "graph", m.ref.Name, "kind", string(ev.Kind), "attempt", ev.Attempt, "delay", ev.Delay, "err", ev.Err)
	}
	if ev.Durable() {
		rec := ev.Record(m.ref.Name, m.incarnation())
		if ev.Kind == supervisor.EventGaveUp && errors.Is(ev.Err, errCrashLoop) {
			rec.Kind = "quarantined"
		}
		if caught := new(accumulator.PanicError); errors.As(ev.Err, &caught) {
			rec.Stack = string(caught.Stack) // where it was, which is not the goroutine it was carried to
		}
		m.recordRecovery(rec)
	}
}

// failureCode is the health reason of a graph that was given up.
func failureCode(err error) string {
	switch {
	case errors.Is(err, errCrashLoop):
		return "crash_loop"
	case errors.Is(err, reactor.ErrCorrupt):
		return "checkpoint_corrupt"
	case errors.Is(err, errExhausted):
		return "accumulator_failed"
	}
	return "restarts_exhausted"
}

func (m *managed) recordRecovery(ev checkpoint.RecoveryEvent) {
	// The event is worth keeping even when the process is stopping.
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := m.e.cfg.Store.AddRecoveryEvent(ctx, m.id(), ev); err != nil {
		m.e.cfg.Log.Error("a recovery event could not be kept", "graph", m.ref.Name, "kind", ev.Kind, "err", err)
	}
}

func (m *managed) id() checkpoint.ID { return checkpoint.ID{Tenant: m.ref.Tenant, Graph: m.ref.Name} }

// running is the run in progress, or a refusal that names the graph's state.
func (m *managed) running() (*run, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.run != nil {
		return m.run, nil
	}
	if m.health == reactor.HealthStandby {
		return nil, m.standbyError(http.StatusConflict)
	}
	detail := "the graph is " + string(m.health)
	if m.reason != nil {
		detail += ": " + m.reason.Detail
	}
	return nil, &Error{Status: 409, Code: "graph_not_running", Detail: detail}
}

func (m *managed) setRun(r *run) {
	m.mu.Lock()
	m.run = r
	m.mu.Unlock()
}

func (m *managed) incarnation() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.run != nil {
		return m.run.head.Incarnation
	}
	return m.last.Incarnation
}
