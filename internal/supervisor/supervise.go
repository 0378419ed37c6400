package supervisor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/rest"
)

// The states in which [Supervise] shows its piece in the tree. A piece may say
// more about itself while it runs.
const (
	StateRunning    = "running"
	StateRestarting = "restarting" // waiting for its pause to end
	StateFailed     = "failed"     // given up, waiting for the operator
)

var (
	// ErrReturned is the failure of a piece that returned nil though it must not end.
	ErrReturned = errors.New("returned without being asked to stop")
	// ErrOperatorRestart is the cause of a run's context that ended because the operator
	// asked for a restart.
	ErrOperatorRestart = errors.New("restart asked for by the operator")
)

// Verdict is what an error of Run means for the piece.
type Verdict uint8

// The verdicts.
const (
	Restart   Verdict = iota // a failure: count it, pause, run again
	Permanent                // a failure that the next run would meet again: give up now
	Done                     // no failure: the piece has ended
)

// ExhaustedError says that a piece failed too often in a row.
type ExhaustedError struct {
	Name     string
	Failures int // in a row, the last one included
	Err      error
}

func (e *ExhaustedError) Error() string {
	return fmt.Sprintf("%s: given up after %d failures in a row: %v", e.Name, e.Failures, e.Err)
}

// Unwrap is the last failure.
func (e *ExhaustedError) Unwrap() error { return e.Err }

// PermanentError says that a piece failed in a way that a restart cannot fix.
type PermanentError struct {
	Name string
	Err  error
}

func (e *PermanentError) Error() string {
	return fmt.Sprintf("%s: not restarted: %v", e.Name, e.Err)
}

// Unwrap is the failure.
func (e *PermanentError) Unwrap() error { return e.Err }

// EventKind tells the supervisor's acts apart.
type EventKind string

// The kinds. All but EventWaiting are for the record, exactly one for each failure
// and each operator's restart.
const (
	EventWaiting         EventKind = "waiting"          // a pause begins: for health, not for the record
	EventRestart         EventKind = "restart"          // the pause is over, or was cut short by the end of the process
	EventGaveUp          EventKind = "gave_up"          // too many failures, or a permanent one
	EventOperatorRestart EventKind = "operator_restart" // the operator cut the pause, the run or the giving up short
)

// The outcomes of an event.
const (
	OutcomeRestarted = "restarted"
	OutcomeFailed    = "failed"
	OutcomePending   = "pending" // a restart is due, or was when the process stopped
)

// Event is one act of the supervisor (M37).
type Event struct {
	Kind EventKind
	Name string
	At   time.Time
	// Err is why: the failure of the run before; nil when the operator restarted a healthy piece.
	Err error
	// Stack is where the piece panicked; "" when it did not.
	Stack string
	// Attempt is the number of the restart since the count was last reset, from 1; 0 for an
	// operator's restart. For EventGaveUp it is the number of failures.
	Attempt int
	// Delay is the pause before the restart.
	Delay   time.Duration
	Outcome string
}

// Durable reports whether the event belongs into the store.
func (e *Event) Durable() bool { return e.Kind != EventWaiting }

// Record is the event in the form in which the store keeps it.
func (e *Event) Record(graph string, incarnation int64) checkpoint.RecoveryEvent {
	r := checkpoint.RecoveryEvent{
		At: e.At, Graph: graph, Component: e.Name, Kind: string(e.Kind), Stack: e.Stack,
		Attempt: e.Attempt, Delay: e.Delay, Outcome: e.Outcome, Incarnation: incarnation,
	}
	switch {
	case e.Err != nil:
		r.Reason = e.Err.Error()
	case e.Kind == EventOperatorRestart:
		r.Reason = ErrOperatorRestart.Error()
	}
	return r
}

// Restarter is the operator's hand on one supervised piece. Its zero value is ready for use, for one Config.
type Restarter struct {
	mu     sync.Mutex
	asked  bool                    // for what has not been heard yet; more than once means the same
	wake   chan struct{}           // closed when asked; nil while nobody waits
	cancel context.CancelCauseFunc // of the run in progress, else nil
	bell   rest.Bell               // for that run at rest
}

// NewRestarter makes one, for one Config.
func NewRestarter() *Restarter { return &Restarter{} }

// Restart asks for a restart at once: a pause is cut short, a run is ended and begun
// again, a piece given up is tried again. The count of failures starts anew. It never
// blocks, and what is asked before the piece first runs is answered by its first run.
func (r *Restarter) Restart() {
	defer r.bell.Ring()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = true
	if r.wake != nil {
		close(r.wake)
		r.wake = nil
	}
	if r.cancel != nil {
		r.cancel(ErrOperatorRestart)
	}
}

// heard is closed when a restart is asked for, at once where it has been. Who waits for it begins a run next, or ends.
func (r *Restarter) heard() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	wake := make(chan struct{})
	if r.asked {
		close(wake)
	} else {
		r.wake = wake
	}
	return wake
}

// arm lets Restart end the run that is about to begin, and forgets what was asked before, if it was.
func (r *Restarter) arm(cancel context.CancelCauseFunc) (asked bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	asked = r.asked
	r.cancel, r.asked, r.wake = cancel, false, nil
	return asked
}

// disarm reports whether a restart was asked for during the run.
func (r *Restarter) disarm() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	asked := r.asked
	r.cancel, r.asked = nil, false
	return asked
}

// Config describes one supervised piece.
type Config struct {
	// Name names the piece in errors and events: "reactor", "accumulator/orderbook".
	Name   string
	Policy Policy
	// Run is the piece. It is called on Supervise's goroutine, one call at a time, and ends
	// when ctx does. attempt is the number of the restart since the count was last reset, 0
	// for a first start. A panic is a failure like any other.
	Run func(ctx context.Context, attempt int) error
	// Endless says that a nil return is the failure [ErrReturned] and not the end of the piece.
	Endless bool
	// Classify judges a failure. Nil means that every failure is worth a restart.
	Classify func(error) Verdict
	// OnEvent is told of every act, on Supervise's goroutine. Nil is allowed.
	OnEvent func(Event)
	// Restarter lets the operator in. Nil is allowed.
	Restarter *Restarter
	// Revive makes a piece that was given up wait for the operator instead of returning.
	Revive bool
	// Node shows the piece in the tree. Nil is allowed.
	Node *Node
}
