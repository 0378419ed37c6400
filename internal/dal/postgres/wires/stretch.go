package wires

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
)

// Stretch is a context that ends when nothing has come of it for a while.
type Stretch struct {
	context.Context
	end   context.CancelCauseFunc
	timer *time.Timer
	every atomic.Int64 // a time.Duration
}

// Within is ctx, ended after a time without progress with an error that says so.
func Within(ctx context.Context, d time.Duration) *Stretch {
	s := &Stretch{}
	s.every.Store(int64(d))
	s.Context, s.end = context.WithCancelCause(ctx)
	s.timer = time.AfterFunc(d, func() {
		s.end(fmt.Errorf("%w within %v: its connection was thrown away; look at the database's load and at the network",
			checkpoint.ErrSlow, time.Duration(s.every.Load())))
	})
	return s
}

// Every allows each piece of it as much from now on.
func (s *Stretch) Every(d time.Duration) {
	s.every.Store(int64(d))
	s.Progress()
}

// Progress begins the time anew.
func (s *Stretch) Progress() { s.timer.Reset(time.Duration(s.every.Load())) }

// Stop ends it.
func (s *Stretch) Stop() {
	s.timer.Stop()
	s.end(nil)
}
