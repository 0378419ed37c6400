package told

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/supervisor"
)

// Why a graph is given up; each is told by a code of its own.
var (
	ErrCrashLoop = errors.New("crash loop")
	// ErrExhausted ends a run whose accumulator was given up.
	ErrExhausted = errors.New("an accumulator was given up")
	// ErrCold ends a run whose accumulators were not healthy in time (on_warm_timeout: fail).
	ErrCold = errors.New("the accumulators were not healthy within warm_timeout")
)

// Corrupt says that what a graph has persisted cannot be read: the reactor does not
// understand it, or the store says that it is damaged.
func Corrupt(err error) bool {
	return errors.Is(err, reactor.ErrCorrupt) || errors.Is(err, checkpoint.ErrCorrupt)
}

// FailureCode is the health reason of a graph that was given up.
func FailureCode(err error) string {
	switch {
	case errors.Is(err, ErrCrashLoop):
		return "crash_loop"
	case Corrupt(err):
		return "checkpoint_corrupt"
	case errors.Is(err, reactor.ErrDealt):
		return "dealt_otherwise"
	case errors.Is(err, ErrExhausted):
		return "accumulator_failed"
	case errors.Is(err, ErrCold):
		return "warm_timeout"
	}
	return "restarts_exhausted"
}

// restartAfter stands in a health reason between the restart to come and its cause.
const restartAfter = " after: "

// Restarting is the health detail of a piece that waits to be restarted.
func Restarting(ev *supervisor.Event, cause string) string {
	return fmt.Sprintf("restart %d in %v"+restartAfter+"%s", ev.Attempt, ev.Delay.Round(time.Millisecond), cause)
}

// CauseOf is why an accumulator is in its state, without its name.
func CauseOf(a *api.AccumulatorSummary) string {
	return strings.TrimPrefix(Cause(a.HealthReason, a.Health), fmt.Sprintf("accumulator %q: ", a.Name))
}

// Cause is why something is as it is, without that it would be restarted: that is no news of what
// is given up.
func Cause(r *api.Reason, otherwise string) string {
	if r == nil || r.Detail == "" {
		return otherwise
	}
	if _, cause, ok := strings.Cut(r.Detail, restartAfter); ok {
		return cause
	}
	return r.Detail
}
