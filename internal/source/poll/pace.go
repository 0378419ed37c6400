package poll

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
)

// failure is a poll that failed. Its text holds no URL, header, password or body.
type failure struct {
	text  string
	after time.Duration // what the server asked for
}

func (f *failure) Error() string { return f.text }

// errMore says that a poll succeeded and left something to be read at once.
var errMore = errors.New("there is more to read")

// pacer polls at a cadence, tries again after failures, and tells how it goes.
type pacer struct {
	every  time.Duration
	failed int // polls in a row that failed
	health accumulator.Health
}

// run polls until ctx is done, which is no error.
func (p *pacer) run(ctx context.Context, out accumulator.Out, once func(context.Context, accumulator.Out) error) error {
	for ctx.Err() == nil {
		began := time.Now()
		err := once(ctx, out)
		if ctx.Err() != nil {
			return nil
		}
		wait := time.Until(began.Add(p.every))
		switch failed, ok := errors.AsType[*failure](err); {
		case ok:
			p.failed++
			p.say(out, accumulator.Disconnected, failed.text)
			wait = max(p.pause(rand.Float64()), failed.after)
		case errors.Is(err, errMore):
			wait = 0
			fallthrough
		case err == nil:
			p.succeeded(out)
			accumulator.CaughtUp(out, "", err == nil)
		default:
			return err
		}
		sleep(ctx, wait)
	}
	return nil
}

// succeeded tells that a poll has.
func (p *pacer) succeeded(out accumulator.Out) {
	p.failed = 0
	p.say(out, accumulator.Live, "")
}

// say tells a change of health. A lost connection tells each new reason.
func (p *pacer) say(out accumulator.Out, h accumulator.Health, detail string) {
	if p.health != h || detail != "" {
		p.health = h
		out.Health(h, detail)
	}
}

// Pauses after failures: from a second, or the cadence where that is shorter, doubling up to
// a minute, or the cadence where that is longer.
const (
	minPause = time.Second
	maxPause = time.Minute
)

// pause is how long to wait after so many failures in a row, for a random number in [0, 1):
// between half and all of the backoff, so that sources that failed together spread out and
// none hurries.
func (p *pacer) pause(random float64) time.Duration {
	least, most := min(minPause, p.every), max(maxPause, p.every)
	pause := most
	if doublings := p.failed - 1; doublings < 32 {
		pause = min(least<<doublings, most)
	}
	return pause/2 + time.Duration(random*float64(pause/2))
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
