package told

import (
	"fmt"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/quota"
	"github.com/graphd/graphd/internal/reactor"
)

// cost is what the graph has cost.
func (k *Known) cost() api.Cost {
	c := k.Meter.Cost()
	if k.Dealt {
		c = k.Meter.CostOf(k.Shard)
	}
	return api.Cost{BusySeconds: c.Busy.Seconds(), EventBytes: c.Read, StoredBytes: c.Written,
		MemoryBytes: c.Memory.Total(), Memory: api.Memory(c.Memory)}
}

// slowed tells of a graph that its tenant's quotas or limits of its own hold back, of all that do, beside a health that
// has no reason of its own. A graph that starts is not slowed yet: with a reason it would count as one that cannot
// start.
func (k *Known) slowed(s *api.GraphSummary) {
	if s.HealthReason != nil || s.Health != string(reactor.HealthLive) && s.Health != string(reactor.HealthDegraded) {
		return
	}
	for _, by := range k.Meter.Slowed() {
		switch why := k.slowedBy(by.Why, by.Since.UTC().Format(time.RFC3339)); {
		case why == nil:
		case s.HealthReason == nil:
			s.Health, s.HealthReason = string(reactor.HealthDegraded), why
		default:
			s.HealthReason.Detail += ". Besides, " + why.Detail
		}
	}
}

func (k *Known) slowedBy(why quota.Cause, since string) *api.Reason {
	switch why {
	case quota.TenantEvents:
		return api.ReasonOf("quota_slowed", fmt.Sprintf("the tenant may take %d events a second, and events "+
			"of this graph have waited for their turn since %s; nothing is lost: ask the operator of the daemon for "+
			"more, or send less", k.Quota.EventsPerSecond, since))
	case quota.TenantKeys:
		return k.quotaReason(quota.Keys, "events of graphs with keys have waited since "+since+
			" until there are fewer")
	case quota.TenantBytes:
		return k.quotaReason(quota.Stored, "events have waited since "+since+" until it is less")
	case quota.TenantCPU:
		return k.quotaReason(quota.CPU, "epochs have waited for their turn since "+since)
	case quota.GraphEvents:
		return api.ReasonOf("limit_slowed", fmt.Sprintf("limits.events_per_second is %d, and events have "+
			"waited for their turn since %s; nothing is lost: raise it, or send less", k.Spec.Limits.EventsPerSecond,
			since))
	case quota.GraphMemory:
		return api.ReasonOf("limit_slowed", fmt.Sprintf("limits.memory is %d MiB, and the graph holds %s; "+
			"events have waited since %s until it holds less, and nothing is lost: raise it, or have it keep less "+
			"(ttl, max_keys, history.keep, shorter windows)", k.Spec.Limits.Memory>>20, k.Meter.Memory().Text(),
			since))
	case quota.DaemonMemory:
		return api.ReasonOf("memory_slowed", fmt.Sprintf("the daemon has little memory left, and this "+
			"graph has grown most: it holds %s; its events have waited since %s, and nothing is lost: have it keep "+
			"less (ttl, max_keys, limits.memory), or give the daemon more", k.Meter.Memory().Text(), since))
	case quota.GraphCPU:
		return api.ReasonOf("limit_slowed", fmt.Sprintf("limits.cpu is %v, and epochs have waited for "+
			"their turn since %s; nothing is lost: raise it, or have less computed", k.Spec.Limits.CPU, since))
	}
	return nil
}

// quotaReason tells of a quota that bounds what the tenant's graphs have together.
func (k *Known) quotaReason(of quota.Name, waits string) *api.Reason {
	use := quota.Use{Quota: of}
	if u, ok := k.Meter.Use(of); ok {
		use = u
	}
	return api.ReasonOf("quota_slowed", fmt.Sprintf("%s; %s, and nothing is lost: %s", use.Text(), waits, of.Do()))
}
