package quota

import (
	"sync/atomic"
	"time"
)

// Meter counts what one graph costs, over all its runs in this process. A nil Meter counts nothing.
type Meter struct {
	busy, read, written atomic.Int64
}

// Cost is what a graph has cost.
type Cost struct {
	// Busy is how long its reactor was at work.
	Busy time.Duration
	// Read are the bytes of events that came in as text, Written those that its checkpoints wrote.
	Read, Written int64
}

// Worked counts time that the reactor was at work.
func (m *Meter) Worked(d time.Duration) {
	if m != nil {
		m.busy.Add(int64(d))
	}
}

// Took counts bytes that came in.
func (m *Meter) Took(bytes int64) {
	if m != nil {
		m.read.Add(bytes)
	}
}

// Wrote counts bytes that went to the store.
func (m *Meter) Wrote(bytes int64) {
	if m != nil {
		m.written.Add(bytes)
	}
}

// Cost is what was counted.
func (m *Meter) Cost() Cost {
	if m == nil {
		return Cost{}
	}
	return Cost{time.Duration(m.busy.Load()), m.read.Load(), m.written.Load()}
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
		m = &Meter{}
		b.meters[at] = m
	}
	return m
}

// Forget drops what is known of a graph that is there no more.
func (b *Book) Forget(tenant, graph string) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.meters, [2]string{tenant, graph})
}
