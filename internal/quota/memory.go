package quota

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Memory is about how many bytes something holds, by what holds them.
type Memory struct {
	// Keys is what all keys have: their newest values, what nodes made of these, and what waits in them. In a graph
	// without keys it is the one state there is.
	Keys int64
	// State is what accumulators keep: tables, windows, folds and open batches.
	State int64
	// Queues is what waits for an epoch, Outputs what waits to be delivered or committed, and Letters the dead letters
	// that are not in the store yet.
	Queues, Outputs, Letters int64
	// Records is what the newest firing records show.
	Records int64
}

// Total is all of it.
func (m Memory) Total() int64 {
	return m.Keys + m.State + m.Queues + m.Outputs + m.Letters + m.Records
}

// plus is both together.
func (m Memory) plus(o Memory) Memory {
	return Memory{Keys: m.Keys + o.Keys, State: m.State + o.State, Queues: m.Queues + o.Queues,
		Outputs: m.Outputs + o.Outputs, Letters: m.Letters + o.Letters, Records: m.Records + o.Records}
}

// Most is the part that has most, as it is told.
func (m Memory) Most() (part string, bytes int64) {
	for _, p := range []struct {
		name  string
		bytes int64
	}{{"keys", m.Keys}, {"state", m.State}, {"queues", m.Queues}, {"outputs", m.Outputs}, {"letters", m.Letters},
		{"records", m.Records}} {
		if p.bytes > bytes {
			part, bytes = p.name, p.bytes
		}
	}
	return part, bytes
}

// held is what one shard holds.
type held struct {
	shard int
	Memory
}

// Holds takes note of what a shard of the graph holds now; nothing when it does not run here any more.
func (m *Meter) Holds(shard int, now Memory) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.IndexFunc(m.shards, func(h held) bool { return h.shard == shard })
	switch {
	case now == (Memory{}):
		if i >= 0 {
			m.shards = slices.Delete(m.shards, i, i+1)
		}
	case i < 0:
		m.base += now.Total() // it has come with that, from a checkpoint, and has not grown by it
		m.shards = append(m.shards, held{shard, now})
	default:
		m.shards[i].Memory = now
	}
	before := m.memory.Total()
	m.memory = Memory{}
	for i := range m.shards {
		m.memory = m.memory.plus(m.shards[i].Memory)
	}
	m.crowd.holds(m, m.memory.Total()-before)
	m.tell()
}

// Memory is about what the graph holds in this process.
func (m *Meter) Memory() Memory {
	if m == nil {
		return Memory{}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.memory
}

// room is what keeps a graph from growing.
type room struct {
	moved   chan struct{} // closed when there may be room again; nil while nobody waits
	crowded bool          // it is to grow no more, since the daemon has little memory left
	base    int64         // what it had held before it grew
	crowd   *crowd        // of the book; nil for a meter that is in none, or no more
	stirred bool          // it is among those that crowd looks at
}

// tell lets those look again who wait for room. m.mu is held.
func (m *Meter) tell() {
	if m.moved != nil {
		close(m.moved)
		m.moved = nil
	}
}

const (
	// nearly is the share of its memory, in percent, from which on a graph is slowed, the more the less is left;
	// slowest is for how long a batch waits where none is.
	nearly  = 90
	slowest = 100 * time.Millisecond
	// lookAgain is how long whoever waits for room counts as held back.
	lookAgain = 500 * time.Millisecond
)

// tight is for how long what would take more memory waits; full says that it waits until there is room. m.mu is held.
func (m *Meter) tight() (why Cause, wait time.Duration, full bool) {
	if m.crowded {
		return DaemonMemory, 0, true
	}
	o := m.own.Load()
	if why, full := m.of.full(o != nil && o.Keyed); full {
		return why, 0, true
	}
	if o == nil || o.Memory == 0 {
		return 0, 0, false
	}
	from, now := o.Memory/100*nearly, m.memory.Total()
	switch {
	case now >= o.Memory:
		return GraphMemory, 0, true
	case now > from:
		return GraphMemory, time.Duration(float64(slowest) * float64(now-from) / float64(o.Memory-from)), false
	}
	return 0, 0, false
}

// fullToo is what else a full graph has no room in: it waits for all of it. m.mu is held.
func (m *Meter) fullToo(why Cause, full bool) (more []Cause) {
	o := m.own.Load()
	if !full || o == nil {
		return nil
	}
	if why != TenantKeys && m.of.keysFull(o.Keyed) {
		more = append(more, TenantKeys)
	}
	if why != GraphMemory && o.Memory > 0 && m.memory.Total() >= o.Memory {
		more = append(more, GraphMemory)
	}
	return more
}

// lasts says of what a full graph waits for that it may need the graph to lose what it keeps, by its ttl or as its
// windows close: what waits for an epoch or a sink goes by itself, and so does what the daemon is short of. m.mu is
// held.
func (m *Meter) lasts(why Cause) bool {
	if why == GraphMemory {
		if o := m.own.Load(); o != nil {
			return m.memory.Total()-m.memory.Queues-m.memory.Outputs-m.memory.Letters >= o.Memory
		}
	}
	return why == TenantKeys || why == TenantBytes
}

// Tight says that what the graph holds keeps its events back.
func (m *Meter) Tight() bool {
	if m == nil {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	_, wait, full := m.tight()
	o := m.own.Load()
	return full || wait > 0 || m.of.near(o != nil && o.Keyed)
}

// grow waits until the graph may hold more. Where ctx ends before, its error is an [ExceededError] unless patient.
// waits, which may be nil, is told before it does.
func (m *Meter) grow(ctx context.Context, patient bool, waits func(lasting bool)) error {
	if m == nil {
		return nil
	}
	for {
		m.mu.Lock()
		why, wait, full := m.tight()
		if !full && wait == 0 {
			m.mu.Unlock()
			return nil
		}
		if m.moved == nil {
			m.moved = make(chan struct{})
		}
		moved, holds, lasting, more := m.moved, m.memory, full && m.lasts(why), m.fullToo(why, full)
		m.mu.Unlock()
		if waits != nil {
			waits(lasting)
		}
		if full {
			wait = lookAgain
		}
		m.waits(why, wait)
		for _, other := range more {
			m.waits(other, wait)
		}
		began, timer := time.Now(), time.NewTimer(wait)
		gone := false
		select {
		case <-moved:
		case <-timer.C:
		case <-ctx.Done():
			gone = true
		}
		timer.Stop()
		m.of.waited(why, time.Since(began))
		switch {
		case gone && patient:
			return ctx.Err()
		case gone:
			return m.overfull(why, holds)
		case !full:
			return nil
		}
	}
}

// overfull is what somebody is told who pushes to a graph that may not grow.
func (m *Meter) overfull(why Cause, holds Memory) error {
	if e := m.of.exceeded(why); e != nil {
		return e
	}
	e := &ExceededError{Own: why == GraphMemory, Crowded: why == DaemonMemory, Holds: holds, After: time.Second}
	if o := m.own.Load(); o != nil {
		e.Memory = o.Memory
	}
	return e
}

// Text tells what is held, and which part has most.
func (m Memory) Text() string {
	part, bytes := m.Most()
	return fmt.Sprintf("about %d MiB, %d of them %s", m.Total()>>20, bytes>>20, part)
}
