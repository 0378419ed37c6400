package api

import "time"

// GraphRow is a graph in the list that watchers of all graphs get: what of its summary shows how it stands.
type GraphRow struct {
	Graph        string   `json:"graph"`
	Description  string   `json:"description,omitempty"`
	Revision     int64    `json:"revision"`
	Health       string   `json:"health"`
	HealthReason *Reason  `json:"health_reason"`
	Paused       bool     `json:"paused"`
	WaitingFor   []string `json:"waiting_for,omitempty"` // inputs the next epoch waits for
	Epoch        int64    `json:"epoch"`
	// EventsPerSecond and Cores, the share of a processor's core that it takes, are those since the look before; null
	// at the first.
	EventsPerSecond *float64   `json:"events_per_second"`
	EpochsPerSecond float64    `json:"epochs_per_second"`
	Cores           *float64   `json:"cores"`
	LastFiredAt     *time.Time `json:"last_fired_at"`
	Counters        Counters   `json:"counters"`
	// DeadLetters are events and values that became dead letters, in all.
	DeadLetters int64 `json:"dead_letters"`
	// Lag is how many events wait at the sources; null where none can tell.
	Lag *int64 `json:"lag"`
	// Pending are values that wait to be delivered, Failing how many outputs do not deliver now.
	Pending     int64 `json:"pending"`
	Failing     int   `json:"failing"`
	Stale       int   `json:"stale,omitempty"` // outputs that give less often than they are to
	MemoryBytes int64 `json:"memory_bytes"`
	Keys        int   `json:"keys,omitempty"`
	// Shards is how many shards there are, where there are several, ShardsRunning how many of them run.
	Shards        int `json:"shards,omitempty"`
	ShardsRunning int `json:"shards_running,omitempty"`
}

// RowOf is the row of a graph, without what is found by looking twice.
func RowOf(s *GraphSummary) GraphRow {
	row := GraphRow{Graph: s.Graph, Description: s.Description, Revision: s.Revision, Health: s.Health,
		HealthReason: s.HealthReason, Paused: s.Paused, WaitingFor: s.WaitingFor, Epoch: s.Epoch,
		EpochsPerSecond: s.EpochsPerSecond, LastFiredAt: s.LastFiredAt, Counters: s.Counters,
		DeadLetters: s.DeadLettered(), MemoryBytes: s.Cost.MemoryBytes}
	for i := range s.Accumulators {
		if lag := s.Accumulators[i].Lag; lag != nil {
			if row.Lag == nil {
				row.Lag = new(int64)
			}
			*row.Lag += *lag
		}
	}
	for i := range s.Outputs {
		row.Pending += s.Outputs[i].Pending
		if s.Outputs[i].FailingSince != nil {
			row.Failing++
		}
		if s.Outputs[i].Stale {
			row.Stale++
		}
	}
	if s.Keys != nil {
		row.Keys, row.Shards, row.ShardsRunning = s.Keys.Count, s.Keys.Shards, s.Keys.ShardsRunning
	}
	return row
}

// ListTold says how many graphs a watcher of all was told of by a look at them, and which daemons have not said how
// theirs stand.
type ListTold struct {
	Graphs  int       `json:"graphs"`
	Missing []Missing `json:"missing,omitempty"`
}
