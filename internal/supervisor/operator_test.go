package supervisor

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// M36: an operator's restart cuts the pause short and starts the count anew.
func TestSuperviseOperatorDuringPause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		r := NewRestarter()
		time.AfterFunc(1500*time.Millisecond, r.Restart) // in the second pause, of 2 s
		if err := Supervise(ctx, Config{Name: "x", Policy: exact(), Run: s.run(0, 0, 0, time.Hour), OnEvent: s.note,
			Restarter: r}); err != nil {
			t.Fatalf("got %v, want nil", err)
		}
		s.want(t,
			[]time.Duration{0, time.Second, 1500 * time.Millisecond, 2500 * time.Millisecond},
			[]int{0, 1, 0, 1},
			[]string{
				"waiting 1 1s pending", "restart 1 1s restarted",
				"waiting 2 2s pending", "operator_restart 0 0s restarted",
				"waiting 1 1s pending", "restart 1 1s restarted",
			})
	})
}

// M36: one who asks for a restart as the pause is over has it with a fresh count, too.
func TestSuperviseOperatorBehindPause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, r, p := newScript(), NewRestarter(), exact()
		p.Attempts = 1
		asked := false
		note := func(ev Event) {
			if s.note(ev); ev.Kind == EventRestart && !asked {
				asked = true
				r.Restart()
			}
		}
		err := Supervise(t.Context(), Config{Name: "x", Policy: p, Run: s.run(0), OnEvent: note, Restarter: r})
		if exhausted := (*ExhaustedError)(nil); !errors.As(err, &exhausted) {
			t.Fatal(err)
		}
		s.want(t, []time.Duration{0, time.Second, 2 * time.Second}, []int{0, 0, 1}, []string{
			"waiting 1 1s pending", "restart 1 1s restarted", "operator_restart 0 0s restarted",
			"waiting 1 1s pending", "restart 1 1s restarted", "gave_up 2 0s failed",
		})
	})
}

// M36: an operator's restart of a healthy piece ends its run and begins another.
func TestSuperviseOperatorDuringRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		r := NewRestarter()
		r.Restart() // asked before it runs: answered by the first run
		time.AfterFunc(time.Second, r.Restart)
		var causes []error
		run := s.run(time.Hour)
		c := Config{Name: "x", Policy: exact(), OnEvent: s.note, Restarter: r,
			Run: func(ctx context.Context, n int) error {
				defer func() { causes = append(causes, context.Cause(ctx)) }()
				return run(ctx, n)
			}}
		if err := Supervise(ctx, c); err != nil {
			t.Fatalf("got %v, want nil", err)
		}
		s.want(t, []time.Duration{0, time.Second}, []int{0, 0}, []string{"operator_restart 0 0s restarted"})
		if s.events[0].Err != nil {
			t.Errorf("the restart of a healthy piece has error %v, want none", s.events[0].Err)
		}
		if d := cmp.Diff([]error{ErrOperatorRestart, context.DeadlineExceeded}, causes,
			cmpopts.EquateErrors()); d != "" {
			t.Errorf("causes (-want +got):\n%s", d)
		}
	})
}

// What was asked before a run began is answered by that run, and does not excuse its failure.
func TestSuperviseOperatorBeforeRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		r := NewRestarter()
		r.Restart()
		p := exact()
		p.Attempts = 0
		if err := Supervise(t.Context(), Config{
			Name: "x", Policy: p, Run: s.run(0), OnEvent: s.note, Restarter: r,
		}); err == nil {
			t.Error("got nil, want an ExhaustedError")
		}
		s.want(t, []time.Duration{0}, []int{0}, []string{"gave_up 1 0s failed"})
	})
}
