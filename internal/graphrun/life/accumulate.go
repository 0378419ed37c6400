package life

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/accumulator/pump"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/feed"
	"github.com/graphd/graphd/internal/graphrun/told"
	"github.com/graphd/graphd/internal/live"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/refused"
	"github.com/graphd/graphd/internal/rest"
	"github.com/graphd/graphd/internal/supervisor"
)

// marksPerInterval is how many marks an accumulator hands over in a checkpoint interval at
// least, so that a checkpoint is never more than a fraction of one behind (M28).
const marksPerInterval = 2

// supervision is how one accumulator of the run is kept alive: restarted alone, in its
// own time, while the reactor goes on (M35).
func (r *Run) supervision(a *accumulatorRun) supervisor.Config {
	p := r.g.Unit.Spec.Reactor.Restart
	return supervisor.Config{
		Name:      "accumulator/" + a.spec.Name,
		Policy:    supervisor.Policy{Attempts: p.Attempts, Base: p.Base, Max: p.Max, Reset: p.Reset},
		Run:       func(ctx context.Context, _ int) error { return r.accumulate(ctx, a) },
		Endless:   true,
		Classify:  classifyAccumulator,
		OnEvent:   func(ev supervisor.Event) { r.accumulatorEvent(a, ev) },
		Restarter: a.operator,
		Revive:    true,
	}
}

// classifyAccumulator: a lost position is for the operator to decide (M44), not for a restart.
func classifyAccumulator(err error) supervisor.Verdict {
	var lost *accumulator.DataLost
	if errors.As(err, &lost) {
		return supervisor.Permanent
	}
	return supervisor.Restart
}

// accumulate is one incarnation of an accumulator: it goes on from the last mark the
// reactor has admitted.
func (r *Run) accumulate(ctx context.Context, a *accumulatorRun) error {
	g := r.g
	// Taking the port makes void what an earlier incarnation may still say.
	port := r.inbox.Port(a.index)
	stopped, err := r.Reactor.Stopped(ctx, reactor.Part{Index: a.index})
	mark, state := accumulator.Mark{}, []byte(nil)
	if err == nil {
		mark, state, err = r.mark(ctx, a.index)
	}
	if err != nil {
		if ctx.Err() != nil || errors.Is(err, live.ErrStopped) {
			<-ctx.Done() // the run is ending
			return nil
		}
		return err
	}
	var source accumulator.Source
	if !stopped {
		if source, err = r.reads(a.index); err != nil {
			return fmt.Errorf("accumulator %s: %w", a.spec.Name, err)
		}
	}
	program := g.Unit.Programs[a.index]
	core := accumulator.NewCore(program, accumulator.Limits{})
	core.Refusals(new(refused.Log))
	if err := core.RestoreMark(mark, state); err != nil {
		return err
	}
	pace := g.Quotas.Pace(g.Ref.Tenant, g.Ref.Name)
	a.setLive(source)
	gone := func() { a.setLive(nil) }
	if g.Unit.Spec.EventClock() {
		defer gone()
		return r.inTurn(ctx, a.index, pump.NewLine(pump.LineConfig{
			Name: a.spec.Name, Core: core, Source: source, Mailbox: g.Mailboxes[a.index], Port: port, Pace: pace,
			Dater: func() *accumulator.Dater { return accumulator.NewDater(program, accumulator.Limits{}) },
			From:  mark.Positions, Fail: g.Fail, Now: r.Reactor.Clock.Now, Share: g.share(a.index),
		}))
	}
	core.Restarted(r.Reactor.Clock.Now())
	unit := pump.New(pump.Config{
		Name: a.spec.Name, Core: core, Source: source, Mailbox: g.Mailboxes[a.index], Port: port, Pace: pace,
		Epochs: a.epochs, From: mark.Positions, Fail: g.Fail, Now: r.Reactor.Clock.Now, Share: g.share(a.index),
		MarkEvery: max(g.Unit.Spec.Durability.Interval/marksPerInterval, 10*time.Millisecond),
	})
	return rest.Then(func() error { return unit.Work(ctx) }, gone)
}

// share is the run's part of input i's events; nil where the graph is not dealt.
func (g *Graph) share(i int) *pump.Share {
	if g.Shards <= 1 {
		return nil
	}
	return &pump.Share{Shard: g.ID.Shard, Of: g.Shards, Dealer: g.Unit.Dealer(i),
		Partitioned: g.Unit.Partitioned(i)}
}

// inTurn runs an accumulator under the event clock, where the reactor folds in the order of times.
func (r *Run) inTurn(ctx context.Context, i int, l *pump.Line) error {
	if err := r.Reactor.Enter(ctx, i, l); err != nil {
		<-ctx.Done() // the run is ending
		return nil
	}
	return l.Run(ctx)
}

func (a *accumulatorRun) setLive(s accumulator.Source) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.live = s
}

func (a *accumulatorRun) liveSource() accumulator.Source {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.live
}

// mirror tells the source that runs how far its positions are durable (M29).
func (r *Run) mirror(i int, positions []boundary.Position) {
	if s, ok := r.accs[i].liveSource().(accumulator.Mirror); ok && s.Mirrors() {
		s.Durable(func() []boundary.Position { return positions })
	}
}

// lag is how many events wait at the source of an accumulator.
func (a *accumulatorRun) lag() *int64 {
	if s, ok := a.liveSource().(accumulator.LagTeller); ok {
		if n, known := s.Lag(); known {
			return &n
		}
	}
	return nil
}

// reads is what accumulator i reads from: its source, or its part of the one that is read for all shards.
func (r *Run) reads(i int) (accumulator.Source, error) {
	if r.g.Readers != nil {
		return r.g.Readers[i].Source(r.g.ID.Shard)
	}
	return r.Source(i)
}

// Source makes accumulator i's source, nil when its socket is all there is.
func (r *Run) Source(i int) (accumulator.Source, error) {
	origin := r.accs[i].spec.Source.Origin()
	graph, output, ok := origin.Graph()
	if from := (api.Ref{Tenant: r.g.Ref.Tenant, Name: graph}); origin.Follows() {
		to := feed.End{Graph: r.g.Ref, Accumulator: r.accs[i].spec.Name}
		return r.g.Feeds.Follow(from, output, to, r.g.Store), nil
	}
	if ok {
		return r.g.Feeds.Source(api.Ref{Tenant: r.g.Ref.Tenant, Name: graph}, output), nil
	}
	return r.g.Kinds.Source(r.g.Unit, i)
}

// accumulatorEvent shows and records what the supervisor does with an accumulator.
func (r *Run) accumulatorEvent(a *accumulatorRun, ev supervisor.Event) {
	g := r.g
	reason := ""
	if ev.Err != nil {
		reason = ev.Err.Error()
	}
	var lost *accumulator.DataLost
	switch {
	case ev.Kind == supervisor.EventWaiting:
		r.inbox.Port(a.index).Health(accumulator.Restarting, "accumulator_restarting",
			told.Restarting(&ev, reason))
	case ev.Kind == supervisor.EventGaveUp && errors.As(ev.Err, &lost):
		r.inbox.Port(a.index).Health(accumulator.Halted, "source_data_lost", lost.Error())
	case ev.Kind == supervisor.EventGaveUp:
		r.inbox.Port(a.index).Health(accumulator.Failed, "restarts_exhausted", reason)
		if g.Unit.Spec.Reactor.Restart.OnExhausted != "degrade" {
			r.giveUp(fmt.Errorf("%w: %s: %w", told.ErrExhausted, a.spec.Name, ev.Err))
		}
	}
	if ev.Kind != supervisor.EventWaiting {
		a.mu.Lock()
		a.restarts++
		a.mu.Unlock()
		g.Restarts.Count(a.spec.Name, &ev)
		g.Log.Warn("accumulator supervised", "graph", g.Ref.Name, "tenant", g.Ref.Tenant, "accumulator", a.spec.Name,
			"kind", string(ev.Kind), "attempt", ev.Attempt, "delay", ev.Delay, "err", ev.Err)
	}
	if ev.Durable() {
		rec := ev.Record(g.Ref.Name, r.Head.Incarnation)
		if lost != nil {
			rec.Kind = "source_data_lost"
		}
		if caught := new(accumulator.PanicError); errors.As(ev.Err, &caught) {
			rec.Stack = string(caught.Stack)
		}
		g.Record(rec)
	}
}
