package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/graphrun"
	"github.com/graphd/graphd/internal/quota"
)

// deleteTimeout bounds what a graph has to stop in before it is removed: one that is stuck in
// somebody's code is abandoned then.
const deleteTimeout = 5 * time.Second

// Delete stops a graph and removes it, with deleteState all it ever persisted too.
func (e *Engine) Delete(ctx context.Context, g api.Ref, deleteState bool) error {
	defer e.changing.Lock(g)()
	m, err := e.graph(g)
	if err == nil {
		err = e.contracts().Unfollowed(g, m.Declaration().Text)
	}
	if err != nil {
		return err
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), min(deleteTimeout, e.cfg.ShutdownTimeout))
	defer cancel()
	if err := m.StopWithin(end); err != nil {
		e.cfg.Log.Warn("the graph did not stop cleanly before its removal", "graph", g.Name,
			"tenant", g.Tenant, "err", err)
	}
	if err := e.cfg.Store.DeleteDeclaration(ctx, m.ID(), deleteState); err != nil &&
		!errors.Is(err, checkpoint.ErrNotFound) {
		return fmt.Errorf("remove the graph from the store: %w", err)
	}
	e.forget(m)
	return nil
}

// forget drops a graph that has been stopped and removed.
func (e *Engine) forget(m *graphrun.Graph) {
	m.GiveUp()
	e.cfg.Quotas.Add(m.Ref().Tenant, quota.Graphs, -1)
	e.cfg.Quotas.Forget(m.Ref().Tenant, m.Ref().Name)
	e.mu.Lock()
	delete(e.graphs, m.Ref())
	delete(e.shards, m.ID())
	e.mu.Unlock()
	e.feeds.Forget(m.Ref())
	e.spread.Local.Refused.Forget(m.Ref())
	m.Close()
	if e.Untaken.Any() {
		e.own.DeclaredAgain() // there is room
	}
}
