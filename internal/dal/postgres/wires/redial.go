package wires

import (
	"context"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"time"
)

// Redialer opens connections; after a failure the next attempts wait a random while that
// grows to two seconds, so that a database that comes back is not met by all at once.
// Safe for concurrent use.
type Redialer struct {
	// Lines has the open ones.
	Lines  *Lines
	Opens  func(ctx context.Context, network, addr string) (net.Conn, error)
	failed atomic.Int32
}

// Dial opens one.
func (r *Redialer) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if n := min(r.failed.Load(), 6); n > 0 {
		most := min(50*time.Millisecond<<n, 2*time.Second)
		timer := time.NewTimer(rand.N(most))
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	c, err := r.Opens(ctx, network, addr)
	if err != nil {
		r.failed.Add(1)
		return nil, err
	}
	r.failed.Store(0)
	return r.Lines.Add(c), nil
}
