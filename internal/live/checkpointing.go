package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/sink"
)

// complainEvery is how often failing checkpoints are logged; health says it all the time.
const complainEvery = time.Minute

// flight is a seal on its way to the store, and what goes with it.
type flight struct {
	*reactor.Seal
	launched  bool // it is with the store
	settled   bool // the start counts as good once it is committed (M43)
	tried     bool // no epoch has come of what was noted, and it covers what has (M43)
	delivered []checkpoint.Delivered
	discard   []string       // dead letters whose replay it covers
	received  []int64        // how many events of each input it covers
	late      []sink.Message // refused since the seal was made: their letters go with the next
}

type committed struct {
	seal  *flight
	err   error
	took  time.Duration
	bytes int64
}

// waiter is somebody who waits for a commit to cover what he has seen.
type waiter struct {
	from int64 // the first commit sequence that covers it
	done chan error
}

// CheckpointStatus is where the durable state stands. One that is published is not to be changed.
type CheckpointStatus struct {
	Epoch int64
	At    time.Time // zero before the first of all
	// Took is how long commits took, Bytes what the last one wrote, Failed how many did not succeed.
	// Received is how many events of each input it covers.
	Received []int64
	Took     reactor.Histogram
	Bytes    int64
	Failed   int64
	// Journaled is how long appends to the journal took, JournalFailed how many did not succeed.
	Journaled     *reactor.Histogram // nil before the first
	JournalFailed int64
}

// seal starts a checkpoint when one is due and none is in flight: the reactor goes on while it is written (M28).
func (r *Reactor) seal(now time.Time) {
	if r.held {
		return
	}
	if r.Core.DeadLettersPending() >= sealLetters {
		r.sealNow = true
	}
	if r.inflight != nil || !r.due(now) {
		return
	}
	settle := !r.proven && now.Sub(r.started) >= provenAfter
	if !r.Core.Changed() && !settle && len(r.waiters) == 0 && !r.unmarked() {
		r.nextSeal = now.Add(r.Interval)
		return // sealNow stays: it is for the next change
	}
	if why := r.Core.Blocked(); why != "" {
		r.persistError(rowsBlock, why, nil)
		r.answer(func(waiter) bool { return true }, errors.New(why))
		r.lingerTo, r.nextSeal = now.Add(r.Interval), now.Add(r.Interval)
		return
	}
	r.sealNow, r.lingerTo = false, time.Time{}
	r.nextSeal = now.Add(r.Interval)
	delivered, discard := r.delivered(), r.discardable()
	r.drainRefused() // the dead letters of what counts as delivered are in the same commit
	r.settle()
	s := &flight{Seal: r.Core.Seal(r.engine(now)), settled: settle, delivered: delivered, discard: discard,
		received: r.received()}
	s.tried = r.care.turnedDown(s.Epoch)
	r.inflight, r.sealedTo = s, s.Epoch
	r.launch()
}

// received is how many events each input has received.
func (r *Reactor) received() []int64 {
	all := make([]int64, len(r.Core.Config().Inputs))
	for i := range all {
		all[i] = r.Core.Books(i).Received
	}
	return all
}

// due reports whether a checkpoint should start: the interval is over, somebody asked, or
// values wait in the core that only a commit lets out.
func (r *Reactor) due(now time.Time) bool {
	if r.sealNow || !now.Before(r.nextSeal) {
		return true
	}
	if !r.Core.Holding() {
		return false
	}
	if r.lingerTo.IsZero() {
		r.lingerTo = now.Add(linger)
	}
	return !now.Before(r.lingerTo) || r.persist[checkpointFails].Detail == "" &&
		r.Core.Epoch()-r.sealedTo >= lingerEpochs
}

// launch sends the seal in flight to the store once the journal is as far: the commit removes what it covers.
func (r *Reactor) launch() {
	s := r.inflight
	if s == nil || s.launched || r.Core.Config().Journal && r.pipe.durable < s.JournalTo() {
		return
	}
	s.launched = true
	r.carry(s)
	if r.commits == nil {
		r.commits = make(chan committed, 1)
	}
	r.spawn(func() {
		done := committed{seal: s}
		began := time.Now()
		done.err = protect(func() error {
			c := s.Commit()
			c.Seq, c.Proven, c.Tried, c.Delivered, c.Discard = r.seq+1, s.settled, s.tried, s.delivered, s.discard
			done.bytes = size(c)
			// A stop does not cut a commit short: its outcome would be unknown.
			ctx, cancel := r.reach.Within(r.Term, commitTimeout)
			defer cancel()
			if r.disowned() {
				return ErrDisowned
			}
			r.Fail.Hit("commit_sent")
			err := r.Store.Commit(ctx, c)
			r.Fail.Hit("commit_acknowledged")
			return err
		})
		done.took = time.Since(began)
		r.commits <- done
	})
}

// protect calls f and turns a panic into an error. Beside the reactor nobody else would
// catch it, and one graph's values must not end the daemon (M35).
func protect(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &accumulator.PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return f()
}

// carry puts into the commit what is on the direct path and not through: the checkpoint covers its epoch, so
// nothing else would bring it back after a crash. So it goes with what was refused since the seal was made. A
// writer gives its letter before it counts a message as through; therefore the refused ones are looked at last.
func (r *Reactor) carry(s *flight) {
	var list []sink.Message
	for i, w := range r.Writers {
		if w != nil {
			list = append(list, w.Undelivered(r.carried[i], s.Numbered(i))...)
		}
	}
	s.late = append(s.late, r.drainRefused()...)
	for _, m := range s.late {
		if w := r.Writers[m.To]; !w.FromOutbox() && m.Seq > r.carried[m.To] && m.Seq <= s.Numbered(m.To) {
			list = append(list, m)
		}
	}
	slices.SortFunc(list, inOrder)
	if !r.Core.Config().Forgetful {
		s.Carry(slices.CompactFunc(list, func(a, b sink.Message) bool { return inOrder(a, b) == 0 }))
	}
}

func inOrder(a, b sink.Message) int {
	return cmp.Or(cmp.Compare(a.To, b.To), cmp.Compare(a.Seq, b.Seq))
}

// delivered are the outbox entries that are through since the last commit said so.
func (r *Reactor) delivered() (marks []checkpoint.Delivered) {
	marks = append(marks, r.Drop...)
	for i := range r.Writers {
		if n, ok := r.throughNow(i); ok {
			marks = append(marks, checkpoint.Delivered{Output: r.Core.Config().Outputs[i], UpTo: n})
		}
	}
	return marks
}

// throughNow is the last message of output i that is through; ok is false when no stored entry is done with.
func (r *Reactor) throughNow(i int) (seq int64, ok bool) {
	w := r.Writers[i]
	if w == nil {
		return 0, false
	}
	seq = w.Delivered()
	if !w.FromOutbox() { // on the direct path there are only those that a commit carried
		return seq, r.marked[i] < r.carried[i] && seq > r.marked[i]
	}
	return seq, seq > r.marked[i]
}

// unmarked reports whether a commit could remove entries from the store.
func (r *Reactor) unmarked() bool {
	if len(r.Drop) > 0 || len(r.discardable()) > 0 {
		return true
	}
	for i := range r.Writers {
		if _, ok := r.throughNow(i); ok {
			return true
		}
	}
	return false
}

// committedAll lets out what a good commit has made durable.
func (r *Reactor) committedAll(s *flight) {
	r.sealing(func(c *CheckpointStatus) { c.Received = s.received })
	for _, d := range s.delivered {
		for i, name := range r.Core.Config().Outputs {
			if name == d.Output {
				r.marked[i] = d.UpTo
			}
		}
	}
	r.Drop = nil
	r.discarded(s.discard)
	for _, m := range s.Carried() {
		r.carried[m.To] = m.Seq
	}
	if r.Mirror != nil {
		r.Fail.Hit("offset_mirror")
		s.Positions(r.Mirror)
	}
	s.Outbox(func(m *sink.Message) { r.out = append(r.out, *m) })
	r.give(r.out)
	clear(r.out)
	r.out = r.out[:0]
}

func size(c *checkpoint.Commit) (n int64) {
	for i := range c.Cells {
		n += int64(len(c.Cells[i].Data))
	}
	return n + int64(len(c.Meta))
}

// final says of the store's answer that the run must end with it. So it must after a panic:
// whether the call was sent is not known, and what memory holds is not to be trusted.
func final(err error) bool {
	if caught := (*accumulator.PanicError)(nil); errors.As(err, &caught) {
		return true
	}
	return errors.Is(err, checkpoint.ErrFenced) || errors.Is(err, checkpoint.ErrUnknownOutcome) ||
		errors.Is(err, ErrDisowned)
}

// commitDone takes in the outcome of the commit in flight.
func (r *Reactor) commitDone(done committed) error {
	s := done.seal
	r.inflight, r.shown.stirred = nil, true // what is held, and how far the store is
	r.giveTurn()                            // also when the commit failed: others must not wait for this one's rows
	if final(done.err) {
		// Neither may be sent again: memory is discarded, and the supervisor reloads.
		return fmt.Errorf("checkpoint of epoch %d: %w", s.Epoch, done.err)
	}
	r.Core.Sealed(s.Seal, done.err)
	if done.err != nil {
		r.sealing(func(c *CheckpointStatus) { c.Failed++ })
		if s.Refused() >= 0 {
			r.sealNow = true // the row is a dead letter now: the commit goes again without it
			return nil
		}
		r.lingerTo, r.nextSeal = r.Clock.Now().Add(r.Interval), r.Clock.Now().Add(r.Interval)
		r.persistError(checkpointFails, "checkpoints cannot be written: ", done.err)
		if now := r.Clock.Now(); now.Sub(r.complained) >= complainEvery {
			r.complained = now
			r.Log.Warn("checkpoints fail; they are tried again at each interval", "epoch", s.Epoch, "failed",
				r.sealed.Failed, "err", done.err)
		}
		r.answer(func(waiter) bool { return true }, done.err)
		return nil
	}
	r.seq++
	r.sealing(func(c *CheckpointStatus) {
		c.Epoch, c.At, c.Bytes = s.Epoch, s.At(), done.bytes
		c.Took.Observe(done.took)
	})
	r.Meter.Wrote(r.Core.Config().ID.Shard, done.bytes)
	if r.Committed != nil {
		r.Committed(s.Epoch, done.took)
	}
	if !r.complained.IsZero() {
		r.complained = time.Time{}
		r.Log.Info("checkpoints are written again", "epoch", s.Epoch)
	}
	r.persistError(checkpointFails, "", nil)
	r.persistError(rowsBlock, "", nil)
	r.pipe.since = 0
	r.committedAll(s)
	r.progress(s)
	if s.settled {
		r.proven = true
	}
	r.answer(func(w waiter) bool { return w.from <= r.seq }, nil)
	return nil
}

func (r *Reactor) answer(whom func(waiter) bool, err error) {
	kept := r.waiters[:0]
	for _, w := range r.waiters {
		if whom(w) {
			w.done <- err
		} else {
			kept = append(kept, w)
		}
	}
	r.waiters = kept
}

// Durable waits until a checkpoint covers everything the core holds now, and answers with the epoch covered.
func (r *Reactor) Durable(ctx context.Context) (epoch int64, err error) {
	w := waiter{done: make(chan error, 1)}
	epoch, err = ask(ctx, r, func(time.Time) (int64, error) {
		w.from = r.seq + 1
		if r.inflight != nil {
			w.from++ // the one in flight was sealed before
		}
		r.waiters = append(r.waiters, w)
		r.sealNow = true
		return r.Core.Epoch(), nil
	})
	if err != nil {
		return 0, err
	}
	select {
	case err := <-w.done:
		return epoch, err
	case <-r.stopped:
		return 0, ErrStopped
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

// sealing changes where the durable state stands: in another copy, for views have the one there is.
func (r *Reactor) sealing(change func(c *CheckpointStatus)) {
	next := *r.sealed
	change(&next)
	r.sealed = &next
}
