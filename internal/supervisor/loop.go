package supervisor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/graphd/graphd/internal/rest"
)

// Supervise runs c.Run until it is done, until ctx ends, or until it is given up:
// then the answer is an *ExhaustedError or a *PermanentError. It answers nil when
// the piece is done and when it stopped because ctx ended; a failure in stopping
// is returned. It blocks; each piece has a goroutine of its own (see
// [Group.Supervise]), so that one's pause never delays another's. Where Run answers a
// [*rest.Rest], so does Supervise, and goes on with it.
func Supervise(ctx context.Context, c Config) error {
	if err := c.Policy.Validate(); err != nil {
		return fmt.Errorf("supervise %s: %w", c.Name, err)
	}
	l := &loop{Config: c}
	if l.Restarter == nil {
		l.Restarter = NewRestarter() // nobody holds it: nothing is ever asked
	}
	return l.work(ctx)
}

// loop is the state of one Supervise call.
type loop struct {
	Config
	pauses   *pauses // nil while nothing has failed
	failures int     // in a row

	// of the run that goes on or rests
	began time.Time
	end   context.CancelCauseFunc
}

// work runs the piece again and again.
func (l *loop) work(ctx context.Context) error {
	for {
		l.show(StateRunning)
		l.began = time.Now()
		var run context.Context
		run, l.end = context.WithCancelCause(ctx)
		// The operator can end it; one who has asked for a restart as it was to begin has it with a fresh count.
		if asked := l.Restarter.arm(l.end); asked && l.failures > 0 {
			l.forget()
			l.tell(Event{Kind: EventOperatorRestart, Outcome: OutcomeRestarted})
		}
		if again, err := l.once(ctx, func() error { return l.Run(run, l.failures) }); !again {
			return err
		}
	}
}

// once is a run of the piece, or what follows on a rest, and then does what its end calls for: again says to go on.
func (l *loop) once(ctx context.Context, piece func() error) (again bool, err error) {
	err = Protect(piece)
	if r := rest.Of(err); r != nil {
		return false, r.Above(ctx, &l.Restarter.bell, func() error {
			if again, err := l.once(ctx, r.Resume); !again {
				return err
			}
			return l.work(ctx)
		})
	}
	asked := l.Restarter.disarm()
	l.end(ErrStopped)
	return l.judge(ctx, err, asked)
}

// judge says what the end of a run means.
func (l *loop) judge(ctx context.Context, err error, asked bool) (again bool, _ error) {
	if ctx.Err() != nil {
		if isStop(ctx, err) {
			return false, nil
		}
		return false, fmt.Errorf("stop %s: %w", l.Name, err)
	}
	if asked {
		if errors.Is(err, context.Canceled) || errors.Is(err, ErrOperatorRestart) {
			err = nil // the answer to the request is not a failure
		}
		l.operatorRestart(err)
		return true, nil
	}
	if err == nil && l.Endless {
		err = ErrReturned
	}
	if err == nil {
		return false, nil
	}
	verdict := Restart
	if l.Classify != nil {
		verdict = l.Classify(err)
	}
	if verdict == Done {
		return false, nil
	}
	if time.Since(l.began) >= l.Policy.Reset {
		l.forget()
	}
	l.failures++
	if verdict == Permanent {
		return l.giveUp(ctx, err, &PermanentError{Name: l.Name, Err: err})
	}
	if l.failures > l.Policy.Attempts {
		return l.giveUp(ctx, err, &ExhaustedError{Name: l.Name, Failures: l.failures, Err: err})
	}
	return l.pause(ctx, err), nil
}

// pause waits before the next run; false when ctx ended first.
func (l *loop) pause(ctx context.Context, err error) bool {
	if l.pauses == nil {
		l.pauses = newPauses(l.Policy)
	}
	delay := l.pauses.next()
	l.show(StateRestarting)
	l.tell(Event{Kind: EventWaiting, Err: err, Attempt: l.failures, Delay: delay, Outcome: OutcomePending})
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		l.tell(Event{Kind: EventRestart, Err: err, Attempt: l.failures, Delay: delay, Outcome: OutcomePending})
		return false
	case <-l.Restarter.heard():
		l.operatorRestart(err)
		return true
	case <-timer.C:
	}
	l.restarted()
	l.tell(Event{Kind: EventRestart, Err: err, Attempt: l.failures, Delay: delay, Outcome: OutcomeRestarted})
	return true
}

// giveUp ends the piece with final, or waits for the operator to revive it.
func (l *loop) giveUp(ctx context.Context, err, final error) (again bool, _ error) {
	l.show(StateFailed)
	l.tell(Event{Kind: EventGaveUp, Err: err, Attempt: l.failures, Outcome: OutcomeFailed})
	if !l.Revive {
		return false, final
	}
	select {
	case <-ctx.Done():
		return false, final
	case <-l.Restarter.heard():
		l.operatorRestart(err)
		return true, nil
	}
}

func (l *loop) operatorRestart(err error) {
	l.forget()
	l.restarted()
	l.tell(Event{Kind: EventOperatorRestart, Err: err, Outcome: OutcomeRestarted})
}

func (l *loop) forget() {
	l.failures, l.pauses = 0, nil
}

func (l *loop) show(state string) {
	if l.Node != nil {
		l.Node.SetState(state)
	}
}

func (l *loop) restarted() {
	if l.Node != nil {
		l.Node.Restarted()
	}
}

func (l *loop) tell(ev Event) {
	if l.OnEvent == nil {
		return
	}
	ev.Name, ev.At = l.Name, time.Now()
	if p, ok := errors.AsType[*PanicError](ev.Err); ok {
		ev.Stack = p.Stack
	}
	l.OnEvent(ev)
}

// isStop reports whether err is no more than the echo of ctx's end.
func isStop(ctx context.Context, err error) bool {
	return err == nil || errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx))
}
