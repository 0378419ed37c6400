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
	now, held := time.Now(), map[string]map[Name][]string{}
	for at, m := range b.meters {
		why, _, slowed := m.Slowed()
		if of := why.quotaOf(); slowed && of != "" {
			if held[at[0]] == nil {
				held[at[0]] = map[Name][]string{}
			}
			held[at[0]][of] = append(held[at[0]][of], at[1])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(b.tenants)) {
		t := b.tenants[name]
		for _, u := range t.uses(name) {
			graphs := held[name][u.Quota]
			slices.Sort(graphs)
			if c, changed := t.told.note(u, len(graphs) > 0, now); changed {
				c.Graphs = graphs[:min(len(graphs), fewGraphs)]
				all = append(all, c)
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
