package life

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/reactor"
)

// restore makes a core of the last checkpoint and the journal after it.
func (g *Graph) restore(ctx context.Context, cfg reactor.Config, head checkpoint.Head) (*reactor.Core, error) {
	store := g.Store
	var cells []checkpoint.Cell
	if err := store.Load(ctx, g.ID, func(c checkpoint.Cell) error {
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
			g.Log.Warn("the journal cannot be replayed as it was; what was admitted is fired again", "graph",
				g.Ref.Name, "tenant", g.Ref.Tenant, "err", err)
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("replay the journal: %w", err)
		}
		replay.Done()
		core.Begin()
		g.unstop(core)
		g.tellRestored(dropped, replay, head.Incarnation)
		return core, nil
	}
}

// unstop lets the outputs go on that were stopped while they had another sink, and that nobody could stop as they are
// now (M11).
func (g *Graph) unstop(core *reactor.Core) {
	for i := range g.Unit.Spec.Outputs {
		o, p := &g.Unit.Spec.Outputs[i], reactor.Part{Output: true, Index: i}
		if core.Stopped(p) == nil || !o.Sink.Target().Followers() &&
			core.Config().Routes[i].Path != reactor.PathCoTransaction {
			continue
		}
		core.StartPart(core.Now(), p)
		g.Log.Info("an output that was stopped has a sink now with which it cannot be; it goes on", "graph", g.Ref.Name,
			"tenant", g.Ref.Tenant, "output", o.Name)
	}
}

// tellRestored records what a restart did not keep as it was.
func (g *Graph) tellRestored(dropped []string, replay *reactor.Replayer, incarnation int64) {
	if len(dropped) > 0 {
		g.Record(checkpoint.RecoveryEvent{At: time.Now(), Graph: g.Ref.Name, Component: "reactor",
			Kind:        "state_dropped",
			Reason:      "the declaration changed: the state of " + strings.Join(dropped, ", ") + " was not kept",
			Outcome:     "restarted",
			Incarnation: incarnation})
	}
	entries, epochs, anew := replay.Outcome()
	if anew {
		g.Record(checkpoint.RecoveryEvent{At: time.Now(), Graph: g.Ref.Name, Component: "reactor",
			Kind: "journal_refired",
			Reason: "the journal was written under another declaration or release: what it admitted is fired " +
				"again, in epochs with new numbers",
			Outcome: "restarted", Incarnation: incarnation})
	}
	if entries > 0 {
		g.Log.Info("journal replayed", "graph", g.Ref.Name, "tenant", g.Ref.Tenant, "entries", entries, "epochs",
			epochs)
	}
}

// replay runs the journal on core. After a crash that is noted in the ledger as an epoch is:
// an entry that takes the process down is not replayed for ever.
func (g *Graph) replay(ctx context.Context, replay *reactor.Replayer, head *checkpoint.Head) error {
	store := g.Store
	if replay.After() == head.Journal {
		return nil
	}
	if !head.Clean {
		if _, err := store.Attempt(ctx, g.ID, head.Fence, head.Epoch+1); err != nil {
			return fmt.Errorf("note the replay in the crash ledger: %w", err)
		}
	}
	err := store.ReadJournal(ctx, g.ID, replay.After(), func(e checkpoint.JournalEntry) error {
		g.Fail.Hit("replay")
		return replay.Entry(e)
	})
	if !head.Clean && err == nil {
		err = store.Absolve(ctx, g.ID, head.Fence, head.Fence)
	}
	return err
}
