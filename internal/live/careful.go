package live

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
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

// caution is how a reactor goes on after an owner that did not stop cleanly (M43). Before an
// epoch is tried, the ledger notes it; the commit after it is progress, and makes the note
// void. One epoch is tried before the first commit, two before the next, and so on: what took
// the process down is found, and what did not is soon back at its pace. The first epoch of
// each graph is tried alone in the process, so that the death of the process is nobody else's.
// Without anything to try nothing is noted.
type caution struct {
	on       bool
	limit    int64     // epochs that may run before a commit
	left     int64     // of those, what may still run
	noted    int64     // the first of them, which the ledger has; 0 for none
	asking   int64     // the epoch whose note is on its way; 0 for none
	since    time.Time // when the wait for a turn began
	place    bool      // in Careful
	retryAt  time.Time
	failed   bool       // the last note did
	answered chan error // capacity 1: one note at a time
}

func newCaution(head *checkpoint.Head) caution {
	return caution{on: !head.Clean, limit: 1, left: 1, answered: make(chan error, 1)}
}

// carefully is how many epochs may run now, when the criteria hold. It notes the first of them
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
	c.asking = epoch
	id, fence := r.Core.Config().ID, r.Core.Config().Fence
	r.spawn(func() {
		c.answered <- protect(func() error {
			ctx, cancel := context.WithTimeout(r.reach, noteTimeout)
			defer cancel()
			if r.disowned() {
				return ErrDisowned
			}
			_, err := r.Ledger.Attempt(ctx, id, fence, epoch)
			return err
		})
	})
}

// turnToTry takes the process's one place for a first epoch, or says that it is taken.
func (r *Reactor) turnToTry(now time.Time) bool {
	c := &r.care
	if c.limit > 1 || c.place {
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
	c.retryAt = now.Add(carefulWait / 10)
	return false
}

// noted takes in what became of a note.
func (r *Reactor) noted(err error, now time.Time) error {
	c := &r.care
	epoch := c.asking
	c.asking = 0
	switch {
	case err == nil:
		c.noted = epoch
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

// tried counts epochs that have run, and asks for the commit when it is time for it. A cut that
// a guard has turned down is none.
func (r *Reactor) tried(epochs int64) {
	c := &r.care
	if !c.on {
		return
	}
	if c.left -= epochs; c.left <= 0 {
		r.sealNow = true
	}
}

// progress takes in that a commit covers what was tried.
func (r *Reactor) progress(epoch int64) {
	c := &r.care
	if !c.on || c.noted == 0 || epoch < c.noted {
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
		r.Careful.leave()
	}
}
