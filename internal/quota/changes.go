package quota

import (
	"maps"
	"slices"
	"time"
)

// Change is that a tenant's quota has begun to hold its graphs back or to refuse something, or that it does so no more.
type Change struct {
	Use
	// Holds is false where it does so no more.
	Holds bool
	// Graphs are those that are held back, the first few of them.
	Graphs []string
}

// telling is what was told of the quotas of a tenant.
type telling struct {
	last    map[Name]time.Time // when each has held or refused something last; those that were told of alone
	refused map[Name]int64     // how often it had
}

const (
	// quietFor is for how long a quota must hold and refuse nothing until it is told that it does not.
	quietFor = time.Minute
	// fewGraphs is how many are named.
	fewGraphs = 5
)

// quotaOf is the quota that a graph is held back by; "" where it is none of its tenant's.
func (c Cause) quotaOf() Name {
	switch c {
	case TenantEvents:
		return Events
	case TenantKeys:
		return Keys
	case TenantBytes:
		return Stored
	case TenantCPU:
		return CPU
	}
	return ""
}

// Bounds says whether anybody has a quota.
func (b *Book) Bounds() bool {
	if b != nil {
		for _, l := range b.limits {
			if l != (Limits{}) {
				return true
			}
		}
	}
	return false
}

// Changes are those since the last call, for whoever writes them down: each once, however often it happens.
func (b *Book) Changes() (all []Change) {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now, held := time.Now(), b.held()
	for _, name := range slices.Sorted(maps.Keys(b.tenants)) {
		t := b.tenants[name]
		for _, u := range t.uses(name) {
			var graphs []string
			if h := held[name][u.Quota]; h != nil {
				graphs = h.graphs
				slices.Sort(graphs)
			}
			if c, changed := t.told.note(u, len(graphs) > 0 || !u.Since.IsZero(), now); changed {
				c.Graphs = graphs[:min(len(graphs), fewGraphs)]
				all = append(all, c)
			}
		}
	}
	return all
}

// holding is what a quota holds back.
type holding struct {
	since  time.Time
	graphs []string
}

// held is what the quotas of all tenants hold back. b.mu is held.
func (b *Book) held() map[string]map[Name]*holding {
	all := map[string]map[Name]*holding{}
	for at, m := range b.meters {
		for _, by := range m.Slowed() {
			of := by.Why.quotaOf()
			if of == "" {
				continue
			}
			if all[at[0]] == nil {
				all[at[0]] = map[Name]*holding{}
			}
			h := all[at[0]][of]
			if h == nil {
				h = &holding{since: by.Since}
				all[at[0]][of] = h
			}
			if h.graphs = append(h.graphs, at[1]); by.Since.Before(h.since) {
				h.since = by.Since
			}
		}
	}
	return all
}

// note says whether something is to be told of a quota.
func (t *telling) note(u Use, holds bool, now time.Time) (c Change, changed bool) {
	if t.last == nil {
		t.last, t.refused = map[Name]time.Time{}, map[Name]int64{}
	}
	holds = holds || u.Refused > t.refused[u.Quota]
	t.refused[u.Quota] = u.Refused
	last, known := t.last[u.Quota]
	switch {
	case holds:
		t.last[u.Quota] = now
	case known && now.Sub(last) >= quietFor:
		delete(t.last, u.Quota)
		return Change{Use: u}, true
	}
	return Change{Use: u, Holds: true}, holds && !known
}
