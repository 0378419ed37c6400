package quota

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Meter counts what one graph costs, over all its runs in this process. A nil Meter counts nothing.
type Meter struct {
	read  atomic.Int64
	spent atomic.Pointer[[]*spent] // by shard, as far as one has run here
	own   atomic.Pointer[own]
	of    *sums // its tenant's; nil where nothing bounds these

	mu      sync.Mutex
	waiting *[causes]waiting // nil of a graph that has never waited
	shards  []held           // what those that run here hold
	memory  Memory           // what they hold together
	keys    map[int]int      // how many keys those have that run here
	gone    bool             // the graph is there no more, and counts in nothing
	room
}

// Cause is what holds a graph back.
type Cause int

// What holds graphs back, in the order in which it is told.
const (
	TenantEvents Cause = iota // its tenant's quota of events
	TenantKeys                // its tenant's quota of keys
	TenantBytes               // its tenant's quota of what is stored
	TenantCPU                 // its tenant's quota of the processor's time
	GraphEvents               // its own limit of events
	GraphCPU                  // its own limit of the processor's time
	GraphMemory               // its own limit of memory
	DaemonMemory              // there is little memory left, and it has grown most
	causes       = iota
)

// waiting is that for one cause which goes on, or that was last.
type waiting struct{ since, until time.Time }

const (
	// SlowedFor is for how long something must have been slowed until that is told: shorter bursts are caught up with.
	SlowedFor = 5 * time.Second
	// slowedGap is for how long it must not wait until it is slowed no more.
	slowedGap = 2 * time.Second
)

// waits notes that the graph waits from now on.
func (m *Meter) waits(why Cause, d time.Duration) {
	if m == nil || d <= 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.waiting == nil {
		m.waiting = new([causes]waiting)
	}
	now, w := time.Now(), &m.waiting[why]
	if now.Sub(w.until) > slowedGap {
		w.since = now
	}
	if until := now.Add(d); until.After(w.until) {
		w.until = until
	}
}

// Slow is what has held a graph back all the time since then.
type Slow struct {
	Why   Cause
	Since time.Time
}

// Slowed is all that has held the graph back all the time, for long enough to be told, in the order of the causes.
func (m *Meter) Slowed() (by []Slow) {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.waiting == nil {
		return nil
	}
	now := time.Now()
	for why, w := range m.waiting {
		if now.Sub(w.until) <= slowedGap && now.Sub(w.since) >= SlowedFor {
			by = append(by, Slow{Cause(why), w.since})
		}
	}
	return by
}

// Waits says that something holds the graph back, or has a moment ago, for however short.
func (m *Meter) Waits(why Cause) bool {
	if m == nil {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.waiting != nil && time.Since(m.waiting[why].until) <= slowedGap
}

// Cost is what a graph has cost.
type Cost struct {
	// Busy is how long its reactor was at work, and the workers of its pools, each for itself.
	Busy time.Duration
	// Read are the bytes of events that came in as text, Written those that its checkpoints wrote.
	Read, Written int64
	// Memory is about what it holds now.
	Memory Memory
}

// spent is what one shard has cost.
type spent struct{ busy, written atomic.Int64 }

// spentBy is what a shard has cost; nil where it has not run here.
func (m *Meter) spentBy(shard int) *spent {
	if all := m.spent.Load(); all != nil && shard < len(*all) {
		return (*all)[shard]
	}
	return nil
}

// known is spentBy, for a shard that runs here.
func (m *Meter) known(shard int) *spent {
	if s := m.spentBy(shard); s != nil {
		return s
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []*spent
	if was := m.spent.Load(); was != nil {
		all = slices.Clone(*was)
	}
	for len(all) <= shard {
		all = append(all, nil)
	}
	if all[shard] == nil {
		all[shard] = new(spent)
		m.spent.Store(&all)
	}
	return all[shard]
}

// Worked counts time that a shard's reactor was at work, or a worker of its pools; the shard of a graph that is not
// dealt is the first.
func (m *Meter) Worked(shard int, d time.Duration) {
	if m != nil {
		m.known(shard).busy.Add(int64(d))
		m.spend(d)
	}
}

// Took counts bytes that came in.
func (m *Meter) Took(bytes int64) {
	if m != nil {
		m.read.Add(bytes)
	}
}

// Wrote counts bytes of a shard that went to the store.
func (m *Meter) Wrote(shard int, bytes int64) {
	if m != nil {
		m.known(shard).written.Add(bytes)
	}
}

// Cost is what was counted, of all shards that run here or have.
func (m *Meter) Cost() (c Cost) {
	if m == nil {
		return c
	}
	if all := m.spent.Load(); all != nil {
		for _, s := range *all {
			c.add(s)
		}
	}
	c.Read, c.Memory = m.read.Load(), m.Memory()
	return c
}

// CostOf is that of one shard. What is read is read for all of those that run here at once: Read is of these.
func (m *Meter) CostOf(shard int) (c Cost) {
	if m == nil {
		return c
	}
	c.add(m.spentBy(shard))
	c.Read = m.read.Load()
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range m.shards {
		if m.shards[i].shard == shard {
			c.Memory = m.shards[i].Memory
		}
	}
	return c
}

func (c *Cost) add(s *spent) {
	if s != nil {
		c.Busy += time.Duration(s.busy.Load())
		c.Written += s.written.Load()
	}
}

// Meter is that of a graph; it stays until the graph is forgotten.
func (b *Book) Meter(tenant, graph string) *Meter {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	at := [2]string{tenant, graph}
	m := b.meters[at]
	if m == nil {
		m = &Meter{room: room{crowd: &b.crowd}, of: b.of(tenant).sums}
		if m.of != nil {
			m.of.meters++
		}
		b.meters[at] = m
	}
	return m
}

// Pace is what the events of a graph go through. A nil Book holds nothing back.
func (b *Book) Pace(tenant, graph string) Pace {
	return Pace{Rates: []*Rate{b.Rate(tenant)}, Meter: b.Meter(tenant, graph)}
}

// Forget drops what is known of a graph that is there no more.
func (b *Book) Forget(tenant, graph string) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	at := [2]string{tenant, graph}
	m := b.meters[at]
	if m == nil {
		return
	}
	delete(b.meters, at)
	m.leave()
	if t := b.tenants[tenant]; t != nil && t.empty() {
		delete(b.tenants, tenant)
	}
}
