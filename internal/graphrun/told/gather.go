package told

import (
	"fmt"
	"slices"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/graphrun/told/called"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/spec"
)

// Gather is the summary of a graph of its shards': counts are sums, epochs too; it is as healthy as the least of them,
// and as far as the last. What an input has for all keys is counted once, as the first shard has it (M48).
func Gather(g *spec.Graph, shards []api.GraphSummary) api.GraphSummary {
	sum := shards[0]
	sum.Accumulators, sum.Outputs = slices.Clone(sum.Accumulators), slices.Clone(sum.Outputs)
	sum.HealthReason = reasonOf(0, &shards[0])
	keys := api.KeysSummary{Shards: len(shards)}
	sum.Keys, sum.Shards = &keys, Shards(shards)
	for n := range shards {
		s := &shards[n]
		if api.Severity(s.Health) < api.Severity(string(reactor.HealthStopped)) {
			keys.ShardsRunning++
		}
		if s.Keys != nil {
			joinKeys(&keys, s.Keys)
		}
		if n > 0 {
			join(&sum, s, n)
		}
	}
	sum.Counters = api.Counters{}
	for i := range sum.Accumulators {
		a := &sum.Accumulators[i]
		for n := 1; n < len(shards) && i < len(shards[n].Accumulators); n++ {
			joinInput(a, &shards[n].Accumulators[i], g.Accumulators[i].Global)
		}
		sum.Counters.Add(a.Counters)
	}
	for i := range sum.Outputs {
		for n := 1; n < len(shards) && i < len(shards[n].Outputs); n++ {
			joinOutput(&sum.Outputs[i], &shards[n].Outputs[i])
		}
	}
	return sum
}

// reasonOf is a shard's health reason, which names the shard.
func reasonOf(n int, s *api.GraphSummary) *api.Reason {
	if s.HealthReason == nil {
		return nil
	}
	return &api.Reason{Code: s.HealthReason.Code, Detail: fmt.Sprintf("shard %d: %s", n, s.HealthReason.Detail)}
}

func join(sum, s *api.GraphSummary, n int) {
	switch worse := api.Severity(s.Health) - api.Severity(sum.Health); {
	case worse > 0, worse == 0 && sum.HealthReason == nil:
		sum.Health, sum.HealthReason = s.Health, reasonOf(n, s)
	}
	sum.Incarnation = max(sum.Incarnation, s.Incarnation)
	sum.Paused, sum.Epoch = sum.Paused && s.Paused, sum.Epoch+s.Epoch
	sum.EpochsPerSecond += s.EpochsPerSecond
	sum.Degraded = union(sum.Degraded, s.Degraded)
	sum.WaitingFor = union(sum.WaitingFor, s.WaitingFor)
	sum.EngineTime = earlier(sum.EngineTime, s.EngineTime, true)
	sum.DueAt = earlier(sum.DueAt, s.DueAt, false)
	if s.LastFiredAt != nil && (sum.LastFiredAt == nil || s.LastFiredAt.After(*sum.LastFiredAt)) {
		sum.LastFiredAt = s.LastFiredAt
	}
	if sum.HeldBackBy == "" {
		sum.HeldBackBy = s.HeldBackBy
	}
	d := &sum.Durability
	d.CheckpointEpoch += s.Durability.CheckpointEpoch
	d.CheckpointAgeSeconds = greater(d.CheckpointAgeSeconds, s.Durability.CheckpointAgeSeconds)
	d.CheckpointBytes += s.Durability.CheckpointBytes
	joinCost(&sum.Cost, &s.Cost)
	called.Join(sum, s)
}

// joinCost adds what a shard has cost. What was read was read for all shards of a process at once: see [Across].
func joinCost(c, o *api.Cost) {
	c.BusySeconds, c.StoredBytes = c.BusySeconds+o.BusySeconds, c.StoredBytes+o.StoredBytes
	c.MemoryBytes += o.MemoryBytes
	m, n := &c.Memory, &o.Memory
	m.Keys, m.State, m.Queues = m.Keys+n.Keys, m.State+n.State, m.Queues+n.Queues
	m.Outputs, m.Letters, m.Records = m.Outputs+n.Outputs, m.Letters+n.Letters, m.Records+n.Records
}

// Across makes what is told of each process, and not of each shard, a sum over the processes: what they have read, and
// of topics that are partitioned by the key, of which each reads other partitions, how many events wait. parts are the
// shards by process, by number.
func Across(g *spec.Graph, sum *api.GraphSummary, shards []api.GraphSummary, parts [][]int) {
	sum.Cost.EventBytes = 0
	for _, of := range parts {
		most := int64(0)
		for _, n := range of {
			most = max(most, shards[n].Cost.EventBytes)
		}
		sum.Cost.EventBytes += most
	}
	for i := range sum.Accumulators {
		if g.Accumulators[i].Partitioned == "" {
			continue
		}
		all := (*int64)(nil)
		for _, of := range parts {
			if lag := longest(shards, of, i); lag != nil {
				if all == nil {
					all = new(int64)
				}
				*all += *lag
			}
		}
		sum.Accumulators[i].Lag = all
	}
}

// longest is the greatest lag of an input in some of the shards; nil where none can tell.
func longest(shards []api.GraphSummary, of []int, input int) (most *int64) {
	for _, n := range of {
		if input < len(shards[n].Accumulators) {
			if lag := shards[n].Accumulators[input].Lag; lag != nil && (most == nil || *most < *lag) {
				most = lag
			}
		}
	}
	return most
}

func joinKeys(k, o *api.KeysSummary) {
	k.Count, k.Max, k.Evicted = k.Count+o.Count, k.Max+o.Max, k.Evicted+o.Evicted
	k.Waiting, k.WaitingBytes = k.Waiting+o.Waiting, k.WaitingBytes+o.WaitingBytes
	k.MaxWaitingBytes, k.Overflowed = k.MaxWaitingBytes+o.MaxWaitingBytes, k.Overflowed+o.Overflowed
}

func joinInput(a, o *api.AccumulatorSummary, global bool) {
	a.Restarts += o.Restarts
	if a.Health == "live" || a.Health == "socket_only" || a.Health == "ended" {
		a.Health, a.HealthReason = o.Health, o.HealthReason
	}
	a.Dirty = a.Dirty || o.Dirty
	if a.LastEventAt == nil || o.LastEventAt != nil && o.LastEventAt.After(*a.LastEventAt) {
		a.LastEventAt = o.LastEventAt
	}
	if o.Lag != nil && (a.Lag == nil || *a.Lag < *o.Lag) { // all of them read the same; see [Across]
		a.Lag = o.Lag
	}
	if o.Watermark != nil && (a.Watermark == nil || o.Watermark.At.Before(a.Watermark.At)) {
		a.Watermark = o.Watermark
	}
	if a.Position != o.Position {
		a.Position = "" // each shard stands elsewhere, and no position is that of all
	}
	if global {
		return
	}
	a.Depth, a.Waiting, a.DepthBytes = a.Depth+o.Depth, a.Waiting+o.Waiting, a.DepthBytes+o.DepthBytes
	a.Capacity, a.CapacityBytes = a.Capacity+o.Capacity, a.CapacityBytes+o.CapacityBytes
	a.Counters.Add(o.Counters)
	a.Late += o.Late
	if a.Keys != nil && o.Keys != nil {
		a.Keys = &api.FoldKeys{Count: a.Keys.Count + o.Keys.Count, Max: a.Keys.Max + o.Keys.Max,
			Evicted: a.Keys.Evicted + o.Keys.Evicted}
	} else if a.Keys == nil {
		a.Keys = o.Keys
	}
	if o.SecondsToFull != nil && (a.SecondsToFull == nil || *o.SecondsToFull < *a.SecondsToFull) {
		a.SecondsToFull = o.SecondsToFull
	}
}

func joinOutput(a, o *api.OutputSummary) {
	a.Emitted, a.Filtered, a.Pending = a.Emitted+o.Emitted, a.Filtered+o.Filtered, a.Pending+o.Pending
	a.Full = a.Full || o.Full
	a.Failed, a.RefusedSince = a.Failed+o.Failed, a.RefusedSince+o.RefusedSince
	a.OldestPendingSeconds = greater(a.OldestPendingSeconds, o.OldestPendingSeconds)
	if a.AgeSeconds == nil || o.AgeSeconds != nil && *o.AgeSeconds < *a.AgeSeconds {
		a.AgeSeconds = o.AgeSeconds
	}
	if a.Error == "" {
		a.Error = o.Error
	}
	a.FailingSince = earlier(a.FailingSince, o.FailingSince, false)
}

// earlier is the earlier of two times; one that is not known is earlier than all where first is set, and later else.
func earlier(a, b *time.Time, first bool) *time.Time {
	switch {
	case a == nil || b == nil:
		if first == (a == nil) {
			return a
		}
		return b
	case b.Before(*a):
		return b
	}
	return a
}

func greater(a, b *float64) *float64 {
	if a == nil || b != nil && *b > *a {
		return b
	}
	return a
}

func union(a, b []string) []string {
	for _, s := range b {
		if !slices.Contains(a, s) {
			a = append(slices.Clip(a), s)
		}
	}
	return a
}
