package live

import (
	"context"
	"time"

	"github.com/graphd/graphd/internal/rest"
)

// restAfter is how long a reactor must have had nothing to do, and be going to have, before it lets its goroutine go:
// between two events of a busy graph a goroutine that waits is the cheaper one.
const restAfter = 2 * time.Second

// never is for how long a reactor sleeps for which nothing is due.
const never = 100 * 365 * 24 * time.Hour

// calm says that a reactor that is to sleep for so long may rest: nothing comes to it but what rings for it. Under the
// event clock it watches its sources.
func (r *Reactor) calm(sleep time.Duration) bool {
	return sleep >= restAfter && r.flow == nil && !r.held && !r.queues &&
		r.inflight == nil && !r.pipe.inflight && r.care.asking == 0
}

// rest is the answer of a reactor that has nothing to do for so long.
func (r *Reactor) rest(ctx context.Context, sleep time.Duration) error {
	if sleep == never {
		sleep = 0 // what wakes it rings
	}
	return &rest.Rest{
		Ctx: ctx, For: sleep,
		Arm: func(ring func()) {
			r.Inbox.bell.Hang(ring)
			if len(r.Inbox.wake) > 0 || len(r.room) > 0 || len(r.commands) > 0 || r.Term.Err() != nil {
				ring()
			}
		},
		Resume: func() error { r.Inbox.bell.Take(); return r.work(ctx) },
	}
}

// wait waits until there may be something to do.
func (r *Reactor) wait(ctx context.Context, alarm <-chan time.Time) error {
	select {
	case <-ctx.Done():
	case <-r.Term.Done():
	case <-r.Inbox.wake:
	case <-r.room:
	case <-alarm:
	case c := <-r.commands:
		now := r.Clock.Now()
		r.shown.turn.Store(now.UnixNano())
		work := r.Hands.Begin()
		r.admit(now)
		r.carryOut(c, now)
		r.Meter.Worked(r.Core.Config().ID.Shard, work.Took())
	case done := <-r.commits:
		return r.commitDone(done)
	case done := <-r.pipe.appends:
		return r.appendDone(done, r.Clock.Now())
	case err := <-r.care.answered:
		return r.noted(err, r.Clock.Now())
	}
	return nil
}
