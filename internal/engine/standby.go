package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/lease"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/supervisor"
)

// yieldTimeout bounds the giving up of a graph at shutdown; a lease that is not given up
// expires by itself.
const yieldTimeout = 2 * time.Second

// take waits until this daemon may run the graph and makes a run of it, under the term that
// ends it. Both are nil when ctx is done.
func (m *managed) take(ctx context.Context) (*run, *lease.Term, error) {
	for {
		t := m.stand(ctx)
		if t == nil {
			return nil, nil, nil
		}
		m.setHealth(reactor.HealthStarting, "", "")
		r, err := m.load(ctx, t)
		var owned *checkpoint.OwnedError
		switch {
		case errors.As(err, &owned):
			m.e.own.Learn(m.id(), owned.Owner)
		case errors.Is(err, checkpoint.ErrLeaseLost):
			m.e.own.Lost(err)
		default:
			return r, t, err
		}
	}
}

// stand waits, as standby, until this daemon may run the graph; nil when ctx is done.
func (m *managed) stand(ctx context.Context) *lease.Term {
	return m.e.own.Stand(ctx, m.id(), func(s lease.Standing) {
		m.setOwner(s.Owner)
		m.setHealth(reactor.HealthStandby, s.Code, s.Detail)
	})
}

func (m *managed) setOwner(owner string) {
	m.mu.Lock()
	m.owner = owner
	m.mu.Unlock()
}

// standbyError refuses what only the graph's owner can do. m.mu is held.
func (m *managed) standbyError(status int) error {
	e := &Error{Status: status, Code: "graph_standby", Detail: fmt.Sprintf("graph %s stands by here: %s", m.ref.Name, detail(m.reason, ""))}
	if m.owner != "" {
		e.Extra = map[string]any{"owner": m.owner}
	}
	return e
}

// yield gives a graph that has stopped cleanly to whoever stands by, when this daemon ends.
func (m *managed) yield() {
	m.e.mu.RLock()
	closing := m.e.closing
	m.e.mu.RUnlock()
	if !closing {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), yieldTimeout)
	defer cancel()
	if err := m.e.cfg.Store.Yield(ctx, m.id()); err != nil {
		m.e.cfg.Log.Warn("the graph was not yielded; another daemon takes it when this one's lease has expired", "graph", m.ref.Name, "err", err)
	}
}

// follow takes over what other daemons have changed in the declarations, until ctx is done.
func (e *Engine) follow(ctx context.Context, _ *supervisor.Node) error {
	for {
		select {
		case <-e.own.Declared():
		case <-ctx.Done():
			return nil
		}
		if err := e.takeDeclarations(ctx); err != nil && ctx.Err() == nil {
			e.cfg.Log.Warn("what other daemons have declared cannot be read; it is tried again", "err", err)
			timer := time.NewTimer(time.Second)
			select {
			case <-timer.C:
				e.own.DeclaredAgain()
			case <-ctx.Done():
			}
			timer.Stop()
		}
	}
}

func (e *Engine) takeDeclarations(ctx context.Context) error {
	decls, err := e.cfg.Store.Declarations(ctx)
	if err != nil {
		return err
	}
	there := make(map[Ref]bool, len(decls))
	for _, d := range decls {
		there[Ref{Tenant: d.Tenant, Name: d.Graph}] = true
		e.takeDeclaration(ctx, d)
	}
	for _, m := range e.all() {
		if !there[m.ref] {
			if err := e.takeDeletion(ctx, m.ref); err != nil {
				return err
			}
		}
	}
	return nil
}

// takeDeclaration runs a graph that another daemon has applied, or its newer revision.
func (e *Engine) takeDeclaration(ctx context.Context, d checkpoint.Declaration) {
	g := Ref{Tenant: d.Tenant, Name: d.Graph}
	if old, err := e.graph(g); err == nil && old.decl.Revision >= d.Revision {
		return // the common case waits for no change that is under way
	}
	defer e.changing.lock(g)()
	old, err := e.graph(g)
	exists := err == nil
	if exists && old.decl.Revision >= d.Revision || e.mayApply(exists, old, 0) != nil {
		return
	}
	unit, diags := e.cfg.Kinds.Parse([]byte(d.Text), fileOf(d.Origin))
	m := e.manage(d, unit)
	if err := diags.Err(); err != nil {
		e.cfg.Log.Error("another daemon has applied a declaration that this one cannot use", "graph", d.Graph, "tenant", d.Tenant, "revision", d.Revision, "err", err)
		if exists {
			return // the graph stays as it is; it may be another release's
		}
		m.broken(err)
		e.adopt(m)
		return
	}
	unclaim, err := e.wiring.claim(g, unit)
	if err != nil { // each daemon has allowed one of two links that together close a cycle
		e.cfg.Log.Error("another daemon has applied a declaration that is refused here", "graph", d.Graph, "tenant", d.Tenant, "revision", d.Revision, "err", err)
		return
	}
	e.cfg.Log.Info("another daemon has applied a declaration", "graph", d.Graph, "tenant", d.Tenant, "revision", d.Revision)
	if !exists {
		e.adopt(m)
		return
	}
	if err := e.update(ctx, old, m, func() error { return nil }); err != nil {
		unclaim()
		old.updated("update_failed", d.Origin, plainly(err), false)
		return
	}
	m.updated("updated", d.Origin, fmt.Sprintf("another daemon has applied revision %d: %s", d.Revision, stateChange(old.unit, unit)), true)
}

// takeDeletion removes a graph that another daemon has deleted.
func (e *Engine) takeDeletion(ctx context.Context, g Ref) error {
	defer e.changing.lock(g)()
	m, err := e.graph(g)
	if err != nil {
		return nil // removed meanwhile
	}
	decls, err := e.cfg.Store.Declarations(ctx) // it may have been applied here since
	if err != nil {
		return err
	}
	for _, d := range decls {
		if d.Tenant == g.Tenant && d.Graph == g.Name {
			return nil
		}
	}
	e.cfg.Log.Info("another daemon has deleted a graph", "graph", g.Name, "tenant", g.Tenant)
	if err := m.stop(); err != nil {
		e.cfg.Log.Warn("the graph did not stop cleanly before its removal", "graph", g.Name, "err", err)
	}
	e.forget(m)
	return nil
}
