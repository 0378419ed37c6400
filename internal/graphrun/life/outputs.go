package life

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/live/delivery"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/sink"
	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/spec/trait"
)

// openSinks makes the outputs' sinks; nil where values are only counted and watched.
func (g *Graph) openSinks() (sinks []sink.Sink, err error) {
	for i := range g.Unit.Spec.Outputs {
		o := &g.Unit.Spec.Outputs[i]
		if _, _, feeds := o.Sink.Target().Graph(); feeds {
			sinks = append(sinks, g.Feeds.Relay(g.Ref, o.Name, nil))
			continue
		}
		if o.Sink.Target().Followers() {
			sinks = append(sinks, g.Feeds.Hold(g.Ref, o.Name))
			continue
		}
		s, err := g.Kinds.Sink(g.Unit, i)
		if err != nil {
			g.closeSinks(sinks)
			return nil, fmt.Errorf("output %s: %w", g.Unit.Spec.Outputs[i].Name, err)
		}
		sinks = append(sinks, s)
	}
	return sinks, nil
}

// relayed puts a relay before output i's sink, so that it feeds other graphs too; nil where
// there is neither a sink nor a link yet.
func (g *Graph) relayed(i int, own sink.Sink) sink.Sink {
	o := &g.Unit.Spec.Outputs[i]
	target := o.Sink.Target()
	if _, _, feeds := target.Graph(); feeds || target.Followers() || own == nil && !g.Feeds.Feeds(g.Ref, o.Name) {
		return own // it is a relay already, nobody is handed anything, or there is nothing to deliver to
	}
	return g.Feeds.Relay(g.Ref, o.Name, own)
}

// closeSinks closes the sinks of a run that was never started.
func (g *Graph) closeSinks(sinks []sink.Sink) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for _, s := range sinks {
		if s == nil {
			continue
		}
		if err := s.Close(ended); err != nil {
			g.Log.Warn("a sink could not be closed", "graph", g.Ref.Name, "tenant", g.Ref.Tenant, "err", err)
		}
	}
}

// routes says how each output's values leave (M30): with the commit itself where the table
// is in the store's database, from the outbox where that was asked for, else directly. What
// an outbox holds already is delivered from it, whatever the declaration says by now.
func (g *Graph) routes(sinks []sink.Sink, depths []checkpoint.OutboxDepth) []reactor.Route {
	routes := make([]reactor.Route, len(sinks))
	for i, s := range sinks {
		o := &g.Unit.Spec.Outputs[i]
		routes[i].DeadLetter = o.OnError == "dead_letter"
		rows, ok := s.(sink.RowSink)
		switch {
		case s == nil || g.Unit.Spec.Durability.Mode == "none":
		case ok:
			routes[i].Path, routes[i].Table, routes[i].Row = reactor.PathCoTransaction, rows.Table(), rows.Row
		case stores(o) || tooDeep(depths, o.Name):
			routes[i].Path = reactor.PathOutbox
		}
	}
	return routes
}

// stores reports whether an output's values are committed before they are delivered: since the
// declaration says so, or since that is its sink's own way.
func stores(o *spec.Output) bool {
	return o.Delivery == "outbox" || o.Sink.Target().Outbox() == trait.OwnOutbox
}

// tooDeep says that more waits in an output's outbox than a direct writer takes over at once.
func tooDeep(depths []checkpoint.OutboxDepth, output string) bool {
	d := depthOf(depths, output)
	return d != nil && (d.Entries > delivery.MaxCarried || d.Bytes > delivery.MaxCarriedBytes)
}

func depthOf(depths []checkpoint.OutboxDepth, output string) *checkpoint.OutboxDepth {
	i := slices.IndexFunc(depths, func(d checkpoint.OutboxDepth) bool { return d.Output == output })
	if i < 0 {
		return nil
	}
	return &depths[i]
}

// PathOf is how an output's values leave, as far as its declaration says.
func PathOf(o *spec.Output) reactor.Path {
	if stores(o) {
		return reactor.PathOutbox
	}
	return reactor.PathDirect
}

// stored gives output i's writer what the store has for it: its outbox, or what a checkpoint
// carried over from the direct path.
func (g *Graph) stored(ctx context.Context, i int, w *delivery.Config, core *reactor.Core,
	depths []checkpoint.OutboxDepth) error {
	cfg := core.Config()
	read := g.outboxReader(i, w.Output, cfg)
	d := depthOf(depths, w.Output)
	if d != nil {
		core.SetOutboxSeq(i, d.Last)
	}
	if cfg.Routes[i].Path == reactor.PathOutbox {
		w.Outbox = &delivery.Outbox{Read: read, Delivered: core.OutboxSeq(i), Committed: core.OutboxSeq(i)}
		if d != nil {
			w.Outbox.Delivered, w.Outbox.Committed, w.Outbox.Bytes = d.First-1, d.Last, d.Bytes
		}
		return nil
	}
	if d == nil || cfg.Routes[i].Path != reactor.PathDirect {
		w.CarriedAfter = core.OutboxSeq(i)
		return nil
	}
	w.CarriedAfter = d.First - 1
	for after := w.CarriedAfter; after < d.Last; after = w.Carried[len(w.Carried)-1].Seq {
		page, err := read(ctx, after)
		if err == nil && len(page) == 0 {
			err = errors.New("what a checkpoint carried over is not there")
		}
		if err != nil {
			return fmt.Errorf("output %s: %w", w.Output, err)
		}
		w.Carried = append(w.Carried, page...)
	}
	return nil
}

func (g *Graph) outboxReader(i int, name string, cfg *reactor.Config) func(ctx context.Context, after int64) (
	[]sink.Message, error) {
	return func(ctx context.Context, after int64) ([]sink.Message, error) {
		entries, err := g.Store.Outbox(ctx, g.ID, name, after, 0, 0)
		if err != nil {
			return nil, err
		}
		out := make([]sink.Message, len(entries))
		for k := range entries {
			if out[k], err = reactor.DecodeMessage(cfg.Instance, i, cfg.Stable(i), &entries[k]); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
}

// orphans are outbox entries of outputs that the declaration no longer has. They are
// dropped, and named (M33).
func (g *Graph) orphans(depths []checkpoint.OutboxDepth, writers []*delivery.Writer, routes []reactor.Route,
	incarnation int64) (drop []checkpoint.Delivered) {
	for _, d := range depths {
		i := slices.Index(g.Unit.Reactor().Outputs, d.Output)
		if i >= 0 && writers[i] != nil && routes[i].Path != reactor.PathCoTransaction {
			continue
		}
		drop = append(drop, checkpoint.Delivered{Output: d.Output, UpTo: d.Last})
		g.Record(checkpoint.RecoveryEvent{At: time.Now(), Graph: g.Ref.Name, Component: "output/" + d.Output,
			Kind: "state_dropped",
			Reason: fmt.Sprintf(
				"the declaration no longer delivers it: %d values that waited in its outbox were dropped", d.Entries),
			Outcome: "restarted", Incarnation: incarnation})
	}
	return drop
}
