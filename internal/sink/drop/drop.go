// Package drop is the sink that takes every value and keeps none: for outputs that
// are only watched, and for measuring what everything before a sink costs.
package drop

import (
	"context"

	"github.com/graphd/graphd/internal/sink"
)

// Sink drops what it is given. Its zero value is ready for use.
type Sink struct{}

var _ sink.Sink = Sink{}

// Deliver succeeds, unless ctx is done.
func (Sink) Deliver(ctx context.Context, _ []sink.Message) error { return ctx.Err() }

// Close has nothing to do.
func (Sink) Close(context.Context) error { return nil }
