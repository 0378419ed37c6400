package live

import (
	"context"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
)

// Feed gives events to the input of a stage beside those of its node, and answers what became of
// them when the journal, if there is one, has them.
func (r *Reactor) Feed(ctx context.Context, i int, events []boundary.Event) ([]accumulator.Outcome, error) {
	out, err := ask(ctx, r, func(now time.Time) (out []accumulator.Outcome, err error) {
		if r.flow != nil {
			now = r.flow.Begun()
		}
		for k := range events {
			out = append(out, r.Core.Feed(now, i, &events[k]))
		}
		return out, nil
	})
	if err != nil {
		return nil, err
	}
	return out, r.Journaled(ctx)
}
