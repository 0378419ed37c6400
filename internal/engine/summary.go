package engine

import (
	"context"
	"strings"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/reactor"
)

// lookTimeout bounds how long a look at a graph waits for its reactor. A reactor that is in
// a long epoch is shown as it was last seen, with a reason that says so (W22).
const lookTimeout = 2 * time.Second

// Graphs is a summary of every graph of the tenant.
func (e *Engine) Graphs(ctx context.Context, tenant string) ([]GraphSummary, error) {
	list := []GraphSummary{}
	for _, m := range e.all() {
		if m.ref.Tenant == tenant {
			list = append(list, m.summary(ctx))
		}
	}
	return list, nil
}

// Graph is the summary of one graph.
func (e *Engine) Graph(ctx context.Context, g Ref) (GraphSummary, error) {
	m, err := e.graph(g)
	if err != nil {
		return GraphSummary{}, err
	}
	return m.summary(ctx), nil
}

// summary shows the graph as it is: from its run, or from what is known without one.
func (m *managed) summary(ctx context.Context) GraphSummary {
	m.mu.Lock()
	r := m.run
	m.mu.Unlock()
	if r != nil {
		ctx, cancel := context.WithTimeout(ctx, lookTimeout)
		defer cancel()
		if sum, ok := r.look(ctx); ok {
			m.mu.Lock()
			m.last = sum
			m.mu.Unlock()
			return sum
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		sum := m.last
		m.identify(&sum)
		if m.run == r {
			sum.Health = string(reactor.HealthDegraded)
			sum.HealthReason = &Reason{Code: "reactor_busy", Detail: "the reactor did not answer within " + lookTimeout.String() + "; what is shown is older"}
			return sum
		}
		sum.Health, sum.HealthReason = string(m.health), m.reason
		return sum
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	sum := m.last
	m.identify(&sum)
	sum.Health, sum.HealthReason = string(m.health), m.reason
	return sum
}

const (
	// takeEffect is how long the answer to a command waits for the command to show.
	takeEffect = time.Second
	// lookAgain is how often it looks.
	lookAgain = 5 * time.Millisecond
)

// after is the summary as soon as it shows what was asked for, or after a second as it is:
// a command that works is not answered with the health of before.
func (m *managed) after(ctx context.Context, shows func(s *GraphSummary) bool) GraphSummary {
	return m.await(ctx, takeEffect, shows)
}

// await is after with another bound.
func (m *managed) await(ctx context.Context, most time.Duration, shows func(s *GraphSummary) bool) GraphSummary {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	ticker := time.NewTicker(lookAgain)
	defer ticker.Stop()
	for {
		s := m.summary(context.WithoutCancel(ctx))
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
func loaded(s *GraphSummary) bool {
	return s.Health != string(reactor.HealthStarting) && s.Health != string(reactor.HealthWarming)
}

// identify fills in what is known of a graph without a run.
func (m *managed) identify(s *GraphSummary) {
	s.Graph, s.Tenant, s.Revision = m.ref.Name, m.ref.Tenant, m.decl.Revision
	s.Update = m.update
	if s.Degraded == nil {
		s.Degraded = []string{}
	}
	if s.WaitingFor == nil {
		s.WaitingFor = []string{}
	}
	if m.unit == nil {
		s.Accumulators, s.Outputs = []AccumulatorSummary{}, []OutputSummary{}
		return
	}
	if s.Accumulators == nil {
		for i := range m.unit.Spec.Accumulators {
			s.Accumulators = append(s.Accumulators, m.declared(i))
		}
	}
	if s.Outputs == nil {
		s.Outputs = []OutputSummary{}
		for i := range m.unit.Spec.Outputs {
			o := &m.unit.Spec.Outputs[i]
			s.Outputs = append(s.Outputs, OutputSummary{Name: o.Name, From: o.From, Sink: o.Sink.Kind, Path: m.path(i).String()})
		}
	}
	s.Description = m.unit.Spec.Description
	s.Durability.Mode = m.unit.Spec.Durability.Mode
	s.Guarantees = m.guarantees()
}

// look asks the reactor; ok is false when it does not answer in time or has ended.
func (r *run) look(ctx context.Context) (sum GraphSummary, ok bool) {
	var v reactor.View
	var d DurabilityStatus
	err := r.reactor.Do(ctx, func(c *reactor.Core, now time.Time) {
		v = c.Look()
		d = r.durability(now)
	})
	if err != nil {
		return GraphSummary{}, false
	}
	return r.describe(v, d), true
}

// lastSummary is the summary of a run whose reactor has ended: the core is nobody's any more.
func (r *run) lastSummary() GraphSummary {
	return r.describe(r.reactor.Core.Look(), r.durability(time.Now()))
}

func (r *run) durability(now time.Time) DurabilityStatus {
	cp := r.reactor.Checkpointed()
	d := DurabilityStatus{Mode: r.m.unit.Spec.Durability.Mode, CheckpointEpoch: cp.Epoch}
	if !cp.At.IsZero() {
		age := max(0, now.Sub(cp.At).Seconds())
		d.CheckpointAgeSeconds = &age
	}
	return d
}

func (r *run) describe(v reactor.View, d DurabilityStatus) GraphSummary {
	m := r.m
	sum := GraphSummary{
		Instance: r.head.Instance, Incarnation: r.head.Incarnation, Health: string(v.Health),
		HealthReason: reason(v.Code, v.Detail), Paused: v.Paused, PausedBy: v.PausedBy,
		Degraded: notNil(v.Degraded), WaitingFor: notNil(v.WaitingFor),
		Epoch: v.Epoch, LastFiredAt: timePtr(v.LastFired), Durability: d,
	}
	m.identify(&sum)
	if m.unit.Spec.Keyed() {
		sum.Keys = &KeysSummary{Count: v.Keys, Max: m.unit.Spec.Reactor.MaxKeys, Evicted: v.Evicted}
	}
	sum.Accumulators, sum.Outputs = nil, nil
	for i, in := range v.Inputs {
		a := r.accumulator(i, &in)
		sum.Accumulators = append(sum.Accumulators, a)
		sum.Counters.Add(a.Counters)
	}
	for i := range m.unit.Spec.Outputs {
		sum.Outputs = append(sum.Outputs, r.output(i, &v))
	}
	return sum
}

func (r *run) accumulator(i int, in *reactor.InputView) AccumulatorSummary {
	s := r.m.declared(i)
	s.Health, s.HealthReason, s.Dirty = string(in.Health), reason(in.Code, in.Detail), in.Dirty
	s.Depth, s.DepthBytes, s.Counters = in.Depth, in.DepthBytes, Counters(in.Books)
	s.Position, s.LastEventAt, s.Incarnation = describePositions(in.Positions), timePtr(in.LastEventAt), r.head.Incarnation
	s.SecondsToFull = r.m.rates.secondsToFull(i, &s, time.Now())
	ar := r.accs[i]
	ar.mu.Lock()
	s.Restarts = ar.restarts
	ar.mu.Unlock()
	s.Lag = ar.lag()
	r.m.mu.Lock()
	s.Gaps = r.m.gaps[i]
	r.m.mu.Unlock()
	return s
}

func (r *run) output(i int, v *reactor.View) OutputSummary {
	o := &r.m.unit.Spec.Outputs[i]
	s := OutputSummary{Name: o.Name, From: o.From, Sink: o.Sink.Kind, Path: r.m.path(i).String(), Emitted: v.Emitted[i]}
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

// guarantees says in one sentence per output what a user may rely on (M31). Each sentence
// is derived from sources, durability and sink path, and backed by a test that kills the daemon.
func (m *managed) guarantees() map[string]string {
	g := m.unit.Spec
	state, durable := m.stateGuarantee()
	out := make(map[string]string, len(g.Outputs))
	for i := range g.Outputs {
		o := &g.Outputs[i]
		switch o.Sink.Kind {
		case "drop":
			out[o.Name] = state + "; values of this output are counted and thrown away."
		case "websocket":
			out[o.Name] = state + "; subscribers get each value at most once, and what one missed is announced as a gap."
		case "graph":
			out[o.Name] = state + "; values go to the other graph in memory when their epoch ends, each once while the daemon runs: a crash loses those behind that graph's last checkpoint, and those behind this graph's may come again."
			if m.path(i) == reactor.PathOutbox {
				out[o.Name] = state + "; values are committed with the state and go to the other graph afterwards, none lost on the way: a crash loses those behind that graph's last checkpoint, and some may come again."
			}
		case "kafka":
			out[o.Name] = state + "; " + m.deliveryGuarantee(i, durable) + "; a record whose acknowledgement was lost is sent again, and may be in the topic twice with the same firing id."
		default:
			out[o.Name] = state + "; " + m.deliveryGuarantee(i, durable) + "."
		}
	}
	return out
}

// deliveryGuarantee says what a crash does to the values of output i.
func (m *managed) deliveryGuarantee(i int, durable bool) string {
	path := m.path(i)
	switch {
	case !durable && path == reactor.PathDirect:
		return "values are written when their epoch ends, each once while the daemon runs"
	case !durable:
		return "values are delivered when their epoch is committed, each once while the daemon runs"
	case path == reactor.PathCoTransaction:
		return "values are written to the table by the transaction that commits the state: each exactly once, also after a crash"
	case path == reactor.PathOutbox:
		return "values are committed with the state and delivered afterwards, in order, none lost; after a crash some may be sent again with the same firing id, so a receiver that drops ids it has seen gets each value once"
	case m.unit.Spec.Durability.Mode == "journal":
		return "values are written once their epoch is in the journal, none lost; after a crash some may be written again with the same firing id, so a receiver that drops ids it has seen gets each value once"
	}
	return "values are written when their epoch ends, before they are durable: after a crash epochs since the last checkpoint may run again and write their values again"
}

// stateGuarantee says what a crash does to the graph's state, and whether any of it is durable.
func (m *managed) stateGuarantee() (sentence string, durable bool) {
	g := m.unit.Spec
	switch {
	case g.Durability.Mode == "none":
		return "The graph's state is lost when the daemon stops (durability: none)", false
	case m.e.cfg.Store.Kind() == "memory":
		return "The store is memory: everything is lost when the daemon stops", false
	}
	read, polled, lost := false, false, ""
	for i := range g.Accumulators {
		switch s := &g.Accumulators[i].Source; {
		case s.Replays():
			read = true
		case s.Kind == "poll":
			polled = true
		case s.Pulls():
			lost = "events pushed or received"
		case lost == "":
			lost = "events pushed"
		}
	}
	var clauses []string
	if read {
		clauses = append(clauses, "each event read from a source is in the graph's state exactly once")
	}
	if polled && g.Durability.Mode == "journal" {
		clauses = append(clauses, "a document that was polled and admitted is in the graph's state, also after a crash")
	} else if polled {
		clauses = append(clauses, "a document polled after the last checkpoint is polled again after a crash, if it is still there")
	}
	if lost != "" && g.Durability.Mode == "journal" {
		clauses = append(clauses, "each event that was pushed and answered as durable is in the graph's state, also after a crash")
	} else if lost != "" {
		clauses = append(clauses, lost+" after the last checkpoint (every "+g.Durability.Interval.String()+") are lost by a crash")
	}
	if read && len(clauses) == 1 {
		clauses[0] += ", also after a crash"
	}
	text := strings.Join(clauses, "; ")
	return strings.ToUpper(text[:1]) + text[1:], true
}

func reason(code, detail string) *Reason {
	if code == "" && detail == "" {
		return nil
	}
	return &Reason{Code: code, Detail: detail}
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

// Accumulators are the inputs of a graph.
func (e *Engine) Accumulators(ctx context.Context, g Ref) ([]AccumulatorSummary, error) {
	sum, err := e.Graph(ctx, g)
	return sum.Accumulators, err
}

// Accumulator is one input with what it expects and hands over.
func (e *Engine) Accumulator(ctx context.Context, g Ref, name string) (AccumulatorDetail, error) {
	m, err := e.graph(g)
	if err != nil {
		return AccumulatorDetail{}, err
	}
	i, err := m.accumulator(name)
	if err != nil {
		return AccumulatorDetail{}, err
	}
	d := AccumulatorDetail{BoundaryType: m.unit.Programs[i].Type().String()}
	if a := &m.unit.Spec.Accumulators[i]; a.Schema != nil {
		d.Schema = rawJSON(a.Schema)
	}
	for _, s := range m.summary(ctx).Accumulators {
		if s.Name == name {
			d.AccumulatorSummary = s
		}
	}
	return d, nil
}

// declared is what is known of an accumulator before its graph has run.
func (m *managed) declared(i int) AccumulatorSummary {
	a := &m.unit.Spec.Accumulators[i]
	return AccumulatorSummary{
		Name: a.Name, Kind: a.Kind, Source: a.Source.Kind, Strategy: a.Strategy, Triggers: a.Triggers(&m.unit.Spec.Reactor),
		Health: string(accumulator.Starting), Capacity: a.Capacity, CapacityBytes: a.CapacityBytes,
	}
}
