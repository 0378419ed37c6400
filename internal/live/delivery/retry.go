package delivery

import (
	"time"

	"github.com/cenkalti/backoff/v4"
)

// RetryPolicy says when deliveries are tried again. A pause is a random part of what it may
// be at most (full jitter), so that outputs which failed together do not come back together.
type RetryPolicy struct {
	// Base is the most of the first pause (50ms); it doubles up to Max (10s).
	Base, Max time.Duration
	// Attempts is how often one message is tried again before it counts as refused; 0 is
	// without end, as is a writer without DeadLetter.
	Attempts int
}

// backOff makes the pauses. The library spreads a pause evenly around its interval, by all
// of it: half the interval gives everything from nothing to the interval.
func (p RetryPolicy) backOff() *backoff.ExponentialBackOff {
	if p.Base <= 0 {
		p.Base = 50 * time.Millisecond
	}
	if p.Max <= 0 {
		p.Max = 10 * time.Second
	}
	return backoff.NewExponentialBackOff(backoff.WithInitialInterval(max(p.Base/2, 1)), backoff.WithMultiplier(2),
		backoff.WithMaxInterval(max(p.Max/2, 1)), backoff.WithRandomizationFactor(1), backoff.WithMaxElapsedTime(0))
}
