package lives

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/supervisor"
)

// The pauses between two tries of a store that is away: short, for most are back at once, and
// never long, for a graph is to go on soon after the store does.
const (
	awayBase = 100 * time.Millisecond
	awayMax  = 4 * time.Second
	// awayForgotten is how long a run must live for the next pause to be a short one again.
	awayForgotten = 10 * time.Second
)

// storeAway says that a run ended, or could not begin, since the store was away or answered too
// late. That is no failure of the graph: it waits, and none of its restarts is used up (M35).
//
// A run that failed by itself has failed, whatever the store said to its stop.
func storeAway(err error) bool {
	return checkpoint.Ailment(err) != "" && classify(err) == supervisor.Restart && !panicked(err)
}

func panicked(err error) bool {
	if _, ok := errors.AsType[*accumulator.PanicError](err); ok {
		return true
	}
	_, ok := errors.AsType[*supervisor.PanicError](err)
	return ok
}

// away counts the tries of a store that is away, for one graph.
type away struct {
	tries   int
	waiting bool // health says what is waited for
}

// lived notes how long a run had the store.
func (a *away) lived(d time.Duration) {
	a.waiting = false // the run has shown its own health since
	if d >= awayForgotten {
		a.tries = 0
	}
}

// pause is how long to wait before the next try: it doubles, and is spread by a fifth either way,
// so that a daemon's graphs do not come back all together.
func (a *away) pause() time.Duration {
	d := min(awayBase<<min(a.tries, 16), awayMax)
	a.tries++
	return time.Duration(float64(d) * (0.8 + 0.4*rand.Float64()))
}

// isShown says that health tells already what is waited for; standing by shows something else.
func (s *Shard) isShown(a *away) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return a.waiting && s.health == reactor.HealthStarting
}

// awaitStore shows that the graph waits for the store, and waits for the next try of it.
func (s *Shard) awaitStore(ctx context.Context, a *away, err error) {
	pause := a.pause()
	s.SetHealth(reactor.HealthStarting, checkpoint.Ailment(err), "the graph waits for its store, and goes on from its "+
		"checkpoint when that is back: "+err.Error())
	if !a.waiting {
		a.waiting = true
		s.log().Warn("the graph waits for its store", "graph", s.ref.Name, "tenant", s.ref.Tenant, "err", err)
	}
	wait(ctx, pause)
}

// wait waits for so long, or until ctx is done.
func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
