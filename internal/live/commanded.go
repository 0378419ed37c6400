package live

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/graphd/graphd/internal/reactor"
)

// fireFunc makes an epoch on command.
type fireFunc = func(now time.Time) (reactor.FireResult, error)

func (r *Reactor) commandedEpoch(ctx context.Context, fire fireFunc) (reactor.FireResult, error) {
	if limit := r.Core.Config().EpochTimeout; r.desk != nil && limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, fmt.Errorf("%w, and none came within %s",
			reactor.ErrUnanswered, limit))
		defer cancel()
	}
	for {
		t, err := ask(ctx, r, func(now time.Time) (t tried, err error) {
			if r.flow != nil {
				now = r.flow.Begun()
			}
			if t.FireResult, err = fire(now); errors.Is(err, reactor.ErrUnanswered) {
				t.changed, err = r.desk.Changed(), nil // as of now, or an answer could be missed
				r.desk.Place(r.Core.Asked())
			}
			return t, err
		})
		if err != nil {
			return t.FireResult, err
		}
		if t.changed == nil {
			return t.FireResult, r.Journaled(ctx)
		}
		select {
		case <-t.changed:
		case <-r.stopped:
			return t.FireResult, ErrStopped
		case <-ctx.Done():
			return t.FireResult, context.Cause(ctx)
		}
	}
}

// tried is what a try of a commanded epoch came to: changed is closed when there is an answer that it waits for.
type tried struct {
	reactor.FireResult
	changed <-chan struct{}
}
