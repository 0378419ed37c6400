package lives

import (
	"context"
	"fmt"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/reactor"
)

// DropState removes everything that a stopped shard would go on from, in one commit.
func (s *Shard) DropState(ctx context.Context) error {
	store := s.host.Store
	head, _, err := s.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("take the graph's state: %w", err)
	}
	deal := s.deal()
	c := checkpoint.Commit{ID: s.ID(), Fence: head.Fence, Seq: head.Seq + 1, Epoch: head.Epoch, At: time.Now().UTC(),
		Meta: reactor.Blank(head.Meta, head.Journal, deal.Of, deal.By, deal.On), JournalTo: head.Journal, Proven: true}
	if s.cfg.Unit != nil {
		c.KeepFirings = s.cfg.Unit.Spec.History.Keep
	}
	err = store.Load(ctx, s.ID(), func(cell checkpoint.Cell) error {
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
	return store.Relinquish(ctx, s.ID(), head.Fence)
}
