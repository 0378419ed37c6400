package lives

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/accumulator/pump"
	"github.com/graphd/graphd/internal/accumulator/pump/reader"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/compile"
	"github.com/graphd/graphd/internal/graphrun/life"
	"github.com/graphd/graphd/internal/graphrun/told"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/supervisor"
	"github.com/graphd/graphd/internal/watch"
)

// Config is what a shard is made of.
type Config struct {
	Host *Host
	Ref  api.Ref
	// Number is the shard's among those of its graph, of which there are Of.
	Number, Of int
	Unit       *compile.Unit // nil when the declaration does not compile
	// Mailboxes take pushes whether a run is on or not, per accumulator.
	Mailboxes []*pump.Mailbox
	// Readers read the sources for all shards, per accumulator; nil where the graph is not dealt.
	Readers  []*reader.Reader
	Hub      *watch.Hub
	Restarts *told.Restarts
	// Known is what is known of the graph with or without a run.
	Known func() *told.Known
	// Changed is told of everything that the shard shows. It must not block.
	Changed func()
}

// Shard is one shard of a graph: what outlives its runs.
type Shard struct {
	cfg      Config
	host     *Host
	ref      api.Ref
	routing  atomic.Pointer[[]reactor.Route] // of the last run; nil before the first
	operator *supervisor.Restarter

	mu      sync.Mutex
	run     *life.Run         // the run in progress, or nil
	last    *api.GraphSummary // of the last run; nil before its end
	number  int64             // the incarnation of the last run that was begun
	health  reactor.Health    // while there is no run
	reason  *api.Reason
	owner   string // who runs the shard while it stands by here
	ownerAt string // where that one is reached, "" when it has not said
	held    bool   // runs are held back: an update is being tried
	pardon  bool   // the next run is to begin with a crash ledger that says nothing
	task    *supervisor.Task
	node    *supervisor.Node // of the supervising goroutine, which alone reads it
	failure error            // why the last run ended badly at shutdown
	stopBy  time.Time        // until when the stop under way has time; zero for none

	// outlived are the fences of runs that the process has outlived, since the store was told
	// last. They belong to the supervising goroutine.
	outlived []int64
	// behind is what the run that has failed last has left behind, as the supervising goroutine is to tell.
	behind string
	// taken is the fence of the last taking that was answered, unanswered how many have failed
	// since, so that nobody knows whether the store has them; mu guards them.
	taken, unanswered int64
	// unrecorded are the recovery events that the store has not taken yet, oldest first.
	unrecorded struct {
		sync.Mutex
		events []checkpoint.RecoveryEvent
	}
}

// New makes a shard. Start runs it.
func New(cfg Config) *Shard {
	return &Shard{cfg: cfg, host: cfg.Host, ref: cfg.Ref, health: reactor.HealthStarting,
		operator: supervisor.NewRestarter()}
}

// ID is the shard in the store.
func (s *Shard) ID() checkpoint.ID {
	return checkpoint.ID{Tenant: s.ref.Tenant, Graph: s.ref.Name, Shard: s.cfg.Number}
}

// Number is the shard's among those of its graph.
func (s *Shard) Number() int { return s.cfg.Number }

// Hub is where the watchers are attached.
func (s *Shard) Hub() *watch.Hub { return s.cfg.Hub }

// Restarts are counted over all runs.
func (s *Shard) Restarts() *told.Restarts { return s.cfg.Restarts }

// Mailboxes take pushes, per accumulator.
func (s *Shard) Mailboxes() []*pump.Mailbox { return s.cfg.Mailboxes }

// Inherit takes over what outlives an update, before the shard is started: the watchers, the figures, and the fences
// of the runs that the process has outlived. A shard that there was not before has the watchers of another.
func (s *Shard) Inherit(old *Shard) {
	if old.cfg.Number != s.cfg.Number {
		s.cfg.Hub.Join(old.cfg.Hub)
		return
	}
	s.cfg.Hub, s.cfg.Restarts, s.outlived = old.cfg.Hub, old.cfg.Restarts, old.outlived
}

// Revert takes back what the shards of an update that was given up have: what they have tried has crashed nothing.
func Revert(shards, tried []*Shard) {
	for n, t := range tried {
		if n >= len(shards) {
			t.cfg.Hub.Close()
			continue
		}
		shards[n].outlived = t.outlived
	}
}

// log names the shard, of a graph that has several.
func (s *Shard) log() *slog.Logger {
	if s.cfg.Of == 1 {
		return s.host.Log
	}
	return s.host.Log.With("shard", s.cfg.Number)
}

// show makes a change of what the shard shows beside its run's view, and wakes who waits for one.
func (s *Shard) show(change func()) {
	s.mu.Lock()
	change()
	s.mu.Unlock()
	s.cfg.Changed()
}

// SetHealth says how a shard is that does not run.
func (s *Shard) SetHealth(h reactor.Health, code, detail string) {
	reason := api.ReasonOf(code, detail)
	s.show(func() { s.health, s.reason = h, reason })
	s.cfg.Hub.HealthChanged(string(h), reason)
}

// Start has the shard supervised until ctx ends.
func (s *Shard) Start(ctx context.Context) {
	name := s.ref.Tenant + "/" + s.ref.Name
	if s.cfg.Number > 0 {
		name += "#" + strconv.Itoa(s.cfg.Number)
	}
	r := s.cfg.Unit.Spec.Reactor.Restart
	task := s.host.Tasks.Go(ctx, name, func(ctx context.Context, n *supervisor.Node) error {
		s.node = n
		return supervisor.Supervise(ctx, supervisor.Config{
			Name:      "graph",
			Policy:    supervisor.Policy{Attempts: r.Attempts, Base: r.Base, Max: r.Max, Reset: r.Reset},
			Run:       s.once,
			Classify:  classify,
			OnEvent:   s.supervised,
			Restarter: s.operator,
			Revive:    true,
			Node:      n,
		})
	})
	s.mu.Lock()
	s.task, s.stopBy = task, time.Time{}
	s.mu.Unlock()
}

// Restart revives the shard at once and with a fresh count (M36). One that is not running begins with a clear crash
// ledger, too: the operator says that the cause has been fixed (M43).
func (s *Shard) Restart() {
	s.mu.Lock()
	s.pardon = s.pardon || s.run == nil
	s.mu.Unlock()
	s.operator.Restart()
}

// StopWithin ends the shard and waits until it has, or ctx is done: all of the stop, its last
// checkpoint too, has that time. What does not come to its end then is abandoned: it can change
// nothing in the store and sends nothing more, and the error names it.
func (s *Shard) StopWithin(ctx context.Context) error {
	by, _ := ctx.Deadline()
	s.mu.Lock()
	task := s.task
	s.stopBy = by
	s.mu.Unlock()
	if task == nil {
		return nil
	}
	task.Stop()
	if err := task.Wait(ctx); err != nil && ctx.Err() != nil {
		return err
	}
	return s.StopError()
}

// stopTime is the time that the stop of a run has: that of who asked for it, of the daemon's
// shutdown, or the shutdown timeout.
func (s *Shard) stopTime() (context.Context, context.CancelFunc) {
	s.mu.Lock()
	by := s.stopBy
	s.mu.Unlock()
	if closing := s.host.CloseBy(); by.IsZero() || !closing.IsZero() && closing.Before(by) {
		by = closing
	}
	if by.IsZero() {
		by = time.Now().Add(s.host.ShutdownTimeout)
	}
	return context.WithDeadline(context.Background(), by) // the stop outlives what asked for it
}

// briefly is a context for a call to the store that outlives what asked for it: it has so long,
// and no longer than the shutdown.
func (s *Shard) briefly(d time.Duration) (context.Context, context.CancelFunc) {
	by := time.Now().Add(d)
	if closing := s.host.CloseBy(); !closing.IsZero() && closing.Before(by) {
		by = closing
	}
	return context.WithDeadline(context.Background(), by)
}

// StopError is how the last stop of the shard failed; nil when it was clean.
func (s *Shard) StopError() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failure
}

// classify judges how a run ended.
func classify(err error) supervisor.Verdict {
	switch {
	case errors.Is(err, told.ErrCrashLoop), told.Corrupt(err), errors.Is(err, told.ErrExhausted),
		errors.Is(err, told.ErrCold), errors.Is(err, reactor.ErrDealt):
		return supervisor.Permanent
	}
	return supervisor.Restart
}

// supervised records what the supervisor does, and shows it as the graph's health.
func (s *Shard) supervised(ev supervisor.Event) {
	reason := ""
	if ev.Err != nil {
		reason = ev.Err.Error()
	}
	switch ev.Kind {
	case supervisor.EventWaiting:
		s.SetHealth(reactor.HealthStarting, cmp.Or(checkpoint.Ailment(ev.Err), "restarting"),
			told.Restarting(&ev, reason))
	case supervisor.EventGaveUp:
		s.SetHealth(reactor.HealthFailed, told.FailureCode(ev.Err), reason+"; fix the cause, then restart the graph")
	}
	if ev.Kind != supervisor.EventWaiting {
		s.cfg.Restarts.Count("", &ev)
		log := s.log()
		if ev.Stack != "" {
			log = log.With("stack", ev.Stack)
		}
		log.Warn("graph supervised", "graph", s.ref.Name, "tenant", s.ref.Tenant, "kind", string(ev.Kind),
			"attempt", ev.Attempt, "delay", ev.Delay, "err", ev.Err)
	}
	if ev.Durable() {
		rec := ev.Record(s.ref.Name, s.Incarnation())
		rec.Reason, s.behind = rec.Reason+s.behind, ""
		if ev.Kind == supervisor.EventGaveUp && errors.Is(ev.Err, told.ErrCrashLoop) {
			rec.Kind = "quarantined"
		}
		if caught := new(accumulator.PanicError); errors.As(ev.Err, &caught) {
			rec.Stack = string(caught.Stack) // where it was, which is not the goroutine it was carried to
		}
		s.Record(rec)
	}
}

// Running is the run in progress, or a refusal that names the graph's state.
func (s *Shard) Running() (*life.Run, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run != nil {
		return s.run, nil
	}
	if s.health == reactor.HealthStandby {
		return nil, s.standbyError(http.StatusConflict)
	}
	detail := "the graph is " + string(s.health)
	if s.reason != nil {
		detail += ": " + s.reason.Detail
	}
	return nil, &api.Error{Status: 409, Code: "graph_not_running", Detail: detail}
}

// Run is the run in progress, or nil.
func (s *Shard) Run() *life.Run {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.run
}

// Incarnation is that of the run in progress, or of the last one.
func (s *Shard) Incarnation() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run != nil {
		return s.run.Head.Incarnation
	}
	return s.number
}

// Failed says that the shard was given up, and why.
func (s *Shard) Failed() (failed bool, why *api.Reason) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.run == nil && s.health == reactor.HealthFailed, s.reason
}

// Hold has the next runs wait for LetGo. It is for a shard that is not started yet.
func (s *Shard) Hold() { s.held = true }

// LetGo ends the hold of a run that has come up, of the one after it too.
func (s *Shard) LetGo(ctx context.Context) {
	s.mu.Lock()
	s.held = false
	r := s.run
	s.mu.Unlock()
	if r != nil {
		r.LetGo(ctx)
	}
}

// isHeld says whether a run that is being built waits for LetGo.
func (s *Shard) isHeld() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held
}
