package quota

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/graphd/graphd/internal/api"
)

// sums are what the graphs of a tenant have together in this process, and its quotas of that.
type sums struct {
	limits       Limits
	keys, stored atomic.Int64
	work         *share // nil without a quota of the processor's time
	meters       int    // how many of the tenant's graphs count in it; the book's lock is held

	// What has been refused for want of keys and of room in the store, and what has waited for these.
	keysTally, storedTally tally
}

// tally is how often there was no room, and for how long something has waited for it.
type tally struct{ refused, waited atomic.Int64 }

// newSums are those of a tenant with these limits; nil where there is none of what they are for.
func newSums(l Limits) *sums {
	if l.Keys == 0 && l.StoredBytes == 0 && l.CPU == 0 {
		return nil
	}
	s := &sums{limits: l}
	if l.CPU > 0 {
		s.work = &share{cores: l.CPU, credit: l.CPU, at: time.Now()}
	}
	return s
}

// needed says that graphs count in them, or that time is owed.
func (s *sums) needed() bool {
	return s != nil && (s.meters > 0 || s.work != nil && s.work.take(0) > 0)
}

// full says which quota a graph may not grow in, if any; keyed says that the graph has keys.
func (s *sums) full(keyed bool) (why Cause, full bool) {
	switch {
	case s == nil:
	case s.limits.StoredBytes > 0 && s.stored.Load() >= s.limits.StoredBytes:
		return TenantBytes, true
	case s.keysFull(keyed):
		return TenantKeys, true
	}
	return 0, false
}

// keysFull says that a graph may not have more keys.
func (s *sums) keysFull(keyed bool) bool {
	return s != nil && keyed && s.limits.Keys > 0 && s.keys.Load() >= int64(s.limits.Keys)
}

// keysLeft is how many events may bring keys at once to a graph that has some: an eighth of those that are left, for
// others may bring some too, and those of the last slice may not have been counted yet. It is -1 where nothing bounds
// them.
func (m *Meter) keysLeft() int {
	if m == nil || m.of == nil || m.of.limits.Keys == 0 {
		return -1
	}
	if o := m.own.Load(); o == nil || !o.Keyed {
		return -1
	}
	return max(0, m.of.limits.Keys-int(m.of.keys.Load())) / 8
}

// near says that little is left of a quota, so that batches are to be small.
func (s *sums) near(keyed bool) bool {
	if s == nil {
		return false
	}
	most := int64(s.limits.Keys)
	return s.limits.StoredBytes > 0 && s.stored.Load() >= s.limits.StoredBytes/100*nearly ||
		keyed && most > 0 && s.keys.Load() >= most-most/(100/(100-nearly))
}

// waited counts that something waits for a quota, for d.
func (s *sums) waited(why Cause, d time.Duration) {
	if t := s.tally(why); t != nil {
		t.waited.Add(int64(d))
	}
}

// tally is that of what holds something back; nil where it is no quota of these.
func (s *sums) tally(why Cause) *tally {
	switch {
	case s != nil && why == TenantKeys:
		return &s.keysTally
	case s != nil && why == TenantBytes:
		return &s.storedTally
	}
	return nil
}

// exceeded is what somebody is told who pushes to a graph that may not grow for the tenant's sake; nil where it is not
// for that.
func (s *sums) exceeded(why Cause) *ExceededError {
	t := s.tally(why)
	if t == nil {
		return nil
	}
	t.refused.Add(1)
	if why == TenantKeys {
		return &ExceededError{Quota: Keys, Used: int(s.keys.Load()), Limit: s.limits.Keys, After: time.Second}
	}
	return &ExceededError{Quota: Stored, Used: int(s.stored.Load()), Limit: int(s.limits.StoredBytes),
		After: storedAgain}
}

// storedAgain is when to come again where nothing more may be stored, which is looked at from time to time.
const storedAgain = 5 * time.Second

// uses are those of the quotas that there are.
func (s *sums) uses(tenant string) (all []Use) {
	if s == nil {
		return nil
	}
	add := func(of Name, used, limit int64, t *tally) {
		if limit > 0 {
			all = append(all, Use{Tenant: tenant, Quota: of, Used: used, Limit: limit, Refused: t.refused.Load(),
				Waited: time.Duration(t.waited.Load())})
		}
	}
	add(Keys, s.keys.Load(), int64(s.limits.Keys), &s.keysTally)
	add(Stored, s.stored.Load(), s.limits.StoredBytes, &s.storedTally)
	if s.work != nil {
		used, waited := s.work.use()
		all = append(all, Use{Tenant: tenant, Quota: CPU, Used: used, Limit: int64(s.limits.CPU*1000 + 0.5),
			Waited: waited})
	}
	return all
}

// Keys takes note of how many keys a shard of the graph has now.
func (m *Meter) Keys(shard, now int) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.keys == nil {
		m.keys = map[int]int{}
	}
	before := m.keys[shard]
	if m.keys[shard] = now; now == 0 {
		delete(m.keys, shard)
	}
	if m.of == nil || m.gone || now == before {
		return
	}
	if m.of.keys.Add(int64(now - before)); now < before {
		m.tell()
	}
}

// Left says that a shard of the graph runs here no more.
func (m *Meter) Left(shard int) {
	m.Holds(shard, Memory{})
	m.Keys(shard, 0)
}

// Use is that of a quota that bounds what the tenant's graphs have together; false where there is none.
func (m *Meter) Use(of Name) (Use, bool) {
	if m == nil {
		return Use{}, false
	}
	for _, u := range m.of.uses("") {
		if u.Quota == of {
			return u, true
		}
	}
	return Use{}, false
}

// Bounded are the tenants that have a quota of what is stored, in no order.
func (b *Book) Bounded() (tenants []string) {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for name, t := range b.tenants {
		if t.sums != nil && t.limits.StoredBytes > 0 {
			tenants = append(tenants, name)
		}
	}
	return tenants
}

// Stored takes note of how many bytes a tenant has in the store.
func (b *Book) Stored(tenant string, bytes int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.tenants[tenant]
	if t == nil || t.sums == nil {
		return
	}
	if before := t.sums.stored.Swap(bytes); bytes >= before {
		return
	}
	for at, m := range b.meters {
		if at[0] == tenant {
			m.mu.Lock()
			m.tell()
			m.mu.Unlock()
		}
	}
}

// Text is what a tenant has of a quota that bounds what its graphs have together, as people read it.
func (u Use) Text() string {
	switch u.Quota {
	case Keys:
		return fmt.Sprintf("the tenant may have %d keys, and its graphs have %d", u.Limit, u.Used)
	case Stored:
		return fmt.Sprintf("the tenant may have %s in the store, and has %s", size(u.Limit), size(u.Used))
	case CPU:
		return fmt.Sprintf("the tenant may have %v of a core", float64(u.Limit)/1000)
	case Events:
		return fmt.Sprintf("the tenant may take %d events a second", u.Limit)
	case Outbound:
		return fmt.Sprintf("the tenant may have %d calls on the way at once, and has %d", u.Limit, u.Used)
	}
	return fmt.Sprintf("the tenant may have %d %s, and has %d", u.Limit, u.Quota, u.Used)
}

// Told is it as a tenant is shown its quotas.
func (u *Use) Told() api.Limit {
	l := api.Limit{Name: "quota_" + string(u.Quota), Limit: u.Limit, Used: &u.Used,
		Unit: u.Quota.Unit() + "; the tenant " + u.Tenant + "'s"}
	if !u.Since.IsZero() {
		l.Since = new(u.Since.UTC())
	}
	return l
}

// Do is what there is to do where a quota holds back or refuses.
func (n Name) Do() string {
	switch n {
	case Keys:
		return "have keys go (ttl, max_keys), delete a graph with keys, or ask the operator for a larger max_keys"
	case Stored:
		return "discard dead letters, keep less (ttl, history.keep, dead_letters), delete a graph with its state, or " +
			"ask the operator for a larger max_stored_bytes"
	case CPU:
		return "have less computed, pause a graph, or ask the operator for a larger cpu"
	case Events:
		return "send less, or ask the operator for a larger events_per_second"
	case Graphs:
		return "delete one, or ask the operator for a larger max_graphs"
	case Outbound:
		return "poll and deliver less often, or ask the operator for a larger max_outbound"
	case Sockets:
		return "close some, or ask the operator for a larger max_websockets"
	}
	return "ask the operator for a larger quota"
}

// size is a number of bytes as people read it.
func size(n int64) string {
	switch {
	case n >= 10<<20:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 10<<10:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}
