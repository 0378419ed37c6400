package quota

import (
	"context"
	"fmt"
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

// Holds takes note of what a shard of the graph holds now; nothing when it does not run here any more.
func (m *Meter) Holds(shard int, now Memory) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if now == (Memory{}) {
		delete(m.shards, shard)
	} else {
		if m.shards == nil {
			m.shards = map[int]Memory{}
		}
		if _, known := m.shards[shard]; !known {
			m.base += now.Total() // it has come with that, from a checkpoint, and has not grown by it
		}
		m.shards[shard] = now
	}
	m.memory = Memory{}
	for _, s := range m.shards {
		m.memory = m.memory.plus(s)
	}
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

// Tight says that what the graph holds keeps its events back.
func (m *Meter) Tight() bool {
	if m == nil {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	_, wait, full := m.tight()
	return full || wait > 0
}

// grow waits until the graph may hold more. Where ctx ends before, its error is an [ExceededError] unless patient.
func (m *Meter) grow(ctx context.Context, patient bool) error {
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
		moved, holds := m.moved, m.memory
		m.mu.Unlock()
		if full {
			wait = lookAgain
		}
		m.waits(why, wait)
		timer := time.NewTimer(wait)
		select {
		case <-moved:
			timer.Stop()
		case <-timer.C:
			if !full {
				return nil
			}
		case <-ctx.Done():
			timer.Stop()
			if patient {
				return ctx.Err()
			}
			return m.overfull(why, holds)
		}
	}
}

// overfull is what somebody is told who pushes to a graph that may not grow.
func (m *Meter) overfull(why Cause, holds Memory) error {
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

// Crowd is told about ten times a second what the last collection found in use, and how much may be; 0 is no limit. It
// keeps the graph that has grown most from growing while there is little left, one more with each call, and lets all go
// when there is enough. Where that does not come, a graph that is large and grows no more goes on after a while, up to
// the last bit that is kept for checkpoints and garbage.
func (b *Book) Crowd(used, limit int64) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	held := int64(0) // which is known before there is a collection
	for _, m := range b.meters {
		held += m.Memory().Total()
	}
	used = max(used, held)
	little, enough := limit != 0 && used >= limit/100*littleLeft, limit == 0 || used < limit/100*enoughLeft
	some := used < limit/100*someLeft
	var grown *Meter
	most := int64(leastGrowth)
	for _, m := range b.meters {
		if by := m.grew(enough, some); by > most {
			grown, most = m, by
		}
	}
	if little && grown != nil {
		grown.mu.Lock()
		grown.crowded = true
		grown.mu.Unlock()
	}
}

const (
	// littleLeft is the share of the limit, in percent, past which the graph that grows most is held back, and
	// enoughLeft that below which none is. A checkpoint may take as much again as it writes. Below someLeft none is
	// that has not grown of late.
	littleLeft, enoughLeft, someLeft = 60, 50, 80
	// leastGrowth is below what nobody is held back for having grown.
	leastGrowth = 1 << 20
	// forgets is in how many calls of Crowd about two thirds of a growth are forgotten: half a minute.
	forgets = 300
)

// grew is by how much the graph has grown of late; 0 for one that is held back already. It is not any more where there
// is enough, or some and it has not grown.
func (m *Meter) grew(enough, some bool) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.memory.Total()
	m.base = min(now, m.base+(now-m.base)/forgets)
	if m.crowded && (enough || some && now-m.base < leastGrowth) {
		m.crowded = false
		m.tell()
	}
	if m.crowded {
		return 0
	}
	return now - m.base
}
