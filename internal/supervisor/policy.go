package supervisor

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/cenkalti/backoff/v4"
)

// jitter spreads every pause by up to this share either way, so that pieces that
// failed together do not come back together.
const jitter = 0.2

// Policy says how often and after what pauses a failing piece is restarted (M36).
// There are no implied values: start from [DefaultPolicy].
type Policy struct {
	// Attempts is how many restarts are tried in a row; the failure after them gives
	// up. 0 gives up at the first failure.
	Attempts int
	// Base is the first pause; each further one is twice as long, up to Max.
	Base, Max time.Duration
	// Reset is how long a piece must run for its earlier failures to be forgotten.
	Reset time.Duration
	// Rand draws the jitter, from [0, 1); 0.5 is none. Nil is the process's own generator.
	Rand func() float64
}

// DefaultPolicy is five restarts after pauses of 1, 2, 4, 8 and 16 seconds, capped
// at a minute, forgotten after a minute of success.
func DefaultPolicy() Policy {
	return Policy{Attempts: 5, Base: time.Second, Max: time.Minute, Reset: time.Minute}
}

// Validate reports every value that makes no sense.
func (p Policy) Validate() error {
	var errs []error
	if p.Attempts < 0 {
		errs = append(errs, fmt.Errorf("attempts is %d; it must be 0 or more", p.Attempts))
	}
	if p.Base <= 0 {
		errs = append(errs, fmt.Errorf("base is %v; it must be longer than 0", p.Base))
	}
	if p.Max < p.Base {
		errs = append(errs, fmt.Errorf("max is %v; it must be at least base, %v", p.Max, p.Base))
	}
	if p.Reset <= 0 {
		errs = append(errs, fmt.Errorf("reset is %v; it must be longer than 0", p.Reset))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("restart policy: %w", err)
	}
	return nil
}

// pauses is the sequence of pauses of one piece.
type pauses struct {
	policy   Policy
	interval backoff.ExponentialBackOff
}

func newPauses(p Policy) *pauses {
	if p.Rand == nil {
		p.Rand = rand.Float64
	}
	ps := &pauses{policy: p, interval: backoff.ExponentialBackOff{
		InitialInterval: p.Base,
		MaxInterval:     p.Max,
		Multiplier:      2,
		// The library draws its jitter from the process's generator, which a test cannot
		// set; it is added in next instead.
		RandomizationFactor: 0,
		MaxElapsedTime:      0, // giving up is counted in attempts, not in time
		Stop:                backoff.Stop,
		Clock:               backoff.SystemClock,
	}}
	ps.interval.Reset()
	return ps
}

func (p *pauses) next() time.Duration {
	d := p.interval.NextBackOff()
	spread := 1 + jitter*(2*p.policy.Rand()-1)
	return min(time.Duration(float64(d)*spread), p.policy.Max)
}
