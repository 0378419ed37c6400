// Package mirror tells others how far a source has come, at a pace that they can bear: checkpoints come as often as
// outputs have to leave, and what is told of each costs a broker a record for every partition.
package mirror

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/kafkanet"
)

// every is how long a mirror rests after it has told somebody.
const every = time.Second

// Mirror is told what is durable, and tells it. The zero Mirror is not ready for use: see [New].
type Mirror struct {
	mu     sync.Mutex
	newest func() []boundary.Position
	wake   chan struct{} // capacity 1: "there is a newer one"
}

// New makes a Mirror.
func New() *Mirror { return &Mirror{wake: make(chan struct{}, 1)} }

// Durable says that there is more, and where it can be asked for; see [accumulator.Mirror].
func (m *Mirror) Durable(at func() []boundary.Position) {
	m.mu.Lock()
	m.newest = at
	m.mu.Unlock()
	select {
	case m.wake <- struct{}{}:
	default: // the newest is what counts
	}
}

// Run has tell tell the newest positions until ctx is done: once a second at most, none twice, and again where it
// could not be done. Nobody waits for it: what was told may be behind what is durable, never ahead.
func (m *Mirror) Run(ctx context.Context, tell func(context.Context, []boundary.Position) error) {
	var last []boundary.Position
	for failures := 0; ; {
		if failures == 0 {
			select {
			case <-m.wake:
			case <-ctx.Done():
				return
			}
		}
		m.mu.Lock()
		newest := m.newest
		m.mu.Unlock()
		at, rest := newest(), every
		switch {
		case len(at) == 0 || slices.Equal(at, last):
			failures = 0
		case tell(ctx, at) != nil:
			failures++
			rest = kafkanet.Backoff(failures)
		default:
			last, failures = slices.Clone(at), 0
		}
		select {
		case <-time.After(rest):
		case <-ctx.Done():
			return
		}
	}
}
