package lease

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// ErrLost ends a term, and the runs under it.
var ErrLost = errors.New("this daemon's lease has expired: another one may run its graphs")

// Term is the time from the making of this daemon's lease to its loss. What runs under a
// term sends nothing out when it is over (M45).
type Term struct {
	ctx   context.Context
	end   context.CancelCauseFunc
	mono  func() time.Duration
	until atomic.Int64 // on mono
}

// Holds says whether the term is not over. It looks at the clock: a process that was stopped
// and goes on knows it with its first look, before any timer has fired.
func (t *Term) Holds() bool { return t.ctx.Err() == nil && int64(t.mono()) < t.until.Load() }

// left is how long the term lasts without another renewal.
func (t *Term) left() time.Duration { return time.Duration(t.until.Load()) - t.mono() }

// Context ends with the term, for good.
func (t *Term) Context() context.Context { return t.ctx }
