package socket

import (
	"context"

	"github.com/graphd/graphd/internal/access"
	"github.com/graphd/graphd/internal/api"
)

// filtered is a subscription of which not every frame is for who watches: keep is the frame as it is told, nil where
// it is not.
type filtered struct {
	api.Subscription
	keep func(f *api.Frame) *api.Frame
}

// Next is the next frame that is told.
func (n *filtered) Next(ctx context.Context) (*api.Frame, error) {
	for {
		f, err := n.Subscription.Next(ctx)
		if err != nil {
			return nil, err
		}
		if f = n.keep(f); f != nil {
			return f, nil
		}
		if ctx.Err() != nil { // who watches has gone, and frames that are ready need no wait
			return nil, context.Cause(ctx)
		}
	}
}

// TryNext is the next frame that is told, of some that are ready: what there is to send does not wait for long.
func (n *filtered) TryNext() *api.Frame {
	for range maxBurst {
		f := n.Subscription.TryNext()
		if f == nil {
			return nil
		}
		if f = n.keep(f); f != nil {
			return f
		}
	}
	return nil
}

// narrowed keeps of a subscription to all graphs of a tenant what is of those that somebody may know of. A gap may be
// of several graphs and carries the name of the first: of one that may not be named it says only that there is a gap.
func narrowed(who *access.Principal) func(*api.Frame) *api.Frame {
	return func(f *api.Frame) *api.Frame {
		switch {
		case who.Sees(f.Graph):
			return f
		case f.Type == "gap":
			return &api.Frame{Type: "gap"}
		}
		return nil
	}
}
