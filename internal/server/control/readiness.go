package control

import (
	"context"
	"sync"
	"time"
)

// readyFor is how long one look at the store answers for others: who asks needs no token. readyWithin bounds it.
const readyFor, readyWithin = 100 * time.Millisecond, 5 * time.Second

// Readiness is what was last seen of it. The zero Readiness has seen nothing; it is safe for concurrent use.
type Readiness struct {
	mu  sync.Mutex // held while somebody looks: the others wait for that
	at  time.Time
	err error
}

// Of is what look says, or has said a moment ago to somebody else.
func (l *Readiness) Of(ctx context.Context, look func(context.Context) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := time.Now(); l.at.IsZero() || now.Sub(l.at) >= readyFor {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readyWithin) // it is an answer for all of them
		defer cancel()
		l.err = look(ctx)
		l.at = time.Now()
	}
	return l.err
}
