package engine

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/compile"
	"github.com/graphd/graphd/internal/live"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/spec"
)

// A live update (M33) goes: checkpoint, stop the old run at its epoch boundary, start the
// new one held back, see whether it comes up, store the declaration, let it go. While it is
// held back nothing is admitted, fired or committed; when it does not come up the old one
// starts again from the very checkpoint it has made, and nothing was lost. Pushes wait in
// the mailboxes meanwhile, and commands wait for the outcome.

const (
	// proveTime is how long an update waits for the new accumulators to say how they are.
	// One that is still connecting then has a source that tries by itself.
	proveTime = 5 * time.Second
	// settleTime bounds the wait for a checkpoint before, and for the graph's start after.
	settleTime = 10 * time.Second
)

func stateChange(old, next *compile.Unit) *StateChange {
	kept, dropped := compile.Split(compile.Changes(old, next))
	return &StateChange{Kept: notNil(kept), Dropped: notNil(dropped)}
}

// update puts next in old's place. put stores the declaration; it is called once next is
// known to come up. On an error old is what runs, as it was. What has begun is finished,
// whether the caller waits or not.
func (e *Engine) update(ctx context.Context, old, next *managed, put func() error) error {
	ctx = context.WithoutCancel(ctx)
	healthy, err := old.settleForUpdate(ctx)
	if err != nil {
		return err
	}
	swapped := old.beginSwap()
	defer close(swapped)
	defer old.endSwap()
	if err := old.stop(); err != nil {
		e.cfg.Log.Warn("the graph did not stop cleanly before its update; it goes on from its last checkpoint", "graph", old.ref.Name, "err", err)
	}
	next.inherit(old)
	next.held = true
	e.wiring.connect(next)
	next.start(e.ctx)
	if healthy != nil {
		err = next.prove(ctx, healthy)
	}
	if err == nil {
		err = put()
	}
	if err != nil {
		if stopErr := next.stop(); stopErr != nil {
			e.cfg.Log.Error("an update was given up, and what it had started did not stop cleanly", "graph", old.ref.Name, "err", stopErr)
		}
		e.wiring.connect(old)
		old.start(e.ctx)
		old.await(ctx, settleTime, loaded)
		return err
	}
	next.letGo(ctx)
	e.mu.Lock()
	e.graphs[next.ref] = next
	e.mu.Unlock()
	e.rewired(next)
	old.closeOthers(next)
	return nil
}

// settleForUpdate takes a checkpoint of the running graph, so that stopping it risks
// nothing, and says which accumulators are healthy, by name. The answer is nil when the
// graph does not run: then there is nothing that a failed update could keep running.
func (m *managed) settleForUpdate(ctx context.Context) (healthy map[string]bool, err error) {
	m.mu.Lock()
	r := m.run
	m.mu.Unlock()
	if r == nil {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	switch _, err := r.reactor.Durable(ctx); {
	case errors.Is(err, live.ErrStopped):
		return nil, nil // it has just failed by itself
	case err != nil:
		return nil, &Error{Status: http.StatusServiceUnavailable, Code: "not_durable",
			Detail: "the graph was not updated, for its state cannot be saved now: " + err.Error()}
	}
	healthy = make(map[string]bool)
	sum := m.summary(ctx)
	for i := range sum.Accumulators {
		a := &sum.Accumulators[i]
		healthy[a.Name] = accumulator.Health(a.Health).Healthy()
	}
	return healthy, nil
}

// prove waits until the held run has come up, and says why when it does not: it cannot be
// built, or an accumulator fails that is new or was healthy before.
func (m *managed) prove(ctx context.Context, before map[string]bool) error {
	var why string
	m.await(ctx, proveTime, func(s *GraphSummary) bool {
		pending := false
		why, pending = m.trouble(s, before)
		return why != "" || !pending
	})
	if why == "" {
		return nil
	}
	return &Error{Status: http.StatusFailedDependency, Code: "update_failed",
		Detail: fmt.Sprintf("the graph cannot start under the new declaration: %s; fix that and apply again; until then revision %d runs on", why, m.decl.Revision)}
}

// trouble is why a held run does not come up, or whether that is still open.
func (m *managed) trouble(s *GraphSummary, before map[string]bool) (why string, pending bool) {
	if s.Health == string(reactor.HealthFailed) || s.Health == string(reactor.HealthStopped) || s.HealthReason != nil && s.HealthReason.Code == "restarting" {
		return detail(s.HealthReason, s.Health), false
	}
	pending = s.Health == string(reactor.HealthStarting)
	for i := range s.Accumulators {
		a := &s.Accumulators[i]
		switch h := accumulator.Health(a.Health); h {
		case accumulator.Starting, accumulator.Connecting:
			pending = true
		case accumulator.Restarting, accumulator.Halted, accumulator.Failed:
			if was, known := before[a.Name]; was || !known {
				return "accumulator " + a.Name + ": " + detail(a.HealthReason, a.Health), false
			}
		}
	}
	return "", pending
}

func detail(r *Reason, otherwise string) string {
	if r == nil || r.Detail == "" {
		return otherwise
	}
	if _, cause, ok := strings.Cut(r.Detail, supervisedAfter); ok {
		return cause // that it would be restarted is no news of a run that is given up
	}
	return r.Detail
}

// letGo ends the hold of a run that has come up, of the one after it too.
func (m *managed) letGo(ctx context.Context) {
	m.mu.Lock()
	m.held = false
	r := m.run
	m.mu.Unlock()
	if r != nil {
		r.letGo(ctx)
	}
}

// letGo is safe to call twice. A reactor that has ended needs it no more.
func (r *run) letGo(ctx context.Context) {
	_ = r.reactor.Do(ctx, func(*reactor.Core, time.Time) { r.reactor.Release() }) // ErrStopped only
}

// isHeld says whether a run that is being built waits for letGo.
func (m *managed) isHeld() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.held
}

// beginSwap makes commands wait until the channel is closed.
func (m *managed) beginSwap() chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.swap = make(chan struct{})
	return m.swap
}

func (m *managed) endSwap() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.swap = nil
}

// settled finds a graph, and waits for an update that is under way.
func (e *Engine) settled(ctx context.Context, g Ref) (*managed, error) {
	for {
		m, err := e.graph(g)
		if err != nil {
			return nil, err
		}
		m.mu.Lock()
		swap := m.swap
		m.mu.Unlock()
		if swap == nil {
			return m, nil
		}
		select {
		case <-swap:
		case <-ctx.Done():
			return nil, m.refusal(context.DeadlineExceeded)
		}
	}
}

// inherit takes over what outlives an update: the watchers, the figures, and the mailboxes
// of inputs that are still there, with the pushes that wait in them.
func (m *managed) inherit(old *managed) {
	m.hub = old.hub
	m.expired.Store(old.expired.Load())
	old.mu.Lock()
	m.restarts = old.restarts
	old.mu.Unlock()
	if old.unit == nil {
		return
	}
	for k := range old.unit.Spec.Accumulators {
		if i := m.find(old.unit.Spec.Accumulators[k].Name); i >= 0 {
			m.mailboxes[i] = old.mailboxes[k]
		}
	}
}

// closeOthers closes the mailboxes of inputs that next does not have: who waits there is told.
func (m *managed) closeOthers(next *managed) {
	for k, box := range m.mailboxes {
		if next.find(m.unit.Spec.Accumulators[k].Name) < 0 {
			box.Close()
		}
	}
}

func (m *managed) find(name string) int {
	return slices.IndexFunc(m.unit.Spec.Accumulators, func(a spec.Accumulator) bool { return a.Name == name })
}

// updated records how an attempt to change the graph has ended. kind is the recovery event's.
func (m *managed) updated(kind, origin, detail string, ok bool) {
	now := time.Now().UTC()
	m.mu.Lock()
	m.update = &UpdateStatus{At: now, OK: ok, Origin: origin, Detail: detail}
	m.mu.Unlock()
	outcome := "restarted"
	if !ok {
		outcome = "failed"
	}
	m.recordRecovery(checkpoint.RecoveryEvent{At: now, Graph: m.ref.Name, Component: "graph", Kind: kind, Reason: detail, Outcome: outcome, Incarnation: m.incarnation()})
}
