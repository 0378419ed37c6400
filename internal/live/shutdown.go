package live

import (
	"context"
	"errors"
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
	for range len(r.commands) {
		r.carryOut(<-r.commands, now)
	}
	r.endSteps(ErrStopped)
	r.Core.Stop()
	r.hand(now)
	if err := r.release(end); err != nil {
		return err
	}
	for _, w := range r.Writers {
		if w != nil {
			w.CloseWhenEmpty()
		}
	}
	if r.Flush != nil {
		r.Flush(end)
	}
	if err := r.land(end); err != nil {
		return err
	}
	return r.lastCommit(end)
}

// release makes durable what the sinks may not have before, so that the flush takes it along:
// what follows from the journal, and what waits for an outbox.
func (r *Reactor) release(ctx context.Context) error {
	if r.held || !r.Core.Config().Journal && !r.Core.Holding() {
		return nil
	}
	if err := r.land(ctx); err != nil {
		return err
	}
	if err := r.writeOut(ctx); err != nil {
		return err
	}
	if r.Core.Holding() {
		return r.commitNow(ctx, false)
	}
	return nil
}

// land waits for what is on its way to the store.
func (r *Reactor) land(ctx context.Context) error {
	for r.pipe.inflight || r.inflight != nil && r.inflight.launched {
		select {
		case done := <-r.commits:
			if err := r.settle(done); err != nil {
				return err
			}
		case done := <-r.pipe.appends:
			if err := r.written(done, r.Now()); err != nil {
				return err
			}
		case <-ctx.Done():
			return fmt.Errorf("shutdown: what was on its way to the store did not end within %v", finalCommit)
		}
	}
	return nil
}

// writeOut appends what is logged, and lets go of what follows from it.
func (r *Reactor) writeOut(ctx context.Context) error {
	for r.Core.Logged() || len(r.pipe.unsent) > 0 {
		r.pipe.retryAt = time.Time{}
		r.write(r.Now())
		if err := r.land(ctx); err != nil {
			return err
		}
		if r.persist[journalFails] != "" {
			return fmt.Errorf("shutdown: %s", r.persist[journalFails])
		}
	}
	return r.land(ctx) // a seal that waited for the journal
}

// commitNow takes a checkpoint and waits for it. Rows that the store refuses become dead
// letters where their output wants that.
func (r *Reactor) commitNow(ctx context.Context, settled bool) error {
	for {
		if r.disowned() {
			return ErrDisowned
		}
		if why := r.Core.Blocked(); why != "" {
			return errors.New(why)
		}
		delivered := r.delivered()
		r.takeRefused() // dead letters of the last flush
		s := &flight{Seal: r.Core.Seal(r.Now()), settled: settled, delivered: delivered}
		r.carry(s)
		c := s.Commit()
		c.Seq, c.Settled, c.Delivered = r.seq+1, s.settled, s.delivered
		err := r.Store.Commit(ctx, c)
		if err == nil {
			r.Core.Sealed(s.Seal, nil)
			r.seq++
			r.committedAll(s)
			return nil
		}
		if final(err) {
			return fmt.Errorf("final checkpoint of epoch %d: %w", s.Epoch, err)
		}
		if r.Core.Sealed(s.Seal, err); s.Refused() < 0 {
			return fmt.Errorf("final checkpoint of epoch %d: %w", s.Epoch, err)
		}
	}
}

func (r *Reactor) lastCommit(ctx context.Context) error {
	if r.held {
		return r.giveBack(ctx)
	}
	if err := r.writeOut(ctx); err != nil {
		return err
	}
	r.takeRefused()
	if r.Core.Changed() || len(r.waiters) > 0 || r.unmarked() {
		err := r.commitNow(ctx, true)
		r.answer(func(waiter) bool { return true }, err)
		if err != nil {
			return err
		}
	}
	r.Inbox.Journaled(r.Inbox.Drained())
	return r.giveBack(ctx)
}

// giveBack says that the graph stopped cleanly.
func (r *Reactor) giveBack(ctx context.Context) error {
	if err := r.Store.Relinquish(ctx, r.Core.Config().ID, r.Core.Config().Fence); err != nil {
		return fmt.Errorf("relinquish: %w", err)
	}
	return nil
}
