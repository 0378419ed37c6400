package engine

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/graphd/graphd/internal/quota"
	"github.com/graphd/graphd/internal/supervisor"
)

const (
	// quotasEvery is how often quotas are looked at, and what a tenant has in the store at most.
	quotasEvery = time.Second
	// measureShare is how many times as long as it took there is no measuring of a tenant again: five percent of one
	// connection to the store.
	measureShare = 20
	// measureWithin bounds one measuring.
	measureWithin = time.Minute
)

// keepQuotas measures what tenants have in the store, and writes down which quotas hold somebody back, until ctx is
// done.
func (e *Engine) keepQuotas(ctx context.Context, _ *supervisor.Node) error {
	ticker := time.NewTicker(quotasEvery)
	defer ticker.Stop()
	next := map[string]time.Time{} // when each tenant is measured again
	for {
		e.measure(ctx, next)
		for _, c := range e.cfg.Quotas.Changes() {
			e.tellQuota(&c)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// measure has the store say what those tenants have in it that have a quota of it and are due.
func (e *Engine) measure(ctx context.Context, next map[string]time.Time) {
	due := make(map[string]time.Time)
	for _, tenant := range e.cfg.Quotas.Bounded() {
		began := time.Now()
		if due[tenant] = next[tenant]; began.Before(next[tenant]) {
			continue
		}
		within, cancel := context.WithTimeout(ctx, measureWithin)
		bytes, err := e.cfg.Store.StoredBytes(within, tenant)
		cancel()
		switch {
		case err == nil:
			e.cfg.Quotas.Stored(tenant, bytes)
		case ctx.Err() == nil: // what was last known counts on
			e.cfg.Log.Debug("what a tenant has in the store cannot be measured", "tenant", tenant, "err", err)
		}
		now := time.Now()
		due[tenant] = now.Add(measureShare * now.Sub(began))
	}
	clear(next) // also of tenants that have gone
	for tenant, at := range due {
		next[tenant] = at
	}
}

// tellQuota writes down that a quota begins or ends to hold somebody back.
func (e *Engine) tellQuota(c *quota.Change) {
	if !c.Holds {
		e.cfg.Log.Info("a tenant's quota holds nothing back any more", "tenant", c.Tenant, "quota", string(c.Quota))
		return
	}
	args := []any{slog.String("tenant", c.Tenant), slog.String("quota", string(c.Quota)), slog.Int64("used", c.Used),
		slog.Int64("limit", c.Limit), slog.String("do", c.Quota.Do())}
	if len(c.Graphs) > 0 {
		args = append(args, slog.String("graphs", strings.Join(c.Graphs, ",")))
	}
	e.cfg.Log.Warn("a tenant has as much as its quota allows, and more is held back or refused; nothing is lost",
		args...)
}
