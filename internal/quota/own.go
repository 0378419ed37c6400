package quota

import (
	"sync"
	"time"
)

// Bounds are the limits of one graph, as it is declared. 0 is no bound.
type Bounds struct {
	// EventsPerSecond bounds what all its inputs take together. More is let in later.
	EventsPerSecond int
	// Cores bounds how long its reactor and the workers of its pools are at work: 0.5 is half of the time. The reactor
	// rests for what they have worked longer.
	Cores float64
	// Memory bounds about what it holds, in bytes. Near it events wait.
	Memory int64
	// Keyed says that the graph has keys, so that its tenant's quota of these holds it back.
	Keyed bool
}

// own are the limits of a graph as they are kept.
type own struct {
	Bounds
	rate *Rate  // nil without one
	work *share // nil without one
}

// Bind has the graph kept within its limits from now on. What is as before goes on: a graph that is started anew owes
// what it has owed.
func (m *Meter) Bind(b Bounds) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	before := m.own.Load()
	if before != nil && before.Bounds == b {
		return
	}
	next := &own{Bounds: b}
	if b.EventsPerSecond > 0 {
		next.rate = NewRate(b.EventsPerSecond)
		next.rate.why = GraphEvents
	}
	if b.Cores > 0 {
		next.work = &share{cores: b.Cores, credit: b.Cores, at: time.Now()}
	}
	m.own.Store(next)
	m.tell()
}

// rate is that of the graph's own limit; nil where it has none.
func (m *Meter) rate() *Rate {
	if m == nil {
		return nil
	}
	if o := m.own.Load(); o != nil {
		return o.rate
	}
	return nil
}

// spend takes time that somebody was at work off what it may, and off what its tenant may.
func (m *Meter) spend(d time.Duration) {
	if o := m.own.Load(); o != nil && o.work != nil {
		m.waits(GraphCPU, o.work.take(d))
	}
	if m.of != nil && m.of.work != nil {
		m.waits(TenantCPU, m.of.work.take(d))
	}
}

// Rests is for how long the reactor is to run no epoch, since it has worked for longer than its limit allows, or its
// tenant's graphs for longer than their quota. It is 0 for a nil Meter.
func (m *Meter) Rests() (wait time.Duration) {
	if m == nil {
		return 0
	}
	if o := m.own.Load(); o != nil && o.work != nil {
		wait = o.work.take(0)
	}
	if m.of != nil && m.of.work != nil {
		wait = max(wait, m.of.work.take(0))
	}
	return wait
}

// share is a part of the processor's time, of which a second's worth may be taken at once. What is taken beyond it is
// owed: an epoch is not interrupted.
type share struct {
	cores float64

	mu     sync.Mutex
	credit float64 // in seconds; below 0 it is owed
	at     time.Time
	waited time.Duration // how long there was no time left, in all
	// second is the one that now is counted in, and before what the one before it had.
	second      time.Time
	now, before time.Duration
}

// take takes d, and answers how long it takes until nothing is owed.
func (s *share) take(d time.Duration) (owed time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	was := max(0, -s.credit)
	s.credit = min(s.cores, s.credit+now.Sub(s.at).Seconds()*s.cores)
	s.waited += time.Duration((was - max(0, -s.credit)) / s.cores * float64(time.Second))
	s.credit -= d.Seconds()
	s.at = now
	switch since := now.Sub(s.second); {
	case since >= 2*time.Second:
		s.second, s.before, s.now = now, 0, 0
	case since >= time.Second:
		s.second, s.before, s.now = s.second.Add(time.Second), s.now, 0
	}
	s.now += d
	return time.Duration(max(0, -s.credit/s.cores) * float64(time.Second))
}

// use is what was taken in the last whole second, in thousandths of a core, and how long there was no time left in all.
// While something is owed it is all that may be taken: that goes on account.
func (s *share) use() (millicores int64, waited time.Duration) {
	if s == nil {
		return 0, 0
	}
	owed := s.take(0)
	s.mu.Lock()
	defer s.mu.Unlock()
	if millicores = s.before.Milliseconds(); owed > 0 {
		millicores = max(millicores, int64(s.cores*1000+0.5))
	}
	return millicores, s.waited
}
