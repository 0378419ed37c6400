package graphrun

import (
	"context"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/accumulator/pump"
	"github.com/graphd/graphd/internal/accumulator/pump/reader"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/compile"
	"github.com/graphd/graphd/internal/graphrun/life"
	"github.com/graphd/graphd/internal/graphrun/lives"
	"github.com/graphd/graphd/internal/graphrun/parts"
	"github.com/graphd/graphd/internal/graphrun/told"
	"github.com/graphd/graphd/internal/graphrun/told/called"
	"github.com/graphd/graphd/internal/live"
	"github.com/graphd/graphd/internal/pushkey"
	"github.com/graphd/graphd/internal/reactor"
)

// shardsOf is how many shards run a declaration live.
func shardsOf(u *compile.Unit) int {
	if u == nil || u.Spec.Reactor.Shards <= 1 || u.OneLive() != "" {
		return 1
	}
	return u.Spec.Reactor.Shards
}

// read makes what reads the sources for all of so many shards; where there is one it reads by itself.
func (g *Graph) read(shards int) {
	if shards == 1 {
		return
	}
	for i, p := range g.unit.Programs {
		cfg := reader.Config{Open: func() (accumulator.Source, error) { return g.host.Kinds.Source(g.unit, i) }}
		cfg.Share = &pump.Share{Of: shards, Dealer: g.unit.Dealer(i), Partitioned: g.unit.Partitioned(i)}
		cfg.Pace = g.host.Quotas.Pace(g.ref.Tenant, g.ref.Name)
		if g.unit.Spec.EventClock() {
			cfg.Dater = func() *accumulator.Dater { return accumulator.NewDater(p, accumulator.Limits{}) }
		}
		g.readers = append(g.readers, reader.New(cfg))
	}
}

// deal has pushes dealt to the shards' mailboxes.
func (g *Graph) deal() {
	if len(g.shards) == 1 {
		return
	}
	g.deals = make([]*pump.Deal, len(g.unit.Programs))
	for i := range g.deals {
		boxes := make([]*pump.Mailbox, len(g.shards))
		for n, s := range g.shards {
			boxes[n] = s.Mailboxes()[i]
		}
		g.deals[i] = pump.NewDeal(boxes, g.unit.Dealer(i), g.unit.Spec.EventClock())
	}
}

// deliver queues events for an input, for each shard what it has to hear of them, in the order of the calls; it waits
// for room while ctx is not done. wait, called once, is for what became of them.
func (g *Graph) deliver(ctx context.Context, i int, events []boundary.Event) (wait pump.Wait) {
	for {
		wait, again := g.letIn(ctx, i, events)
		if again == nil {
			return wait
		}
		select {
		case <-again:
		case <-ctx.Done():
			return func(context.Context) (pump.PushOutcome, error) { return pump.PushOutcome{Full: true}, nil }
		}
	}
}

// letIn is deliver where a shard that is concerned need not run first, for what has it run may wait for the gate.
func (g *Graph) letIn(ctx context.Context, i int, events []boundary.Event) (wait pump.Wait, again <-chan struct{}) {
	g.gate.RLock()
	defer g.gate.RUnlock()
	switch {
	case g.shutNow != nil:
		return nil, g.shutNow
	case g.heir != nil:
		return g.heir.letIn(ctx, i, events)
	case g.deals != nil:
		return g.deals[i].Submit(ctx, events, g.reach(ctx, i))
	}
	box := g.first().Mailboxes()[i]
	if _, keyed := pushkey.From(ctx); keyed {
		return pump.NewDeal([]*pump.Mailbox{box}, nil, false).Submit(ctx, events, &pump.Reach{})
	}
	p, err := box.Submit(ctx, events)
	if err != nil {
		return func(context.Context) (pump.PushOutcome, error) { return pump.PushOutcome{}, err }, nil
	}
	return p.Wait, nil
}

// reach says where a push to an input goes from here.
func (g *Graph) reach(ctx context.Context, i int) *pump.Reach {
	if g.host.Away == nil || parts.Portion(ctx) {
		return &pump.Reach{Only: func(shard int) bool { return parts.Asked(ctx, shard) }}
	}
	return &pump.Reach{Away: g.host.Away(g.ref, g.ShardIDs(), i)}
}

// shut lets no push in until open is called, and returns when those that were on their way in are; next takes them from
// then on, or, if that is nil, the graph itself.
func (g *Graph) shut() (open func(next *Graph)) {
	g.gate.Lock()
	defer g.gate.Unlock()
	shut := make(chan struct{})
	g.shutNow = shut
	return func(next *Graph) {
		g.gate.Lock()
		defer g.gate.Unlock()
		g.shutNow, g.heir = nil, next
		close(shut)
	}
}

// of is the shard that has a key; the first where there is none. See [told.Or] for a key that may be meant as a text.
func (g *Graph) of(ctx context.Context, key boundary.Key) *lives.Shard {
	at, asText := told.Homes(key, len(g.shards), g.dealtAs().By)
	if at == asText {
		return g.shards[at]
	}
	has := func(n int, key boundary.Key) bool {
		has, err := g.hasKey(ctx, g.shards[n], key)
		return err == nil && has
	}
	if !has(at, key) && has(asText, key) {
		at = asText
	}
	return g.shards[at]
}

func (g *Graph) hasKey(ctx context.Context, s *lives.Shard, key boundary.Key) (has bool, err error) {
	_, err = g.commandAt(ctx, s, func(ctx context.Context, r *live.Reactor) error {
		return r.Look(ctx, func(c *reactor.Core, _ time.Time) { has = c.HasKey(told.Or(c, key)) })
	})
	return has, err
}

// commandAt has the reactor of one shard carry something out, within the caller's time.
func (g *Graph) commandAt(ctx context.Context, s *lives.Shard, do func(ctx context.Context, r *live.Reactor) error) (
	*life.Run, error) {
	r, err := s.Running()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, called.CommandTime(g.unit))
	defer cancel()
	return r, told.Refusal(do(ctx, r.Reactor))
}

// runs are the runs in progress of the shards that are asked, nil of the others, or the refusal of the first that has
// none.
func (g *Graph) runs(ctx context.Context) ([]*life.Run, error) {
	all := make([]*life.Run, len(g.shards))
	for n, s := range g.shards {
		if !parts.Asked(ctx, n) {
			continue
		}
		r, err := s.Running()
		if err != nil {
			return nil, told.OfShard(n, len(g.shards), err)
		}
		all[n] = r
	}
	return all, nil
}

// everywhere has the reactors of all shards carry something out, at one time: it is done in all, or refused by some,
// and then the refusal says what each did.
func (g *Graph) everywhere(ctx context.Context, do func(ctx context.Context, r *life.Run) error) error {
	runs, err := g.runs(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, called.CommandTimeout)
	defer cancel()
	return g.inEach(runs, func(r *life.Run) error { return do(ctx, r) })
}

// inEach does something with runs of shards at one time; it is nil for those that have none to do it with.
func (g *Graph) inEach(runs []*life.Run, do func(r *life.Run) error) error {
	errs := make([]error, len(g.shards))
	_ = g.each(func(s *lives.Shard) error {
		if r := runs[s.Number()]; r != nil {
			errs[s.Number()] = do(r)
		}
		return nil
	})
	return told.EveryShard(errs)
}

// refreshed is the summary with what a command has just changed, as soon as the reactors say so.
func (g *Graph) refreshed(ctx context.Context) api.GraphSummary {
	g.refresh(ctx)
	return g.Summary(ctx)
}

// refresh has the reactors that run say how they stand.
func (g *Graph) refresh(ctx context.Context) {
	_ = g.each(func(s *lives.Shard) error {
		if r := s.Run(); r != nil {
			refresh(ctx, r)
		}
		return nil
	})
}
