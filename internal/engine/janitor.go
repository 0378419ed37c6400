package engine

import (
	"context"
	"time"

	"github.com/graphd/graphd/internal/engine/letters"
	"github.com/graphd/graphd/internal/graphrun/told"
	"github.com/graphd/graphd/internal/supervisor"
)

const (
	// sweepEvery is how often expired records are removed from the store.
	sweepEvery = 3 * time.Minute
	// keepRecoveryEvents is how long the supervisor's acts are kept (M32).
	keepRecoveryEvents = 30 * 24 * time.Hour
)

// sweep removes what has expired from the store, every three minutes until ctx is done (M32).
// What it could not remove now it removes the next time.
func (e *Engine) sweep(ctx context.Context, _ *supervisor.Node) error {
	ticker := time.NewTicker(sweepEvery)
	defer ticker.Stop()
	for {
		select {
		case now := <-ticker.C:
			e.sweepOnce(ctx, now)
		case <-ctx.Done():
			return nil
		}
	}
}

func (e *Engine) sweepOnce(ctx context.Context, now time.Time) {
	for _, m := range e.all() {
		m.WriteRecovery()
		if m.Unit() == nil || m.StandsBy() {
			continue // the owner's matter
		}
		keep := m.Unit().Spec.DeadLetters
		all := letters.Pile{Store: e.cfg.Store, Shards: m.ShardIDs()}
		n, err := all.Prune(ctx, now.Add(-keep.Keep), keep.Max, keep.MaxBytes)
		if err != nil && ctx.Err() == nil {
			e.cfg.Log.Warn("expired dead letters could not be removed; they are tried again", "graph", m.Ref().Name,
				"tenant", m.Ref().Tenant, "err", err)
			continue
		}
		if n > 0 {
			e.cfg.Log.Info("dead letters expired", "graph", m.Ref().Name, "tenant", m.Ref().Tenant, "letters", n,
				"since_start", m.Expired(n))
		}
	}
	if _, err := e.cfg.Store.PruneRecoveryEvents(ctx, now.Add(-keepRecoveryEvents)); err != nil && ctx.Err() == nil {
		e.cfg.Log.Warn("expired recovery events could not be removed; they are tried again", "err", err)
	}
}

// sample has every graph see how fast its queues fill, until ctx is done.
func (e *Engine) sample(ctx context.Context, _ *supervisor.Node) error {
	ticker := time.NewTicker(told.RateEvery)
	defer ticker.Stop()
	for {
		select {
		case now := <-ticker.C:
			e.mu.RLock()
			for _, m := range e.graphs {
				m.Sample(now)
			}
			e.mu.RUnlock()
		case <-ctx.Done():
			return nil
		}
	}
}
