package live

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/graphd/graphd/internal/live/laps"
)

const (
	// shutdownTime is what a shutdown has when nobody says.
	shutdownTime = 10 * time.Second
	// flushOutbox is how long a shutdown waits for sinks to take what is in their outboxes:
	// it is in the store, and delivered after the next start.
	flushOutbox = time.Second
	// handOutbox is how long it is where another daemon waits to go on with the graph, and delivers the rest at once:
	// as long as a delivery takes that is on its way, and none is begun.
	handOutbox = 100 * time.Millisecond
)

// shutDown ends at the epoch boundary: what is handed over is admitted but not fired, the
// sinks are flushed, and the final checkpoint holds the rest (M38). All of it has one
// deadline; what is still on its way to the store then is cut off.
func (r *Reactor) shutDown(ctx context.Context) error {
	end, cancel := r.timeLeft(ctx)
	defer cancel()
	stop := context.AfterFunc(end, r.reach.CutOff)
	defer func() {
		if stop(); end.Err() != nil { // who waits for the end may be woken before what was to follow it
			r.reach.CutOff()
		}
	}()
	now, handed := r.Clock.Now(), r.HandOver != nil && r.HandOver()
	var steps *laps.Laps
	if r.Steps != nil {
		steps = r.Steps()
	}
	if handed {
		r.leaveOutboxes()
	}
	if r.flow != nil {
		r.take(now)
		r.flow.End()
	}
	r.Inbox.Drain(r.engine(now), r.Core)
	for range len(r.commands) {
		r.carryOut(<-r.commands, now)
	}
	r.endSteps(ErrStopped)
	r.Core.Stop()
	r.hand(now)
	steps.Lap("cut")
	if err := r.makeDurable(end, handed); err != nil {
		return err
	}
	steps.Lap("journal")
	patience := flushOutbox
	if handed {
		patience = handOutbox
	}
	r.flush(end, patience)
	steps.Lap("deliveries")
	if err := r.join(end); err != nil {
		return err
	}
	steps.Lap("commit_under_way")
	err := r.lastCommit(end)
	steps.Lap("last_commit")
	return err
}

// timeLeft is what the shutdown has. The stop itself is what ended ctx; the clean-up outlives it.
func (r *Reactor) timeLeft(ctx context.Context) (context.Context, context.CancelFunc) {
	if r.Shutdown != nil {
		return context.WithCancel(r.Shutdown())
	}
	return context.WithTimeout(context.WithoutCancel(ctx), shutdownTime)
}

// leaveOutboxes has no more deliveries begun from outboxes.
func (r *Reactor) leaveOutboxes() {
	for _, w := range r.Writers {
		if w != nil && w.FromOutbox() {
			w.Leave()
		}
	}
}

// flush lets the writers deliver what they have, in half of the time that is left: the last
// checkpoint needs some too. What is in outboxes has as long as patience. Dead letters that they make meanwhile are
// taken in.
func (r *Reactor) flush(end context.Context, patience time.Duration) {
	for _, w := range r.Writers {
		if w != nil {
			w.CloseWhenEmpty()
		}
	}
	if r.Flush == nil {
		return
	}
	ctx, cancel := end, context.CancelFunc(func() {})
	if at, ok := end.Deadline(); ok {
		ctx, cancel = context.WithTimeout(end, time.Until(at)/2)
	}
	defer cancel()
	flushed := make(chan struct{})
	go func() {
		defer close(flushed)
		r.Flush(ctx)
	}()
	soon := time.NewTimer(patience)
	defer soon.Stop()
	for {
		select {
		case <-flushed:
			r.drainRefused()
			return
		case f := <-r.refused:
			r.deadLetter(f)
		case <-soon.C:
			for _, w := range r.Writers {
				if w != nil && w.FromOutbox() {
					w.GiveUp()
				}
			}
		}
	}
}

// makeDurable makes durable what the sinks may not have before, so that the flush takes it along:
// what follows from the journal, and what waits for an outbox. What is handed over another daemon delivers: that is in
// the last commit.
func (r *Reactor) makeDurable(ctx context.Context, handed bool) error {
	if r.held || !r.Core.Config().Journal && !r.Core.Holding() {
		return nil
	}
	if err := r.join(ctx); err != nil {
		return err
	}
	if err := r.writeOut(ctx); err != nil {
		return err
	}
	if r.Core.Holding() && !handed {
		return r.commitNow(ctx, false)
	}
	return nil
}

// join waits for what is on its way to the store.
func (r *Reactor) join(ctx context.Context) error {
	for r.pipe.inflight || r.inflight != nil && r.inflight.launched {
		select {
		case done := <-r.commits:
			if err := r.commitDone(done); err != nil {
				return err
			}
		case done := <-r.pipe.appends:
			if err := r.appendDone(done, r.Clock.Now()); err != nil {
				return err
			}
		case <-ctx.Done():
			return errors.New(
				"shutdown: what was on its way to the store did not come back in time; the next start goes on " +
					"from the last checkpoint")
		}
	}
	return nil
}

// writeOut appends what is logged, and lets go of what follows from it.
func (r *Reactor) writeOut(ctx context.Context) error {
	for r.Core.Logged() || len(r.pipe.unsent) > 0 {
		r.pipe.retryAt = time.Time{}
		r.write(r.Clock.Now())
		if err := r.join(ctx); err != nil {
			return err
		}
		if why := r.persist[journalFails].Detail; why != "" {
			return fmt.Errorf("shutdown: %s", why)
		}
	}
	return r.join(ctx) // a seal that waited for the journal
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
		delivered, discard := r.delivered(), r.discardable()
		r.drainRefused() // dead letters of the last flush
		s := &flight{Seal: r.Core.Seal(r.engine(r.Clock.Now())), settled: settled, delivered: delivered,
			discard: discard, received: r.received()}
		r.carry(s)
		c := s.Commit()
		c.Seq, c.Proven, c.Delivered, c.Discard = r.seq+1, s.settled, s.delivered, s.discard
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
		return r.relinquish(ctx)
	}
	if err := r.writeOut(ctx); err != nil {
		return err
	}
	r.drainRefused()
	if r.Core.Changed() || len(r.waiters) > 0 || r.unmarked() {
		err := r.commitNow(ctx, true)
		r.answer(func(waiter) bool { return true }, err)
		if err != nil {
			return err
		}
	}
	r.Inbox.Journaled(r.Inbox.Drained())
	return r.relinquish(ctx)
}

// relinquish says that the graph stopped cleanly.
func (r *Reactor) relinquish(ctx context.Context) error {
	if err := r.Store.Relinquish(ctx, r.Core.Config().ID, r.Core.Config().Fence); err != nil {
		return fmt.Errorf("relinquish the graph: %w", err)
	}
	return nil
}
