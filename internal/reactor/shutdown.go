package reactor

import (
	"context"
	"fmt"
	"time"
)

// finalCommit bounds the last checkpoint of a shutdown.
const finalCommit = 10 * time.Second

// shutDown ends at the epoch boundary: what is handed over is admitted but not fired, the
// sinks are flushed, and the final checkpoint holds the rest (M38).
func (r *Reactor) shutDown(ctx context.Context) error {
	// The stop itself is what ended ctx; the clean-up outlives it, within its own bound.
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), finalCommit)
	defer cancel()
	now := r.Now()
	r.Inbox.Drain(now, r.Core)
	for range len(r.control) {
		(<-r.control)(now)
	}
	r.Core.Stop()
	r.hand(now)
	for _, w := range r.Writers {
		if w != nil {
			w.CloseWhenEmpty()
		}
	}
	if r.Flush != nil {
		r.Flush(end)
	}
	if r.inflight != nil {
		select {
		case done := <-r.commits:
			if err := r.settle(done); err != nil {
				return err
			}
		case <-end.Done():
			return fmt.Errorf("shutdown: the checkpoint in flight did not end within %v", finalCommit)
		}
	}
	return r.lastCommit(end)
}

func (r *Reactor) lastCommit(ctx context.Context) error {
	r.runPosted(r.Now()) // dead letters of the last flush
	if !r.held && (r.Core.Changed() || len(r.waiters) > 0) {
		s := r.Core.Seal(r.Now())
		c := s.Commit()
		c.Seq, c.Settled = r.seq+1, true
		if err := r.Store.Commit(ctx, c); err != nil {
			r.answer(func(waiter) bool { return true }, err)
			return fmt.Errorf("final checkpoint of epoch %d: %w", s.Epoch, err)
		}
		r.answer(func(waiter) bool { return true }, nil)
	}
	if err := r.Store.Release(ctx, r.Core.cfg.ID, r.Core.cfg.Fence); err != nil {
		return fmt.Errorf("release: %w", err)
	}
	return nil
}
