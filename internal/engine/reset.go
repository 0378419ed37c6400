package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/reactor"
)

// confirmed refuses what cannot be undone unless the caller has named the graph again.
func confirmed(g Ref, confirm, what string) error {
	if confirm == g.Name {
		return nil
	}
	return &Error{Status: http.StatusUnprocessableEntity, Code: "confirmation_required",
		Detail: fmt.Sprintf("%s; to do so say confirm: %q", what, g.Name)}
}

// Reset takes all state from a graph, as if it had never run: values, queues, open folds,
// node values, positions and books. Its declaration, history, dead letters, numbers of
// epochs and a pause stay. Sources begin anew.
func (e *Engine) Reset(ctx context.Context, g Ref, confirm, by string) (GraphSummary, error) {
	if err := confirmed(g, confirm, "a reset takes all state from the graph, and its sources are read from the beginning"); err != nil {
		return GraphSummary{}, err
	}
	defer e.changing.lock(g)()
	m, err := e.graph(g)
	if err != nil {
		return GraphSummary{}, err
	}
	m.mu.Lock()
	standing := m.health == reactor.HealthStandby
	var elsewhere error
	if standing {
		elsewhere = m.standbyError(http.StatusConflict)
	}
	m.mu.Unlock()
	if standing {
		return GraphSummary{}, elsewhere
	}
	ctx = context.WithoutCancel(ctx) // a graph that was stopped is started again
	swapped := m.beginSwap()
	defer close(swapped)
	defer m.endSwap()
	if err := m.stop(); err != nil {
		e.cfg.Log.Warn("the graph did not stop cleanly before its reset", "graph", g.Name, "err", err)
	}
	err = m.dropState(ctx)
	if err == nil {
		m.recordRecovery(checkpoint.RecoveryEvent{At: time.Now(), Graph: g.Name, Component: "graph", Kind: "state_reset",
			Reason: by + " took all state from the graph; it begins anew", Outcome: "restarted", Incarnation: m.incarnation()})
	}
	m.start(e.ctx)
	sum := m.after(ctx, func(s *GraphSummary) bool { // until its run has begun it is still what it was: stopped
		return loaded(s) && s.Health != string(reactor.HealthStopped)
	})
	return sum, err
}

// dropState removes everything that a stopped graph would go on from, in one commit.
func (m *managed) dropState(ctx context.Context) error {
	store := m.e.cfg.Store
	head, err := store.Acquire(ctx, m.id())
	if err != nil {
		return fmt.Errorf("take the graph's state: %w", err)
	}
	c := checkpoint.Commit{ID: m.id(), Fence: head.Fence, Seq: head.Seq + 1, Epoch: head.Epoch, At: time.Now().UTC(), Meta: reactor.Blank(head.Meta), JournalTo: head.Journal, Settled: true}
	if m.unit != nil {
		c.KeepFirings = m.unit.Spec.History.Keep
	}
	err = store.Load(ctx, m.id(), func(cell checkpoint.Cell) error {
		cell.Data = nil
		c.Cells = append(c.Cells, cell)
		return nil
	})
	if err != nil {
		return fmt.Errorf("read what the graph has kept: %w", err)
	}
	if err := store.Commit(ctx, &c); err != nil {
		return fmt.Errorf("drop the graph's state: %w", err)
	}
	return store.Release(ctx, m.id(), head.Fence)
}

// Rewind has an accumulator read its source again from another place: "start", or what the
// source takes as a position. It is durable before it is answered. What is read twice
// counts twice.
func (e *Engine) Rewind(ctx context.Context, g Ref, name, position, confirm, by string) (GraphSummary, error) {
	if err := confirmed(g, confirm, "a rewind has events read again, and what they cause happens again"); err != nil {
		return GraphSummary{}, err
	}
	m, err := e.settled(ctx, g)
	if err != nil {
		return GraphSummary{}, err
	}
	i, err := m.accumulator(name)
	if err != nil {
		return GraphSummary{}, err
	}
	to, err := m.seek(ctx, i, position)
	if err != nil {
		return GraphSummary{}, err
	}
	r, err := m.running()
	if err != nil {
		return GraphSummary{}, err
	}
	err = r.goOn(ctx, i, to, "rewound", func(from []boundary.Position) string {
		return fmt.Sprintf("%s had it go on from %s instead of %s", by, orStart(to), orStart(from))
	})
	if err != nil {
		return GraphSummary{}, err
	}
	return m.after(ctx, func(s *GraphSummary) bool { return accumulator.Health(s.Accumulators[i].Health).Healthy() }), nil
}

func orStart(ps []boundary.Position) string {
	if len(ps) == 0 {
		return "the start"
	}
	return describePositions(ps)
}

// seek asks an accumulator's source what a position means.
func (m *managed) seek(ctx context.Context, i int, position string) ([]boundary.Position, error) {
	a := &m.unit.Spec.Accumulators[i]
	source, err := m.e.cfg.Kinds.Source(m.unit, i)
	if err != nil {
		return nil, fmt.Errorf("accumulator %s: %w", a.Name, err)
	}
	if source == nil {
		return nil, cannotRewind("accumulator " + a.Name + " has no source: what was pushed cannot be read again")
	}
	if position == "start" {
		return nil, nil
	}
	seeker, ok := source.(accumulator.Seeker)
	if !ok {
		return nil, cannotRewind("a source of kind " + a.Source.Kind + " knows no position but \"start\"")
	}
	to, err := seeker.Seek(ctx, position)
	if err != nil {
		return nil, &Error{Status: http.StatusUnprocessableEntity, Code: "bad_position", Detail: err.Error()}
	}
	return to, nil
}

func cannotRewind(why string) error {
	return &Error{Status: http.StatusUnprocessableEntity, Code: "cannot_rewind", Detail: why}
}

// backer is a store that can be copied while it is in use.
type backer interface {
	// Backup writes a copy of the store as of one moment to a file that must not be there yet.
	Backup(ctx context.Context, path string) error
}

// Backup copies the store while everything runs and hands the copy to send, with its size.
func (e *Engine) Backup(ctx context.Context, send func(copied io.Reader, size int64) error) error {
	store, ok := e.cfg.Store.(backer)
	if !ok {
		return &Error{Status: http.StatusConflict, Code: "cannot_backup",
			Detail: fmt.Sprintf("a store of kind %s has no file to copy; only sqlite has", e.cfg.Store.Kind())}
	}
	dir, err := os.MkdirTemp(e.cfg.Scratch, ".graphd-backup-")
	if err != nil {
		return fmt.Errorf("make room for the backup: %w", err)
	}
	defer func() {
		if err := os.RemoveAll(dir); err != nil {
			e.cfg.Log.Warn("what a backup was copied through could not be removed", "dir", dir, "err", err)
		}
	}()
	path := dir + "/graphd.db"
	if err := store.Backup(ctx, path); err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("read the backup: %w", err)
	}
	info, err := f.Stat()
	if err == nil {
		err = send(f, info.Size())
	}
	return errors.Join(err, f.Close())
}
