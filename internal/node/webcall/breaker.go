package webcall

import (
	"context"
	"sync"
	"time"
)

// breaker says when no calls are made for a while: after so many that failed in a row, until one that is let through
// as a trial does not. The zero breaker lets all through. Safe for concurrent use.
type breaker struct {
	cfg Breaker

	mu     sync.Mutex
	failed int           // in a row
	until  time.Time     // zero while it is closed
	trial  bool          // one is on its way
	ended  chan struct{} // closed when that or a call has changed something; nil while nobody waits
}

// begin says whether a call may be made: open is that it may not. trial says that others wait for how it ends.
func (b *breaker) begin(now time.Time) (trial, open bool) {
	if b.cfg.Failures == 0 {
		return false, false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.until.IsZero():
		return false, false
	case now.Before(b.until) || b.trial:
		return false, true
	}
	b.trial = true
	return true, false
}

// end takes in how a call has ended; one that was given up says nothing.
func (b *breaker) end(now time.Time, trial, failed, givenUp bool) {
	if b.cfg.Failures == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if trial {
		b.trial = false
	}
	before := b.until
	switch {
	case givenUp:
	case !failed:
		b.failed, b.until = 0, time.Time{}
	default:
		if b.failed++; b.failed >= b.cfg.Failures && (trial || b.until.IsZero()) {
			b.until = now.Add(b.cfg.Open)
		}
	}
	if b.ended != nil && (trial || !b.until.Equal(before)) {
		close(b.ended)
		b.ended = nil
	}
}

// wait waits until it may be otherwise: until a trial may be made, or what is on its way has ended and made it so.
func (b *breaker) wait(ctx context.Context) error {
	b.mu.Lock()
	if b.ended == nil {
		b.ended = make(chan struct{})
	}
	ended := b.ended
	timer := time.NewTimer(time.Until(b.until))
	due := timer.C
	if b.trial {
		due = nil
	}
	b.mu.Unlock()
	defer timer.Stop()
	select {
	case <-due:
	case <-ended:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

func (b *breaker) isOpen(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return now.Before(b.until)
}
