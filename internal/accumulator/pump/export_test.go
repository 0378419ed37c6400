package pump

import (
	"context"

	"github.com/graphd/graphd/internal/boundary"
)

// Push is Submit, and waits.
func (d *Deal) Push(ctx context.Context, events []boundary.Event) (PushOutcome, error) {
	for {
		wait, idle := d.Submit(ctx, events, &Reach{})
		if idle == nil {
			return wait(ctx)
		}
		select {
		case <-idle:
		case <-ctx.Done():
			return PushOutcome{Full: true}, context.Cause(ctx)
		}
	}
}
