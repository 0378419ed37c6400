package lives

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/compile"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/reactor/form"
	"github.com/graphd/graphd/internal/reactor/redeal"
)

// Undelivered says that an old shard has something that only its own epochs can name: it is to be delivered, or dealt
// with, before its keys are dealt anew.
type Undelivered struct {
	Shard  int
	Output string // "" for dead letters of a shard that goes
	Values int64
}

func (u *Undelivered) Error() string {
	if u.Output == "" {
		return fmt.Sprintf("shard %d, which is to go, keeps dead letters: replay or discard them first", u.Shard)
	}
	return fmt.Sprintf("%d values of output %s wait in the outbox of shard %d: let them be delivered first, see "+
		"the output's state", u.Values, u.Output, u.Shard)
}

// Change is what an update to another number of shards changes.
type Change struct {
	// Of is the number.
	Of int
	// Old is what the shards have run, Next what they are to run.
	Old, Next *compile.Unit
	// Alone says that nothing else of the declaration is another.
	Alone bool
}

// Redeal deals the keys of stopped shards anew, in one change of the store: shards are all that the graph has and will
// have, by their numbers, of which c.Next runs the first c.Of. put is told how to store the declaration that says so.
// On an error nothing is changed, and the shards can be started as they were.
func Redeal(ctx context.Context, shards []*Shard, c *Change, put func(
	by func(ctx context.Context, d checkpoint.Declaration, ifRevision int64) (int64, error)) error) (err error) {
	store := shards[0].host.Store
	fail := shards[0].host.Fail
	var taken []checkpoint.Head
	defer func() {
		for i, head := range taken {
			if gone := store.Relinquish(ctx, shards[i].ID(), head.Fence); gone != nil {
				shards[i].survived(head.Fence, nil) // its next owner clears it: no epoch was noted
			}
		}
		runs := c.Of
		if err != nil {
			runs = shards[0].cfg.Of
		}
		for i := runs; i < len(taken); i++ { // nothing runs there, and another daemon may deal them next
			shards[i].yield(taken[i].Fence)
		}
	}()
	have := make([]redeal.Shard, len(shards))
	for i, s := range shards {
		head, _, err := s.Acquire(ctx)
		if err != nil {
			return fmt.Errorf("take shard %d: %w", i, err)
		}
		fail.Hit("redeal_taken")
		taken, have[i].Head = append(taken, head), head
		if err := s.whole(ctx, &head, c.Of); err != nil {
			return err
		}
		err = store.Load(ctx, s.ID(), func(cell checkpoint.Cell) error {
			have[i].Cells = append(have[i].Cells, cell)
			return nil
		})
		if err != nil {
			return fmt.Errorf("read shard %d: %w", i, err)
		}
	}
	commits, err := deal(shards, have, c)
	if err != nil {
		return err
	}
	fail.Hit("redeal_dealt")
	return put(func(ctx context.Context, d checkpoint.Declaration, ifRevision int64) (int64, error) {
		revision, err := store.Redeal(ctx, &checkpoint.Redeal{Commits: commits, Declaration: d, IfRevision: ifRevision})
		fail.Hit("redeal_stored")
		if errors.Is(err, checkpoint.ErrUnknownOutcome) {
			return outcome(ctx, shards, taken, c.Of, err)
		}
		return revision, err
	})
}

// outcome finds out what has become of a change of which the store did not say: with new fences, so that it cannot
// arrive any more. Where the store does not say that either, the shards themselves see it when they start.
func outcome(ctx context.Context, shards []*Shard, taken []checkpoint.Head, of int, unknown error) (int64, error) {
	store := shards[0].host.Store
	for i, s := range shards {
		head, _, err := s.Acquire(ctx)
		if err != nil {
			return 0, errors.Join(unknown, err)
		}
		before := taken[i].Seq
		taken[i] = head
		if dealt, err := reactor.Dealt(head.Meta); err != nil || dealt != of || head.Seq == before {
			return 0, errors.Join(unknown, err)
		}
	}
	all, err := store.Declarations(ctx)
	for i := range all {
		if id := shards[0].ID(); all[i].Tenant == id.Tenant && all[i].Graph == id.Graph {
			return all[i].Revision, nil
		}
	}
	return 0, errors.Join(unknown, err)
}

// whole refuses a shard with something beside its state: entries that no checkpoint covers, or what only it can name.
func (s *Shard) whole(ctx context.Context, head *checkpoint.Head, of int) error {
	store := s.host.Store
	depths, err := store.OutboxDepths(ctx, s.ID())
	if err != nil {
		return fmt.Errorf("look at the outboxes of shard %d: %w", s.cfg.Number, err)
	}
	for _, d := range depths {
		return &Undelivered{Shard: s.cfg.Number, Output: d.Output, Values: d.Entries}
	}
	if s.cfg.Number >= of {
		letters, _, err := store.DeadLetters(ctx, s.ID(), checkpoint.LetterQuery{Query: checkpoint.Query{Limit: 1}})
		if err != nil {
			return fmt.Errorf("look for dead letters of shard %d: %w", s.cfg.Number, err)
		}
		if len(letters) > 0 {
			return &Undelivered{Shard: s.cfg.Number}
		}
	}
	dealt, err := reactor.Dealt(head.Meta)
	if err != nil || dealt != 0 && s.cfg.Number >= dealt {
		return err // it was given up by an earlier deal, and has no state
	}
	covered, err := reactor.Covered(head.Meta)
	if err == nil && covered != head.Journal {
		err = fmt.Errorf("shard %d did not stop with a checkpoint: its journal goes on behind it", s.cfg.Number)
	}
	return err
}

// deal makes the commits, and holds that a core of each new shard can be made of them.
func deal(shards []*Shard, have []redeal.Shard, change *Change) ([]*checkpoint.Commit, error) {
	was, cfg := change.Old.Reactor(), change.Next.Reactor()
	g := redeal.Graph{DealtOn: cfg.DealtOn}
	if change.Alone {
		g.Plan = cfg.PlanHash
	}
	for i := range was.Inputs {
		g.Inputs = append(g.Inputs, redeal.Input{Name: was.Inputs[i].Name, Program: change.Old.Programs[i],
			Global: change.Old.Shared(i)})
	}
	commits, err := redeal.Deal(&g, have, change.Of)
	if err != nil {
		return nil, err
	}
	now := time.Now().UTC()
	for i, c := range commits {
		c.ID, c.At, c.KeepFirings = shards[i].ID(), now, change.Next.Spec.History.Keep
		if i >= change.Of {
			continue
		}
		cfg := cfg
		cfg.ID, cfg.Shards = c.ID, change.Of
		var cells []checkpoint.Cell
		for _, cell := range c.Cells {
			if cell.Data != nil {
				cells = append(cells, cell)
			}
		}
		dropped, err := reactor.NewCore(cfg).Restore(checkpoint.Head{Epoch: c.Epoch, Meta: c.Meta}, cells)
		if err == nil && len(dropped) > 0 && change.Alone {
			err = fmt.Errorf("%w: it would be without %v", reactor.ErrCorrupt, dropped)
		}
		if err != nil {
			return nil, fmt.Errorf("shard %d as it would be: %w", i, err)
		}
	}
	return commits, nil
}

// Moving is what another deal moves from one shard to another, in a line, as of the last checkpoints.
func Moving(ctx context.Context, store checkpoint.Store, id checkpoint.ID, from, to Deal) (string, error) {
	if from.Rekeyed(to) {
		return "dealt anew: what events have as their key is another; the shards come to one cut before it is", nil
	}
	all, moved, bytes := 0, 0, 0
	for id.Shard = range from.Of {
		err := store.Load(ctx, id, func(c checkpoint.Cell) error {
			if c.Key == "" {
				return nil
			}
			isKey, moves := c.Kind == form.CellKey, boundary.Key(c.Key).Shard(to.Of) != id.Shard
			if isKey {
				all++
			}
			if moves {
				bytes += len(c.Key) + len(c.Data)
			}
			if isKey && moves {
				moved++
			}
			return nil
		})
		if err != nil && !errors.Is(err, checkpoint.ErrNotFound) {
			return "", fmt.Errorf("look at what would move: %w", err)
		}
	}
	return fmt.Sprintf("moved keys: %d of %d, with %d bytes of the last checkpoints, from %d shards to %d",
		moved, all, bytes, from.Of, to.Of), nil
}
