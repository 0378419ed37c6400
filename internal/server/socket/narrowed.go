package socket

import (
	"context"

	"github.com/graphd/graphd/internal/access"
	"github.com/graphd/graphd/internal/api"
)

// narrowed is a subscription to all graphs of a tenant by one who may know of some of them.
type narrowed struct {
	api.Subscription
	who *access.Principal
}

// Next is the next frame that may be seen.
func (n *narrowed) Next(ctx context.Context) (*api.Frame, error) {
	for {
		f, err := n.Subscription.Next(ctx)
		if err != nil {
			return nil, err
		}
		if f = n.seen(f); f != nil {
			return f, nil
		}
	}
}

// TryNext is the next frame that may be seen, of those that are ready.
func (n *narrowed) TryNext() *api.Frame {
	for {
		f := n.Subscription.TryNext()
		if f == nil {
			return nil
		}
		if f = n.seen(f); f != nil {
			return f
		}
	}
}

// seen is f as it may be seen, nil where it may not. A gap may be of several graphs and carries the
// name of the first: of one that may not be named it says only that there is a gap.
func (n *narrowed) seen(f *api.Frame) *api.Frame {
	switch {
	case n.who.Sees(f.Graph):
		return f
	case f.Type == "gap":
		return &api.Frame{Type: "gap"}
	}
	return nil
}
