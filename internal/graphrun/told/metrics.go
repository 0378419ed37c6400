package told

import (
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/kind"
	"github.com/graphd/graphd/internal/live"
	"github.com/graphd/graphd/internal/live/hands"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/reactor/pace"
	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/spec/lanes"
)

// Metrics is one graph's figures for a collector: the summary, and the running counts
// that it leaves out.
type Metrics struct {
	Summary    api.GraphSummary
	Stats      reactor.Stats
	Checkpoint live.CheckpointStatus
	// Restarts of the graph as a whole ("") and of its accumulators, by reason.
	Restarts map[string]map[string]int
	// Lost are the events that were taken and that no checkpoint had when a run ended, by accumulator.
	Lost map[string]int64
	// Letters are the dead-lettered events, by accumulator and code.
	Letters map[string]map[string]int64
	// Gone is what retention has removed; nil: nothing.
	Gone *Forgotten
	// Retries of deliveries, by output.
	Retries map[string]int64
	// Calls are those of nodes that call out, by node.
	Calls map[string]kind.Told
	// Lanes are the pools of nodes, by name.
	Lanes map[string]hands.Told
	// Rates are the lanes that have a cadence, by name.
	Rates map[string]pace.Told
	// Deliveries are how long values took from their epoch's end until the sink had them, by output.
	Deliveries map[string]reactor.Histogram
}

// Add adds what one shard has published; first says that it is the one that tells of what is for all keys.
func (m *Metrics) Add(declared *spec.Graph, v *live.View, first bool) {
	if m.Deliveries == nil {
		m.Deliveries = map[string]reactor.Histogram{}
	}
	counted := v.Stats()
	stats(&m.Stats, &counted)
	checkpoints(&m.Checkpoint, v.Checkpoint)
	for i := range declared.Outputs {
		if w, ok := v.Writer(i); ok {
			name := declared.Outputs[i].Name
			m.Retries[name] += w.Retries
			took := m.Deliveries[name]
			durations(&took, &w.Took)
			m.Deliveries[name] = took
		}
	}
	for node, c := range v.Calls() {
		if m.Calls == nil {
			m.Calls = map[string]kind.Told{}
		}
		sum := m.Calls[node]
		sum.Calls, sum.Failed = sum.Calls+c.Calls, sum.Failed+c.Failed
		sum.Retries, sum.Cached = sum.Retries+c.Retries, sum.Cached+c.Cached
		sum.Seconds, sum.Open = sum.Seconds+c.Seconds, sum.Open || c.Open
		m.Calls[node] = sum
	}
	m.lanes(v.Lanes())
	m.rates(declared, v.Paces)
	for i := range v.Inputs {
		a := &declared.Accumulators[i]
		if a.Global && !first {
			continue
		}
		if m.Letters[a.Name] == nil {
			m.Letters[a.Name] = map[string]int64{}
		}
		for code, n := range v.Inputs[i].Reasons {
			m.Letters[a.Name][code] += n
		}
	}
}

// lanes adds what the pools of a shard have done.
func (m *Metrics) lanes(all map[string]hands.Told) {
	for name, l := range all {
		if m.Lanes == nil {
			m.Lanes = map[string]hands.Told{}
		}
		sum := m.Lanes[name]
		sum.Runs, sum.Late = sum.Runs+l.Runs, sum.Late+l.Late
		sum.Busy, sum.Lost, sum.Waiting = sum.Busy+l.Busy, sum.Lost+l.Lost, sum.Waiting+l.Waiting
		m.Lanes[name] = sum
	}
}

// rates adds what the lanes with a cadence have done, which are in declaration order.
func (m *Metrics) rates(declared *spec.Graph, all []pace.Told) {
	for i := range declared.Lanes {
		if declared.Lanes[i].Kind != lanes.FixedRate || len(all) == 0 {
			continue
		}
		if m.Rates == nil {
			m.Rates = map[string]pace.Told{}
		}
		sum := m.Rates[declared.Lanes[i].Name]
		sum.Add(&all[0])
		m.Rates[declared.Lanes[i].Name], all = sum, all[1:]
	}
}

// stats adds what a shard's core has counted.
func stats(sum, s *reactor.Stats) {
	for cause := range s.Epochs {
		for kept, n := range s.Epochs[cause] {
			sum.Epochs[cause][kept] += n
		}
	}
	durations(&sum.Durations, &s.Durations)
	sum.Counts.Add(&s.Counts)
}

func durations(sum, s *reactor.Histogram) {
	for i, n := range s.Counts {
		sum.Counts[i] += n
	}
	sum.Sum += s.Sum
}

// checkpoints adds a shard's: the oldest of the last ones is the graph's.
func checkpoints(sum, s *live.CheckpointStatus) {
	sum.Epoch += s.Epoch
	if sum.At.IsZero() || !s.At.IsZero() && s.At.Before(sum.At) {
		sum.At = s.At
	}
	durations(&sum.Took, &s.Took)
	if s.Journaled != nil {
		if sum.Journaled == nil {
			sum.Journaled = new(reactor.Histogram)
		}
		durations(sum.Journaled, s.Journaled)
	}
	sum.Bytes += s.Bytes
	sum.Failed += s.Failed
	sum.JournalFailed += s.JournalFailed
}
