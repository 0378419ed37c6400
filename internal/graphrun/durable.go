package graphrun

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/live"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/sink"
	"github.com/graphd/graphd/internal/spec"
)

// journalShare is the part of a caller's time, one in so many, that is kept for the journal:
// an event that was let in at the last moment could not be told to be durable otherwise.
const journalShare = 4

// openSinks makes the outputs' sinks; nil where values are only counted and watched.
func (g *Graph) openSinks() (sinks []sink.Sink, err error) {
	for i := range g.unit.Spec.Outputs {
		o := &g.unit.Spec.Outputs[i]
		if _, _, feeds := o.Sink.Target().Graph(); feeds {
			sinks = append(sinks, g.host.Feeds.Relay(g.ref, o.Name, nil))
			continue
		}
		s, err := g.host.Kinds.Sink(g.unit, i)
		if err != nil {
			g.closeSinks(sinks)
			return nil, fmt.Errorf("output %s: %w", g.unit.Spec.Outputs[i].Name, err)
		}
		sinks = append(sinks, s)
	}
	return sinks, nil
}

// relayed puts a relay before output i's sink, so that it feeds other graphs too; nil where
// there is neither a sink nor a link yet.
func (g *Graph) relayed(i int, own sink.Sink) sink.Sink {
	o := &g.unit.Spec.Outputs[i]
	if _, _, feeds := o.Sink.Target().Graph(); feeds || own == nil && !g.host.Feeds.Feeds(g.ref, o.Name) {
		return own // it is a relay already, or there is nothing to deliver to
	}
	return g.host.Feeds.Relay(g.ref, o.Name, own)
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
			g.host.Log.Warn("a sink could not be closed", "graph", g.ref.Name, "err", err)
		}
	}
}

// routes says how each output's values leave (M30): with the commit itself where the table
// is in the store's database, from the outbox where that was asked for, else directly. What
// an outbox holds already is delivered from it, whatever the declaration says by now.
func (g *Graph) routes(sinks []sink.Sink, depths []checkpoint.OutboxDepth) []reactor.Route {
	routes := make([]reactor.Route, len(sinks))
	for i, s := range sinks {
		o := &g.unit.Spec.Outputs[i]
		routes[i].DeadLetter = o.OnError == "dead_letter"
		rows, ok := s.(sink.RowSink)
		switch {
		case s == nil || g.unit.Spec.Durability.Mode == "none":
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
	return o.Delivery == "outbox" || o.Sink.Target().Outbox() == spec.OwnOutbox
}

// tooDeep says that more waits in an output's outbox than a direct writer takes over at once.
func tooDeep(depths []checkpoint.OutboxDepth, output string) bool {
	d := depthOf(depths, output)
	return d != nil && (d.Entries > live.MaxCarried || d.Bytes > live.MaxCarriedBytes)
}

func depthOf(depths []checkpoint.OutboxDepth, output string) *checkpoint.OutboxDepth {
	i := slices.IndexFunc(depths, func(d checkpoint.OutboxDepth) bool { return d.Output == output })
	if i < 0 {
		return nil
	}
	return &depths[i]
}

// path is how output i's values leave, as far as is known: from the run, or from the declaration.
func (g *Graph) path(i int) reactor.Path {
	if routes := g.routing.Load(); routes != nil {
		return (*routes)[i].Path
	}
	if stores(&g.unit.Spec.Outputs[i]) {
		return reactor.PathOutbox
	}
	return reactor.PathDirect
}

// PathOf is how an output's values leave, as far as is known; ok is false when there is none
// of that name.
func (g *Graph) PathOf(output string) (p reactor.Path, ok bool) {
	for i := range g.unit.Spec.Outputs {
		if g.unit.Spec.Outputs[i].Name == output {
			return g.path(i), true
		}
	}
	return 0, false
}

// stored gives output i's writer what the store has for it: its outbox, or what a checkpoint
// carried over from the direct path.
func (g *Graph) stored(ctx context.Context, i int, w *live.WriterConfig, core *reactor.Core,
	depths []checkpoint.OutboxDepth) error {
	cfg := core.Config()
	read := g.outboxReader(i, w.Output, cfg)
	d := depthOf(depths, w.Output)
	if d != nil {
		core.SetOutboxSeq(i, d.Last)
	}
	if cfg.Routes[i].Path == reactor.PathOutbox {
		w.Outbox = &live.OutboxConfig{Read: read, Delivered: core.OutboxSeq(i), Committed: core.OutboxSeq(i)}
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
		entries, err := g.host.Store.Outbox(ctx, g.ID(), name, after, 0, 0)
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
func (g *Graph) orphans(depths []checkpoint.OutboxDepth, writers []*live.Writer, routes []reactor.Route,
	incarnation int64) (drop []checkpoint.Delivered) {
	for _, d := range depths {
		i := slices.Index(g.unit.Reactor().Outputs, d.Output)
		if i >= 0 && writers[i] != nil && routes[i].Path != reactor.PathCoTransaction {
			continue
		}
		drop = append(drop, checkpoint.Delivered{Output: d.Output, UpTo: d.Last})
		g.recordRecovery(checkpoint.RecoveryEvent{At: time.Now(), Graph: g.ref.Name, Component: "output/" + d.Output,
			Kind: "state_dropped",
			Reason: fmt.Sprintf(
				"the declaration no longer delivers it: %d values that waited in its outbox were dropped", d.Entries),
			Outcome: "restarted", Incarnation: incarnation})
	}
	return drop
}

// restore makes a core of the last checkpoint and the journal after it.
func (g *Graph) restore(ctx context.Context, cfg reactor.Config, head checkpoint.Head) (*reactor.Core, error) {
	store := g.host.Store
	var cells []checkpoint.Cell
	if err := store.Load(ctx, g.ID(), func(c checkpoint.Cell) error {
		cells = append(cells, c)
		return nil
	}); err != nil {
		return nil, fmt.Errorf("load the checkpoint: %w", err)
	}
	for admitOnly := false; ; admitOnly = true {
		core := reactor.NewCore(cfg)
		dropped, err := core.Restore(head, cells)
		if err != nil {
			return nil, err
		}
		replay := reactor.NewReplayer(core, head)
		replay.AdmitOnly = admitOnly
		err = g.replay(ctx, replay, &head)
		if errors.Is(err, reactor.ErrDiverged) && !admitOnly {
			g.host.Log.Warn("the journal cannot be replayed as it was; what was admitted is fired again", "graph",
				g.ref.Name, "err", err)
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("replay the journal: %w", err)
		}
		replay.Done()
		core.Begin()
		g.tellRestored(dropped, replay, head.Incarnation)
		return core, nil
	}
}

// tellRestored records what a restart did not keep as it was.
func (g *Graph) tellRestored(dropped []string, replay *reactor.Replayer, incarnation int64) {
	if len(dropped) > 0 {
		g.recordRecovery(checkpoint.RecoveryEvent{At: time.Now(), Graph: g.ref.Name, Component: "reactor",
			Kind:   "state_dropped",
			Reason: fmt.Sprintf("the declaration changed: state of %v was not kept", dropped), Outcome: "restarted",
			Incarnation: incarnation})
	}
	entries, epochs, anew := replay.Outcome()
	if anew {
		g.recordRecovery(checkpoint.RecoveryEvent{At: time.Now(), Graph: g.ref.Name, Component: "reactor",
			Kind: "journal_refired",
			Reason: "the journal was written under another declaration or release: what it admitted is fired " +
				"again, in epochs with new numbers",
			Outcome: "restarted", Incarnation: incarnation})
	}
	if entries > 0 {
		g.host.Log.Info("journal replayed", "graph", g.ref.Name, "entries", entries, "epochs", epochs)
	}
}

// timeToEnter is the part of a push's time in which its events must be let in, so that a journaled
// graph has some left to make them durable.
func (g *Graph) timeToEnter(ctx context.Context) (context.Context, context.CancelFunc) {
	by, bounded := ctx.Deadline()
	if !bounded || g.unit.Spec.Durability.Mode != "journal" {
		return ctx, func() {}
	}
	return context.WithDeadline(ctx, by.Add(-time.Until(by)/journalShare))
}

// awaitDurable waits until the handoffs of a push are in the journal, and reports whether
// they are there to stay. It takes no longer than the caller has.
func (g *Graph) awaitDurable(ctx context.Context, tickets []accumulator.Ticket) (bool, error) {
	if len(tickets) == 0 {
		return false, nil
	}
	by, bounded := ctx.Deadline()
	if !bounded {
		by = time.Now().Add(g.host.PushTimeout)
	}
	// Who has gone does not end it: what is in is in, and an Idempotency-Key may ask for the answer.
	ctx, cancel := context.WithDeadline(context.WithoutCancel(ctx), by)
	defer cancel()
	for _, wait := range tickets {
		if err := wait(ctx); err != nil {
			why := ""
			if reason := g.unwritable(); reason != nil {
				why = " (" + reason.Code + ": " + reason.Detail + ")"
			}
			return false, &api.Error{Status: 503, Code: "not_durable",
				Detail: "the events were taken, but the journal could not be written in time" + why +
					", so a crash may " +
					"undo it: push them again with the same Idempotency-Key, or look at the graph's counters"}
		}
	}
	return g.host.Store.Kind() != "memory", nil
}

// unwritable says why the graph's store takes nothing; nil when it does, as far as is known.
func (g *Graph) unwritable() *api.Reason {
	r, err := g.running()
	if err != nil {
		return nil
	}
	if p := r.reactor.View().Persist; p.Code != "" {
		return &api.Reason{Code: p.Code, Detail: p.Detail}
	}
	return nil
}
