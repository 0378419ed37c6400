package live

import (
	"context"
	"time"

	"github.com/graphd/graphd/internal/live/calls"
	"github.com/graphd/graphd/internal/reactor"
)

// fireFunc makes an epoch on command.
type fireFunc = func(now time.Time) (reactor.FireResult, error)

// commandedEpoch has an epoch made, and waits until it has run and, if there is a journal, is in that.
func (r *Reactor) commandedEpoch(ctx context.Context, fire fireFunc) (reactor.FireResult, error) {
	c := r.desk.Command(ctx)
	defer c.End()
	for {
		t, err := ask(c.Context(), r, func(now time.Time) (t tried, err error) {
			if r.flow != nil {
				now = r.flow.Begun()
			}
			t.missed, err = c.Try(func() (err error) {
				t.FireResult, err = fire(now)
				return err
			})
			return t, err
		})
		if err == nil && t.missed == nil {
			return t.FireResult, r.Journaled(ctx)
		}
		if err == nil {
			err = c.Await(t.missed, r.stopped, ErrStopped)
		}
		if err != nil {
			return t.FireResult, c.Why(err)
		}
	}
}

// tried is what a try of a commanded epoch came to, and what it has missed; nil for nothing.
type tried struct {
	reactor.FireResult
	missed *calls.Missed
}
