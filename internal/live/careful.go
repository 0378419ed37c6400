package live

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/live/calls"
)

const (
	// carefulEpochs is from how many epochs per commit on care is over: a poisoned epoch that far
	// behind a checkpoint is found in as many starts as it takes to halve the way to it.
	carefulEpochs = 1 << 14
	// carefulWait bounds how long a graph waits for its turn to try its first epoch alone. One
	// that comes later runs beside others: it must not stand still for ever behind a slow one.
	carefulWait = 5 * time.Second
	// noteTimeout bounds one note in the ledger.
	noteTimeout = 5 * time.Second
)

// caution is how a reactor goes on after an owner that did not stop cleanly (M43). Before a
// cut is tried, the ledger notes its epoch; the commit after it is progress, and makes the note
// void, whether the guard let an epoch come of it or not. One cut is tried before the first commit,
// two before the next, and so on: what took the process down is found, and what did not is soon back
// at its pace. An epoch that was tried before, by an owner that died, is tried alone in the process, so
// that the next death is nobody else's; one that was not is tried beside others, for the graphs of an owner
// that died are to go on at once: what was tried beside the epoch that takes the process down is
// noted once for it, and is alone from then on. Without anything to try nothing is noted; a note of which nothing has
// come, for the guard waits for more, is taken back.
type caution struct {
	on       bool
	alone    bool      // the first epoch was tried before, and is tried alone
	vain     bool      // the ledger may have a note that was to be taken back
	place    bool      // in Careful
	failed   bool      // the last note did
	limit    int64     // cuts that may be tried before a commit
	left     int64     // of those, what may still be
	noted    int64     // the epoch of the first of them, which the ledger has; 0 for none
	asking   int64     // the epoch whose note is on its way; takingBack; 0 for none
	backAt   time.Time // when the next one may be taken back: a graph that always waits goes on under one note
	since    time.Time // when the wait for a turn began
	retryAt  time.Time
	turnAt   time.Time  // when to look for a place again, without having been woken for one
	answered chan error // capacity 1: one call at a time; nil before the first
}

// takingBack is the epoch of no note.
const takingBack = -1

func newCaution(head *checkpoint.Head) caution {
	return caution{on: !head.Clean, alone: head.Attempts > 0, limit: 1, left: 1}
}

// carefully is how many cuts may be tried now, when the criteria hold. It notes the first of them
// in the ledger.
func (r *Reactor) carefully(now time.Time) int {
	c := &r.care
	if r.inflight != nil || r.sealNow && r.Core.Changed() || c.left <= 0 {
		return 0
	}
	if c.noted == 0 {
		r.note(now)
	}
	if c.noted == 0 {
		return 0
	}
	return int(c.left)
}

// note sends the next epoch to the ledger, when it is this graph's turn.
func (r *Reactor) note(now time.Time) {
	c := &r.care
	epoch := r.Core.Epoch() + 1
	if r.Ledger == nil {
		c.noted = epoch
		return
	}
	if c.asking != 0 || now.Before(c.retryAt) || !r.turnToTry(now) {
		return
	}
	id, fence := r.Core.Config().ID, r.Core.Config().Fence
	r.ask(epoch, func(ctx context.Context) error {
		_, err := r.Ledger.Attempt(ctx, id, fence, epoch)
		return err
	})
}

// ask calls the ledger beside the reactor.
func (r *Reactor) ask(about int64, call func(ctx context.Context) error) {
	c := &r.care
	c.asking = about
	if c.answered == nil {
		c.answered = make(chan error, 1)
	}
	answered := c.answered
	r.spawn(func() {
		answered <- protect(func() error {
			ctx, cancel := r.reach.Within(r.Term, noteTimeout)
			defer cancel()
			if r.disowned() {
				return ErrDisowned
			}
			return call(ctx)
		})
	})
}

// inVain says that the ledger has a note, and that nothing was tried under it.
func (c *caution) inVain() bool { return c.vain || c.noted != 0 && c.left == c.limit }

// takeBack takes the note of which nothing has come out of the ledger again, when there is nothing to try, for one,
// because what its nodes call has not answered yet: what ends the process from now on is not the graph's doing.
func (r *Reactor) takeBack(now time.Time) {
	c := &r.care
	if !c.on || !c.inVain() || c.asking != 0 || now.Before(c.backAt) {
		return
	}
	if r.Core.Wants(r.engine(now)) && !r.desk.Waits() {
		return
	}
	c.noted, c.vain, c.backAt = 0, true, now.Add(r.Interval)
	if r.Ledger == nil {
		c.vain = false
		return
	}
	id, fence := r.Core.Config().ID, r.Core.Config().Fence
	r.ask(takingBack, func(ctx context.Context) error { return r.Ledger.Absolve(ctx, id, fence, fence) })
}

// scouts is how many of the next epochs may be looked at ahead, for what they will ask for. Their nodes run in that, so
// after a crash it is as many as may be tried under the note that there is, and none without one (M43).
func (r *Reactor) scouts() int {
	c := &r.care
	switch {
	case !c.on:
		return math.MaxInt
	case c.noted == 0:
		return 0
	}
	return int(c.left)
}

// foresees tells what events will call for that wait for their turn; nil for none, as after a crash: they are behind
// all that may be tried.
func (r *Reactor) foresees() calls.Foresee {
	if r.flow == nil || r.care.on {
		return nil
	}
	return r.flow.Foresee
}

// turnToTry takes the process's one place for a first epoch, or says that it is taken.
func (r *Reactor) turnToTry(now time.Time) bool {
	c := &r.care
	if c.limit > 1 || c.place || !c.alone {
		return true
	}
	if c.since.IsZero() {
		c.since = now
	}
	if r.Careful.enter(r) {
		c.place = true
		return true
	}
	if now.Sub(c.since) >= carefulWait {
		r.Careful.forget(r)
		return true
	}
	c.turnAt = now.Add(carefulWait / 10)
	return false
}

// noted takes in what became of a note, or of taking it back.
func (r *Reactor) noted(err error, now time.Time) error {
	c := &r.care
	epoch := c.asking
	c.asking = 0
	switch {
	case epoch == takingBack && (err == nil || !final(err) || errors.Is(err, checkpoint.ErrUnknownOutcome)):
		c.vain = err != nil // then it is tried again, unless there is something to note before
		r.giveTurn()
		return nil
	case epoch == takingBack:
		return fmt.Errorf("take the note of an epoch back that was not tried: %w", err)
	case err == nil:
		c.noted, c.vain = epoch, false
		if c.failed {
			c.failed = false
			r.persistError(checkpointFails, "", nil)
		}
		return nil
	case final(err) && !errors.Is(err, checkpoint.ErrUnknownOutcome): // a note may be sent twice
		return fmt.Errorf("note epoch %d before it is tried: %w", epoch, err)
	}
	c.failed = true
	c.retryAt = now.Add(r.Interval)
	r.giveTurn()
	r.persistError(checkpointFails,
		"after a crash an epoch is noted before it is tried, and the store does not take it: ", err)
	return nil
}

// tried counts cuts, and asks for the commit when it is time for it.
func (r *Reactor) tried(cuts int) {
	c := &r.care
	if !c.on {
		return
	}
	if c.left -= int64(cuts); c.left <= 0 {
		r.sealNow = true
	}
}

// turnedDown says that a commit as of epoch covers what was tried, and that no epoch has come of it.
func (c *caution) turnedDown(epoch int64) bool {
	return c.on && c.noted > epoch && c.left < c.limit
}

// progress takes in that a commit covers what was tried.
func (r *Reactor) progress(s *flight) {
	c := &r.care
	if !c.on || c.noted == 0 || s.Epoch < c.noted && !s.tried {
		return
	}
	c.limit *= 2
	c.left, c.noted = c.limit, 0
	c.on = c.limit <= carefulEpochs
}

// giveTurn lets the next graph try its first epoch.
func (r *Reactor) giveTurn() {
	if c := &r.care; c.place {
		c.place = false
		r.Careful.leave(r)
	}
}
