package graphrun

import (
	"context"
	"fmt"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/live"
	"github.com/graphd/graphd/internal/reactor"
)

// busyAfter is how long a reactor is in its epochs before its graph is said to be busy: what
// is shown then is from before (W22).
const busyAfter = 2 * time.Second

// Summary shows the graph as it is: as its run has last said, or as what is known without one.
// It never waits for the reactor.
func (g *Graph) Summary(context.Context) api.GraphSummary {
	g.mu.Lock()
	r := g.run
	if r == nil {
		defer g.mu.Unlock()
		sum := g.last
		g.identify(&sum)
		sum.Health, sum.HealthReason = string(g.health), g.reason
		return sum
	}
	g.mu.Unlock()
	sum := r.describe(r.reactor.View(), time.Now())
	if why := r.stuck(time.Now()); why != nil {
		sum.Health, sum.HealthReason = string(reactor.HealthDegraded), why
	}
	return sum
}

// stuck says that the reactor has not come out of its epochs for long, nil when it has (M25).
func (r *run) stuck(now time.Time) *api.Reason {
	since := r.reactor.Busy()
	if since.IsZero() || now.Sub(since) < busyAfter {
		return nil
	}
	took := now.Sub(since).Round(100 * time.Millisecond)
	epoch := r.reactor.View().Epoch
	if limit := r.g.unit.Spec.Reactor.EpochTimeout; limit > 0 && took > limit+stuckGrace {
		return &api.Reason{Code: "stuck_node",
			Detail: fmt.Sprintf("a node of an epoch after %d has run for %v and does not heed "+
				"epoch_timeout (%v); fix the function, then restart the graph or delete it: what it still does is "+
				"dropped",
				epoch, took, limit)}
	}
	return &api.Reason{Code: "reactor_busy",
		Detail: fmt.Sprintf("the reactor has been in its epochs for %v; what is shown is from before, epoch %d", took,
			epoch)}
}

// stuckGrace is how long after epoch_timeout an epoch may go on before its node counts as stuck.
const stuckGrace = 5 * time.Second

const (
	// takeEffect is how long the answer to a command waits for the command to show.
	takeEffect = time.Second
	// lookAgain is how often it looks.
	lookAgain = 5 * time.Millisecond
)

// after is the summary as soon as it shows what was asked for, or after a second as it is:
// a command that works is not answered with the health of before.
func (g *Graph) after(ctx context.Context, shows func(s *api.GraphSummary) bool) api.GraphSummary {
	return g.await(ctx, takeEffect, shows)
}

// await is after with another bound.
func (g *Graph) await(ctx context.Context, most time.Duration, shows func(s *api.GraphSummary) bool) api.GraphSummary {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	if r, err := g.running(); err == nil {
		r.refresh(ctx)
	}
	ticker := time.NewTicker(lookAgain)
	defer ticker.Stop()
	for {
		s := g.Summary(context.WithoutCancel(ctx))
		if shows(&s) {
			return s
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return s
		}
	}
}

// loaded says that a graph is past its start.
func loaded(s *api.GraphSummary) bool {
	return s.Health != string(reactor.HealthStarting) && s.Health != string(reactor.HealthWarming)
}

// identify fills in what is known of a graph without a run.
func (g *Graph) identify(s *api.GraphSummary) {
	s.Graph, s.Tenant, s.Revision = g.ref.Name, g.ref.Tenant, g.decl.Revision
	s.Update = g.update
	if s.Degraded == nil {
		s.Degraded = []string{}
	}
	if s.WaitingFor == nil {
		s.WaitingFor = []string{}
	}
	if g.unit == nil {
		s.Accumulators, s.Outputs = []api.AccumulatorSummary{}, []api.OutputSummary{}
		return
	}
	if s.Accumulators == nil {
		for i := range g.unit.Spec.Accumulators {
			s.Accumulators = append(s.Accumulators, g.declared(i))
		}
	}
	if s.Outputs == nil {
		s.Outputs = []api.OutputSummary{}
		for i := range g.unit.Spec.Outputs {
			o := &g.unit.Spec.Outputs[i]
			s.Outputs = append(s.Outputs, api.OutputSummary{
				Name: o.Name, From: o.From, Sink: o.Sink.Kind, Path: g.path(i).String(),
			})
		}
	}
	s.Description = g.unit.Spec.Description
	s.Durability.Mode = g.unit.Spec.Durability.Mode
	s.Guarantees = g.guarantees()
}

func (r *run) durability(cp *live.CheckpointStatus, now time.Time) api.DurabilityStatus {
	d := api.DurabilityStatus{Mode: r.g.unit.Spec.Durability.Mode, CheckpointEpoch: cp.Epoch}
	if !cp.At.IsZero() {
		age := max(0, now.Sub(cp.At).Seconds())
		d.CheckpointAgeSeconds = &age
	}
	return d
}

func (r *run) describe(v *live.View, now time.Time) api.GraphSummary {
	g := r.g
	sum := api.GraphSummary{
		Instance: r.head.Instance, Incarnation: r.head.Incarnation, Health: string(v.Health),
		HealthReason: api.ReasonOf(v.Code, v.Detail), Paused: v.Paused, PausedBy: v.PausedBy,
		Degraded: notNil(v.Degraded), WaitingFor: notNil(v.WaitingFor),
		Epoch: v.Epoch, LastFiredAt: timePtr(v.LastFired), Durability: r.durability(&v.Checkpoint, now),
	}
	g.identify(&sum)
	if g.unit.Spec.Keyed() {
		sum.Keys = &api.KeysSummary{Count: v.Keys, Max: g.unit.Spec.Reactor.MaxKeys, Evicted: v.Evicted}
	}
	sum.Accumulators, sum.Outputs = nil, nil
	for i, in := range v.Inputs {
		a := r.accumulator(i, &in)
		sum.Accumulators = append(sum.Accumulators, a)
		sum.Counters.Add(a.Counters)
	}
	for i := range g.unit.Spec.Outputs {
		sum.Outputs = append(sum.Outputs, r.output(i, &v.View))
	}
	return sum
}

func (r *run) accumulator(i int, in *reactor.InputView) api.AccumulatorSummary {
	s := r.g.declared(i)
	s.Health, s.HealthReason, s.Dirty = string(in.Health), api.ReasonOf(in.Code, in.Detail), in.Dirty
	s.Depth, s.DepthBytes, s.Counters = in.Depth, in.DepthBytes, api.Counters(in.Books)
	s.Position, s.LastEventAt, s.Incarnation = describePositions(in.Positions), timePtr(in.LastEventAt),
		r.head.Incarnation
	s.SecondsToFull = r.g.rates.secondsToFull(r, i)
	ar := r.accs[i]
	ar.mu.Lock()
	s.Restarts = ar.restarts
	ar.mu.Unlock()
	s.Lag, s.Stopped = ar.lag(), wireStopped(in.Stopped)
	r.g.mu.Lock()
	s.Gaps = r.g.gaps[i]
	r.g.mu.Unlock()
	return s
}

func (r *run) output(i int, v *reactor.View) api.OutputSummary {
	o := &r.g.unit.Spec.Outputs[i]
	s := api.OutputSummary{Name: o.Name, From: o.From, Sink: o.Sink.Kind, Path: r.g.path(i).String(),
		Emitted: v.Emitted[i], Stopped: wireStopped(v.StoppedOutputs[i])}
	oldest := v.HeldSince[i]
	if w := r.writerOf(i); w != nil {
		st := w.Status()
		s.Pending, s.Failed, s.Error = st.Pending, st.Failed, st.Trouble
		if !st.Oldest.IsZero() {
			oldest = st.Oldest
		}
	}
	s.Pending += v.Held[i]
	s.Failed += v.Refused[i]
	if !oldest.IsZero() {
		age := max(0, time.Since(oldest).Seconds())
		s.OldestPendingSeconds = &age
	}
	return s
}

func notNil(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}

func timePtr(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// Accumulator is one input with what it expects and hands over.
func (g *Graph) Accumulator(ctx context.Context, name string) (api.AccumulatorDetail, error) {
	i, err := g.accumulator(name)
	if err != nil {
		return api.AccumulatorDetail{}, err
	}
	d := api.AccumulatorDetail{BoundaryType: g.unit.Programs[i].Type().String()}
	if a := &g.unit.Spec.Accumulators[i]; a.Schema != nil {
		d.Schema = rawJSON(a.Schema)
	}
	for _, s := range g.Summary(ctx).Accumulators {
		if s.Name == name {
			d.AccumulatorSummary = s
		}
	}
	return d, nil
}

// declared is what is known of an accumulator before its graph has run.
func (g *Graph) declared(i int) api.AccumulatorSummary {
	a := &g.unit.Spec.Accumulators[i]
	return api.AccumulatorSummary{
		Name: a.Name, Kind: a.Kind, Source: a.Source.Kind, Strategy: a.Strategy,
		Triggers: a.Triggers(&g.unit.Spec.Reactor),
		Health:   string(accumulator.Starting), Capacity: a.Capacity, CapacityBytes: a.CapacityBytes,
	}
}
