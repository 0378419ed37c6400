package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/live"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/sink"
)

// durableTimeout bounds how long the answer to a push waits for the journal.
const durableTimeout = 10 * time.Second

// openSinks makes the outputs' sinks; nil where values are only counted and watched.
func (m *managed) openSinks() (sinks []sink.Sink, err error) {
	for i := range m.unit.Spec.Outputs {
		if o := &m.unit.Spec.Outputs[i]; o.Sink.Kind == "graph" {
			sinks = append(sinks, newRelay(m.e, m.ref, o.Name, nil))
			continue
		}
		s, err := m.e.cfg.Kinds.Sink(m.unit, i)
		if err != nil {
			m.closeSinks(sinks)
			return nil, fmt.Errorf("output %s: %w", m.unit.Spec.Outputs[i].Name, err)
		}
		sinks = append(sinks, s)
	}
	return sinks, nil
}

// closeSinks closes the sinks of a run that was never started.
func (m *managed) closeSinks(sinks []sink.Sink) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for _, s := range sinks {
		if s == nil {
			continue
		}
		if err := s.Close(ended); err != nil {
			m.e.cfg.Log.Warn("a sink could not be closed", "graph", m.ref.Name, "err", err)
		}
	}
}

// routes says how each output's values leave (M30): with the commit itself where the table
// is in the store's database, from the outbox where that was asked for, else directly. What
// an outbox holds already is delivered from it, whatever the declaration says by now.
func (m *managed) routes(sinks []sink.Sink, depths []checkpoint.OutboxDepth) []reactor.Route {
	routes := make([]reactor.Route, len(sinks))
	for i, s := range sinks {
		o := &m.unit.Spec.Outputs[i]
		routes[i].DeadLetter = o.OnError == "dead_letter"
		rows, ok := s.(sink.RowSink)
		switch {
		case s == nil || m.unit.Spec.Durability.Mode == "none":
		case ok:
			routes[i].Path, routes[i].Table, routes[i].Row = reactor.PathCoTransaction, rows.Table(), rows.Row
		case o.Delivery == "outbox" || o.Sink.Kind == "postgres" || tooDeep(depths, o.Name):
			routes[i].Path = reactor.PathOutbox
		}
	}
	return routes
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
func (m *managed) path(i int) reactor.Path {
	if routes := m.routing.Load(); routes != nil {
		return (*routes)[i].Path
	}
	if o := &m.unit.Spec.Outputs[i]; o.Delivery == "outbox" || o.Sink.Kind == "postgres" {
		return reactor.PathOutbox
	}
	return reactor.PathDirect
}

// stored gives output i's writer what the store has for it: its outbox, or what a checkpoint
// carried over from the direct path.
func (m *managed) stored(ctx context.Context, i int, w *live.WriterConfig, core *reactor.Core, depths []checkpoint.OutboxDepth) error {
	cfg := core.Config()
	read := m.outboxReader(i, w.Output, cfg)
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

func (m *managed) outboxReader(i int, name string, cfg *reactor.Config) func(ctx context.Context, after int64) ([]sink.Message, error) {
	return func(ctx context.Context, after int64) ([]sink.Message, error) {
		entries, err := m.e.cfg.Store.Outbox(ctx, m.id(), name, after, 0, 0)
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
func (m *managed) orphans(depths []checkpoint.OutboxDepth, writers []*live.Writer, routes []reactor.Route, incarnation int64) (drop []checkpoint.Delivered) {
	for _, d := range depths {
		i := slices.Index(m.unit.Reactor().Outputs, d.Output)
		if i >= 0 && writers[i] != nil && routes[i].Path != reactor.PathCoTransaction {
			continue
		}
		drop = append(drop, checkpoint.Delivered{Output: d.Output, UpTo: d.Last})
		m.recordRecovery(checkpoint.RecoveryEvent{At: time.Now(), Graph: m.ref.Name, Component: "output/" + d.Output, Kind: "state_dropped",
			Reason:  fmt.Sprintf("the declaration no longer delivers it: %d values that waited in its outbox were dropped", d.Entries),
			Outcome: "restarted", Incarnation: incarnation})
	}
	return drop
}

// restore makes a core of the last checkpoint and the journal after it.
func (m *managed) restore(ctx context.Context, cfg reactor.Config, head checkpoint.Head) (*reactor.Core, error) {
	store := m.e.cfg.Store
	var cells []checkpoint.Cell
	if err := store.Load(ctx, m.id(), func(c checkpoint.Cell) error { cells = append(cells, c); return nil }); err != nil {
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
		if replay.After() != head.Journal {
			err = store.ReadJournal(ctx, m.id(), replay.After(), replay.Entry)
		}
		if errors.Is(err, reactor.ErrDiverged) && !admitOnly {
			m.e.cfg.Log.Warn("the journal cannot be replayed as it was; what was admitted is fired again", "graph", m.ref.Name, "err", err)
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("replay the journal: %w", err)
		}
		replay.Done()
		core.Begin()
		m.tellRestored(dropped, replay, head.Incarnation)
		return core, nil
	}
}

// tellRestored records what a restart did not keep as it was.
func (m *managed) tellRestored(dropped []string, replay *reactor.Replayer, incarnation int64) {
	if len(dropped) > 0 {
		m.recordRecovery(checkpoint.RecoveryEvent{At: time.Now(), Graph: m.ref.Name, Component: "reactor", Kind: "state_dropped",
			Reason: fmt.Sprintf("the declaration changed: state of %v was not kept", dropped), Outcome: "restarted", Incarnation: incarnation})
	}
	entries, epochs, anew := replay.Outcome()
	if anew {
		m.recordRecovery(checkpoint.RecoveryEvent{At: time.Now(), Graph: m.ref.Name, Component: "reactor", Kind: "journal_refired",
			Reason:  "the journal was written under another declaration or release: what it admitted is fired again, in epochs with new numbers",
			Outcome: "restarted", Incarnation: incarnation})
	}
	if entries > 0 {
		m.e.cfg.Log.Info("journal replayed", "graph", m.ref.Name, "entries", entries, "epochs", epochs)
	}
}

// awaitDurable waits until the handoffs of a push are in the journal, and reports whether
// they are there to stay.
func (m *managed) awaitDurable(ctx context.Context, tickets []accumulator.Ticket) (bool, error) {
	if len(tickets) == 0 {
		return false, nil
	}
	// The caller's deadline is for getting in. What is in is in, and the answer says so.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), durableTimeout)
	defer cancel()
	for _, wait := range tickets {
		if err := wait(ctx); err != nil {
			return false, &Error{Status: 503, Code: "not_durable",
				Detail: "the events were taken, but the journal could not be written, so a crash may have undone it: push them again with the same Idempotency-Key, or look at the graph's counters"}
		}
	}
	return m.e.cfg.Store.Kind() != "memory", nil
}
