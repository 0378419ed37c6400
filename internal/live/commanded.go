package live

import (
	"context"
	"time"

	"github.com/graphd/graphd/internal/live/calls"
	"github.com/graphd/graphd/internal/reactor"
)

// commandedEpoch has an epoch made, and waits until it has run and, if there is a journal, is in that.
func (r *Reactor) commandedEpoch(ctx context.Context, fire calls.Fire) (reactor.FireResult, error) {
	c := r.desk.Command(ctx, fire)
	defer c.End()
	err := r.send(c.Context(), command{caller: c.Context(), run: func(now time.Time) {
		if r.flow != nil {
			now = r.flow.Begun()
		}
		c.Try(now)
	}})
	if err != nil {
		return reactor.FireResult{}, err
	}
	res, err := c.Await(r.stopped, ErrStopped)
	if err != nil {
		return res, err
	}
	return res, r.Journaled(ctx)
}
