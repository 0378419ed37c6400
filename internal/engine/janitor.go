package engine

import (
	"context"
	"time"

	"github.com/graphd/graphd/internal/engine/letters"
	"github.com/graphd/graphd/internal/graphrun"
	"github.com/graphd/graphd/internal/supervisor"
)

const (
	// sweepEvery is how often expired records are removed from the store.
	sweepEvery = 3 * time.Minute
	// keepRecoveryEvents is how long the supervisor's acts are kept (M32).
	keepRecoveryEvents = 30 * 24 * time.Hour
	// keepPushKeys is how long the store knows the Idempotency-Key of a push, as long as there are no more of one graph
	// than maxPushKeys, with no more than maxPushKeyBytes.
	keepPushKeys    = 24 * time.Hour
	maxPushKeys     = 100_000
	maxPushKeyBytes = 64 << 20
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
				"since_start", m.Forgotten().Letters.Add(n))
		}
		e.forgetKeys(ctx, m, now)
	}
	if _, err := e.cfg.Store.PruneRecoveryEvents(ctx, now.Add(-keepRecoveryEvents)); err != nil && ctx.Err() == nil {
		e.cfg.Log.Warn("expired recovery events could not be removed; they are tried again", "err", err)
	}
}

// forgetKeys removes the Idempotency-Keys of pushes that are too old or too many. Each shard has its share of the room.
func (e *Engine) forgetKeys(ctx context.Context, m *graphrun.Graph, now time.Time) {
	shards := m.ShardIDs()
	expired, displaced := int64(0), int64(0)
	for _, id := range shards {
		old, more, err := e.cfg.Store.PrunePushKeys(ctx, id, now.Add(-keepPushKeys), max(1, maxPushKeys/len(shards)),
			max(1, maxPushKeyBytes/int64(len(shards))))
		expired, displaced = expired+old, displaced+more
		if err != nil && ctx.Err() == nil {
			e.cfg.Log.Warn("Idempotency-Keys beyond the bounds could not be removed; they are tried again", "graph",
				m.Ref().Name, "tenant", m.Ref().Tenant, "err", err)
			break
		}
	}
	gone := m.Forgotten()
	gone.Expired.Add(expired)
	if all := gone.Displaced.Add(displaced); displaced > 0 {
		e.cfg.Log.Warn("Idempotency-Keys of pushes were forgotten before their time, for there are more than are kept",
			"graph", m.Ref().Name, "tenant", m.Ref().Tenant, "keys", displaced, "since_start", all)
	}
}
