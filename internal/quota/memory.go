package quota

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
		m.shards[shard] = now
	}
	m.memory = Memory{}
	for _, s := range m.shards {
		m.memory = m.memory.plus(s)
	}
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
