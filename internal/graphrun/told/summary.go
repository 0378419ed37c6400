package told

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/graphrun/told/ailing"
	"github.com/graphd/graphd/internal/graphrun/told/called"
	"github.com/graphd/graphd/internal/live"
	"github.com/graphd/graphd/internal/live/delivery"
	"github.com/graphd/graphd/internal/quota"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/spec/words"
)

// Known is what is known of a graph whether it runs or not.
type Known struct {
	Ref      api.Ref
	Revision int64
	Update   *api.UpdateStatus
	Spec     *spec.Graph                   // nil when the declaration does not compile
	AsOne    string                        // why it runs as one, where it is declared with shards
	Path     func(output int) reactor.Path // how an output's values leave
	Gaps     []int64                       // per accumulator: how often it was let go on behind what was lost
	Volatile bool                          // the store forgets everything with the process
	Meter    *quota.Meter                  // of what the graph has cost, and of what holds it back
	Shard    int                           // which one is told of
	Dealt    bool                          // there are others
	Quota    quota.Limits                  // its tenant's
}

// Life is what a run knows of its pieces beside what its reactor has published.
type Life interface {
	Input(i int) Input
	// Writer is output i's; nil when nothing is delivered.
	Writer(i int) *delivery.Writer
	// EpochsPerSecond is how many epochs there were of late.
	EpochsPerSecond(now time.Time) float64
	// Age is for how many seconds output i has given nothing; nil while it is to give nothing.
	Age(i int, now time.Time) *float64
	// Misplaced is how many of the last events of input i were in partitions of other shards than their keys', and
	// how many these are.
	Misplaced(i int) (misplaced, events int64)
}

// Input is what a run knows of an accumulator.
type Input struct {
	Restarts      int
	Lag           *int64   // how many events wait at the source; nil where nobody knows
	SecondsToFull *float64 // nil of a queue that does not fill
}

// Rest is the summary of a graph without a run: what its last one has left in s, and what is
// known all the same.
func (k *Known) Rest(s api.GraphSummary, health string, why *api.Reason) api.GraphSummary {
	k.identify(&s)
	s.Health, s.HealthReason, s.EpochsPerSecond, s.Calls = health, why, 0, nil
	s.Outputs = slices.Clone(s.Outputs)
	for i := range s.Outputs {
		s.Outputs[i].AgeSeconds = nil
	}
	return s
}

// Running is the summary of a graph whose run began with head and has published v.
func (k *Known) Running(head *checkpoint.Head, v *live.View, life Life, now time.Time) api.GraphSummary {
	sum := api.GraphSummary{
		Instance: head.Instance, Incarnation: head.Incarnation, Health: string(v.Health),
		HealthReason: api.ReasonOf(v.Code, v.Detail), Paused: v.Paused, PausedBy: v.PausedBy,
		Degraded: List(v.Degraded), WaitingFor: List(v.WaitingFor),
		Epoch: v.Epoch, LastFiredAt: timePtr(v.LastFired), DueAt: timePtr(v.DueAt),
		Durability: durability(v.Checkpoint, now),
	}
	sum.EpochsPerSecond = life.EpochsPerSecond(now)
	sum.EngineTime, sum.HeldBackBy = timePtr(v.EngineTime), v.HeldBackBy
	k.identify(&sum)
	if k.Spec.Keyed() {
		sum.Keys = k.keys(v)
	}
	sum.Accumulators, sum.Outputs = nil, nil
	for i := range v.Inputs {
		a := k.accumulator(i, &v.Inputs[i], life.Input(i), head.Incarnation)
		sum.Accumulators = append(sum.Accumulators, a)
		sum.Counters.Add(a.Counters)
	}
	awaited(&sum)
	for i := range k.Spec.Outputs {
		sum.Outputs = append(sum.Outputs, k.output(i, &v.View, life.Writer(i)))
		sum.Outputs[i].AgeSeconds = life.Age(i, now)
	}
	ailing.Outputs(&sum)
	called.Tell(&sum, v, now)
	ailing.Epochs(&sum, v)
	k.misplaced(&sum, life)
	held(&sum, v, now)
	k.slowed(&sum)
	return sum
}

// heldLong is how long the inputs wait for one of them before health says so: in less a source has caught up, or
// is waited for no more.
const heldLong = 10 * time.Second

// held names the input that the others have waited for since long, beside a health that has no reason of its own.
func held(s *api.GraphSummary, v *live.View, now time.Time) {
	if s.HealthReason != nil || v.HeldBackBy == "" || now.Sub(v.HeldSince) < heldLong {
		return
	}
	s.HealthReason = api.ReasonOf("held_back", fmt.Sprintf("the others have waited for %s since %s: its source is "+
		"behind, and engine time is %s", v.HeldBackBy, v.HeldSince.UTC().Format(time.RFC3339),
		v.EngineTime.UTC().Format(time.RFC3339)))
}

// keys is what a keyed graph has of keys.
func (k *Known) keys(v *live.View) *api.KeysSummary {
	s := &api.KeysSummary{
		Count: v.Keys, Max: k.Spec.Reactor.MaxKeys, Evicted: v.Evicted, WaitingBytes: v.WaitingBytes,
		MaxWaitingBytes: k.Spec.Reactor.MaxWaitingBytes, Overflowed: v.Overflowed,
	}
	if n := k.Spec.Reactor.Shards; n > 1 {
		s.Shards, s.ShardsRunning, s.AsOne = n, 1, k.AsOne
	}
	for i := range v.Inputs {
		s.Waiting += v.Inputs[i].Own.Boundaries
	}
	return s
}

// identify fills in what is known of a graph without a run.
func (k *Known) identify(s *api.GraphSummary) {
	s.Graph, s.Tenant, s.Revision, s.Update = k.Ref.Name, k.Ref.Tenant, k.Revision, k.Update
	s.Cost = k.cost()
	s.Degraded, s.WaitingFor = List(s.Degraded), List(s.WaitingFor)
	if k.Spec == nil {
		s.Accumulators, s.Outputs = []api.AccumulatorSummary{}, []api.OutputSummary{}
		return
	}
	if s.Clock = "arrival"; k.Spec.EventClock() {
		s.Clock = "event"
	}
	s.ClockBy = words.ClockBy(k.Spec)
	if s.Accumulators == nil {
		for i := range k.Spec.Accumulators {
			s.Accumulators = append(s.Accumulators, k.declared(i))
		}
	}
	if s.Outputs == nil {
		s.Outputs = []api.OutputSummary{}
		for i := range k.Spec.Outputs {
			o := &k.Spec.Outputs[i]
			s.Outputs = append(s.Outputs, api.OutputSummary{
				Name: o.Name, From: o.From, Sink: o.Sink.Kind, Path: k.Path(i).String(),
				FreshSeconds: o.Fresh.Seconds(),
			})
		}
	}
	s.Description = k.Spec.Description
	s.Durability.Mode = k.Spec.Durability.Mode
	s.Guarantees = k.guarantees()
}

// declared is what is known of an accumulator before its graph has run.
func (k *Known) declared(i int) api.AccumulatorSummary {
	a := &k.Spec.Accumulators[i]
	source := a.Source.Kind
	from := a.From
	switch {
	case a.From != "":
		source = "node"
	case a.Joins():
		sides := a.Folding().Joins
		source, from = "join", strings.Join(sides.Names[:], ", ")
	}
	return api.AccumulatorSummary{
		Name: a.Name, Kind: a.Kind, Source: source, From: from, Strategy: a.Strategy,
		Triggers: a.Triggers(k.Spec.Reactor),
		Health:   string(accumulator.Starting), Capacity: a.Capacity, CapacityBytes: a.CapacityBytes,
	}
}

func durability(cp *live.CheckpointStatus, now time.Time) api.DurabilityStatus {
	d := api.DurabilityStatus{CheckpointEpoch: cp.Epoch, CheckpointBytes: cp.Bytes}
	if !cp.At.IsZero() {
		age := max(0, now.Sub(cp.At).Seconds())
		d.CheckpointAgeSeconds = &age
	}
	return d
}

func (k *Known) accumulator(i int, in *reactor.InputView, more Input, incarnation int64) api.AccumulatorSummary {
	s := k.declared(i)
	s.Health, s.HealthReason, s.Dirty = string(in.Health), api.ReasonOf(in.Code, in.Detail), in.Dirty
	s.Depth, s.DepthBytes = in.Depth-in.Own.Boundaries, in.DepthBytes-in.Own.Bytes
	s.Waiting, s.Counters = in.Own.Boundaries, api.Counters(in.Books)
	s.Position, s.LastEventAt, s.Incarnation = Positions(in.Positions), timePtr(in.LastEventAt), incarnation
	s.SecondsToFull, s.Restarts, s.Lag = more.SecondsToFull, more.Restarts, more.Lag
	s.Stopped, s.Gaps, s.Late = stopped(in.Stopped), k.Gaps[i], in.Late
	if n := in.Keys; n != nil {
		s.Keys = &api.FoldKeys{Count: n.Count, Max: n.Max, Evicted: n.Evicted}
	}
	if h := in.History; h != nil {
		s.Versions = &api.Versions{Count: h.Versions, Max: h.Max, Bytes: h.Bytes, Since: timePtr(h.Since)}
	}
	s.Watermark = watermark(in.Timed)
	return s
}

func watermark(t *accumulator.Watermark) *api.Watermark {
	if t == nil {
		return nil
	}
	w := &api.Watermark{At: t.At, HeldBy: t.HeldBy, All: t.All}
	w.Partitions = make([]api.PartitionTime, len(t.Partitions))
	for i, p := range t.Partitions {
		w.Partitions[i] = api.PartitionTime{Partition: p.Name, Newest: timePtr(p.Newest), Heard: timePtr(p.Heard),
			Idle: p.Idle}
	}
	return w
}

func (k *Known) output(i int, v *reactor.View, w *delivery.Writer) api.OutputSummary {
	o := &k.Spec.Outputs[i]
	s := api.OutputSummary{Name: o.Name, From: o.From, Sink: o.Sink.Kind, Path: k.Path(i).String(),
		FreshSeconds: o.Fresh.Seconds(), Emitted: v.Emitted[i], Filtered: v.Filtered[i],
		Stopped: stopped(v.StoppedOutputs[i])}
	oldest := v.HeldSince[i]
	if w != nil {
		st := w.Status()
		s.Pending, s.Error, s.FailingSince, s.RefusedSince = st.Pending, st.Trouble, timePtr(st.Since), st.Refused
		s.Full = int64(w.Free()) <= v.Held[i]
		if !st.Oldest.IsZero() {
			oldest = st.Oldest
		}
	}
	s.Pending += v.Held[i]
	s.Failed = v.Refused[i]
	if !oldest.IsZero() {
		age := max(0, time.Since(oldest).Seconds())
		s.OldestPendingSeconds = &age
	}
	return s
}

// Loaded says that a graph is past its start.
func Loaded(s *api.GraphSummary) bool {
	return s.Health != string(reactor.HealthStarting) && s.Health != string(reactor.HealthWarming)
}
