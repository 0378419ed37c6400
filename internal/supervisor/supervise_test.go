package supervisor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

var errBoom = errors.New("boom")

// exact is the default policy without jitter.
func exact() Policy {
	p := DefaultPolicy()
	p.Rand = func() float64 { return 0.5 }
	return p
}

// script is a piece whose runs are told in advance, and a diary of what happened to it.
type script struct {
	began  time.Time
	starts []time.Duration // when each run began, from the start of the test
	tries  []int           // the attempt numbers handed to Run
	events []Event
}

func newScript() *script { return &script{began: time.Now()} }

// run makes a Run that lasts lasts[i] in its i-th call (the last one repeating) and fails.
func (s *script) run(lasts ...time.Duration) func(context.Context, int) error {
	return func(ctx context.Context, attempt int) error {
		s.starts = append(s.starts, time.Since(s.began))
		s.tries = append(s.tries, attempt)
		d := lasts[min(len(s.starts), len(lasts))-1]
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
			return errBoom
		}
	}
}

func (s *script) note(ev Event) { s.events = append(s.events, ev) }

// acts is the diary in short form: "waiting 1 1s pending".
func (s *script) acts() []string {
	var out []string
	for _, ev := range s.events {
		out = append(out, fmt.Sprintf("%s %d %v %s", ev.Kind, ev.Attempt, ev.Delay, ev.Outcome))
	}
	return out
}

func (s *script) want(t *testing.T, starts []time.Duration, tries []int, acts []string) {
	t.Helper()
	if d := cmp.Diff(starts, s.starts); d != "" {
		t.Errorf("starts (-want +got):\n%s", d)
	}
	if d := cmp.Diff(tries, s.tries); d != "" {
		t.Errorf("attempts (-want +got):\n%s", d)
	}
	if d := cmp.Diff(acts, s.acts()); d != "" {
		t.Errorf("events (-want +got):\n%s", d)
	}
}

// M36: pauses of 1, 2, 4, 8, 16 s; five restarts are tried, the sixth failure gives up.
func TestSuperviseGivesUpAtTheSixthFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		err := Supervise(t.Context(), Config{Name: "reactor", Policy: exact(), Run: s.run(0), OnEvent: s.note})

		var gave *ExhaustedError
		if !errors.As(err, &gave) || gave.Failures != 6 || gave.Name != "reactor" || !errors.Is(err, errBoom) {
			t.Fatalf("got %v, want an ExhaustedError of reactor after 6 failures, wrapping boom", err)
		}
		sec := time.Second
		s.want(t,
			[]time.Duration{0, 1 * sec, 3 * sec, 7 * sec, 15 * sec, 31 * sec},
			[]int{0, 1, 2, 3, 4, 5},
			[]string{
				"waiting 1 1s pending", "restart 1 1s restarted",
				"waiting 2 2s pending", "restart 2 2s restarted",
				"waiting 3 4s pending", "restart 3 4s restarted",
				"waiting 4 8s pending", "restart 4 8s restarted",
				"waiting 5 16s pending", "restart 5 16s restarted",
				"gave_up 6 0s failed",
			})
	})
}

// M36: the cap holds.
func TestSupervisePauseIsCapped(t *testing.T) {
	t.Parallel()
	p := exact()
	p.Base, p.Max = 20*time.Second, time.Minute
	ps := newPauses(p)
	got := []time.Duration{ps.next(), ps.next(), ps.next(), ps.next()}
	want := []time.Duration{20 * time.Second, 40 * time.Second, time.Minute, time.Minute}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("pauses (-want +got):\n%s", d)
	}
}

// M36: 60 s of success resets the count; a moment less does not.
func TestSuperviseSuccessResets(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		lasts time.Duration
		want  string
	}{
		{"a minute", time.Minute, "waiting 1 1s pending"},
		{"less than a minute", time.Minute - time.Nanosecond, "waiting 3 4s pending"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newScript()
				ctx, cancel := context.WithTimeout(t.Context(), 64*time.Second)
				defer cancel()
				// Two quick failures, then the long run.
				err := Supervise(ctx, Config{Name: "x", Policy: exact(), Run: s.run(0, 0, tc.lasts, time.Hour),
					OnEvent: s.note})
				if err != nil {
					t.Fatalf("got %v, want nil", err)
				}
				if got := s.acts()[4]; got != tc.want {
					t.Errorf("after the long run got %q, want %q", got, tc.want)
				}
			})
		})
	}
}

// M34, W25: a stop during a pause is heard at once and told as it is.
func TestSuperviseStopDuringPause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(300*time.Millisecond, cancel)
		if err := Supervise(ctx, Config{Name: "x", Policy: exact(), Run: s.run(0), OnEvent: s.note}); err != nil {
			t.Fatalf("got %v, want nil", err)
		}
		if got := time.Since(s.began); got != 300*time.Millisecond {
			t.Errorf("stopped after %v, want 300ms", got)
		}
		s.want(t, []time.Duration{0}, []int{0}, []string{"waiting 1 1s pending", "restart 1 1s pending"})
	})
}

// M36: a piece given up is revived by the operator, with its count anew.
func TestSuperviseRevive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		node := NewTree(time.Now).Root("graphd").Child("x")
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		r := NewRestarter()
		time.AfterFunc(10*time.Minute, func() {
			if got := node.tree.Snapshot()[0].State; got != StateFailed {
				t.Errorf("state after giving up is %q, want failed", got)
			}
			r.Restart()
		})
		p := exact()
		p.Attempts = 1
		c := Config{Name: "x", Policy: p, Run: s.run(0, 0, 2*time.Hour), OnEvent: s.note, Restarter: r, Revive: true,
			Node: node}
		if err := Supervise(ctx, c); err != nil {
			t.Fatalf("got %v, want nil", err)
		}
		s.want(t, []time.Duration{0, time.Second, 10 * time.Minute}, []int{0, 1, 0},
			[]string{
				"waiting 1 1s pending", "restart 1 1s restarted", "gave_up 2 0s failed",
				"operator_restart 0 0s restarted",
			})
		line := node.tree.Snapshot()[0]
		if line.State != StateRunning || line.Restarts != 2 {
			t.Errorf("got %+v, want running with 2 restarts", line)
		}
	})
}

// A piece given up that waits for the operator still hears the stop.
func TestSuperviseStopWhileFailed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := exact()
		p.Attempts = 0
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := Supervise(ctx, Config{Name: "x", Policy: p, Run: newScript().run(0), Revive: true})
		if _, ok := errors.AsType[*ExhaustedError](err); !ok {
			t.Fatalf("got %v, want an ExhaustedError", err)
		}
	})
}

// M36, W25: one piece's pause never delays another's.
func TestSuperviseSiblingsAreIndependent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewTree(time.Now).Root("graphd").NewGroup()
		slow, quick := newScript(), newScript()
		p := exact()
		p.Base = 30 * time.Second
		g.Supervise(t.Context(), Config{Name: "slow", Policy: p, Run: slow.run(0)})
		g.Supervise(t.Context(), Config{Name: "quick", Policy: exact(), Run: quick.run(0)})
		time.Sleep(29 * time.Second)
		synctest.Wait()
		if len(slow.starts) != 1 || len(quick.starts) != 5 {
			t.Errorf("slow ran %d times and quick %d, want 1 and 5", len(slow.starts), len(quick.starts))
		}
		g.Stop()
		if err := g.Wait(); err != nil {
			t.Errorf("got %v, want nil", err)
		}
	})
}

// M35, M37: a panic is a failure with its stack, and becomes a recovery event.
func TestSupervisePanic(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		runs := 0
		c := Config{Name: "accumulator/orderbook", Policy: exact(), OnEvent: s.note,
			Run: func(context.Context, int) error {
				if runs++; runs == 1 {
					panic(errBoom)
				}
				return nil
			}}
		if err := Supervise(t.Context(), c); err != nil {
			t.Fatalf("got %v, want nil", err)
		}
		ev := s.events[1]
		if !errors.Is(ev.Err, errBoom) || !strings.Contains(ev.Stack, "TestSupervisePanic") {
			t.Errorf("got error %v with stack %q, want boom with the stack of this test", ev.Err, ev.Stack)
		}
		got := ev.Record("market_maker", 7)
		if got.Reason != "panic: boom" || got.Kind != "restart" || got.Outcome != "restarted" ||
			got.Component != "accumulator/orderbook" ||
			got.Graph != "market_maker" || got.Incarnation != 7 || got.Attempt != 1 || got.Delay != time.Second ||
			got.Stack == "" || got.At.IsZero() {
			t.Errorf("got record %+v", got)
		}
		if s.events[0].Durable() || !ev.Durable() {
			t.Error("want the waiting event not for the record and the restart for it")
		}
	})
}

func TestSuperviseVerdicts(t *testing.T) {
	t.Parallel()
	errFenced, errEnd := errors.New("fenced"), errors.New("end")
	classify := func(err error) Verdict {
		switch {
		case errors.Is(err, errFenced):
			return Permanent
		case errors.Is(err, errEnd):
			return Done
		}
		return Restart
	}
	for _, tc := range []struct {
		name    string
		first   error // of the first run; later runs end with errEnd
		endless bool
		runs    int
		want    error
		acts    []string
	}{
		{name: "nil is done", first: nil, runs: 1},
		{name: "nil of an endless piece is a failure", first: nil, endless: true, runs: 2,
			acts: []string{"waiting 1 1s pending", "restart 1 1s restarted"}},
		{name: "done", first: errEnd, runs: 1},
		{name: "permanent", first: fmt.Errorf("commit: %w", errFenced), runs: 1, want: errFenced,
			acts: []string{"gave_up 1 0s failed"}},
		{name: "restart", first: errBoom, runs: 2,
			acts: []string{"waiting 1 1s pending", "restart 1 1s restarted"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newScript()
				runs := 0
				err := Supervise(t.Context(), Config{
					Name: "x", Policy: exact(), Endless: tc.endless, Classify: classify, OnEvent: s.note,
					Run: func(context.Context, int) error {
						if runs++; runs == 1 {
							return tc.first
						}
						return errEnd
					},
				})
				if !errors.Is(err, tc.want) {
					t.Errorf("got %v, want %v", err, tc.want)
				}
				if _, ok := errors.AsType[*PermanentError](err); ok != (tc.want != nil) {
					t.Errorf("got %v, want a PermanentError: %v", err, tc.want != nil)
				}
				if runs != tc.runs {
					t.Errorf("ran %d times, want %d", runs, tc.runs)
				}
				if d := cmp.Diff(tc.acts, s.acts()); d != "" {
					t.Errorf("events (-want +got):\n%s", d)
				}
				if tc.endless && !errors.Is(s.events[0].Err, ErrReturned) {
					t.Errorf("got %v, want ErrReturned", s.events[0].Err)
				}
			})
		})
	}
}

// A failure in stopping is not hidden behind the stop.
func TestSuperviseFailureWhileStopping(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		run := func(ctx context.Context, _ int) error {
			<-ctx.Done()
			return fmt.Errorf("final checkpoint: %w", errBoom)
		}
		time.AfterFunc(time.Second, func() { cancel(ErrStopped) })
		if err := Supervise(ctx, Config{Name: "x", Policy: exact(), Run: run}); !errors.Is(err, errBoom) {
			t.Errorf("got %v, want boom", err)
		}
		echo := func(ctx context.Context, _ int) error { return fmt.Errorf("read: %w", context.Cause(ctx)) }
		if err := Supervise(ctx, Config{Name: "x", Policy: exact(), Run: echo}); err != nil {
			t.Errorf("got %v, want nil for the echo of the stop", err)
		}
	})
}

func TestPolicy(t *testing.T) {
	t.Parallel()
	if err := DefaultPolicy().Validate(); err != nil {
		t.Errorf("the default policy: %v", err)
	}
	bad := Policy{Attempts: -1, Base: 0, Max: -1, Reset: 0}
	err := bad.Validate()
	for _, word := range []string{"attempts", "base", "max", "reset"} {
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("got %v, want it to name %s", err, word)
		}
	}
	if err := Supervise(t.Context(), Config{Name: "x", Policy: bad}); err == nil {
		t.Error("Supervise took an invalid policy")
	}
}

// M36: jitter stays within a fifth either way, below the cap, and follows Rand.
func TestPolicyJitter(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		rand float64
		want time.Duration
	}{{0, 800 * time.Millisecond}, {0.25, 900 * time.Millisecond}, {0.5, time.Second}, {
		0.75, 1100 * time.Millisecond,
	}} {
		p := DefaultPolicy()
		p.Rand = func() float64 { return tc.rand }
		if got := newPauses(p).next(); got != tc.want {
			t.Errorf("with %v got %v, want %v", tc.rand, got, tc.want)
		}
	}
	ps := newPauses(DefaultPolicy())
	for i, base := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60} {
		got, base := ps.next(), base*time.Second
		if got < base*8/10 || got > min(base*12/10, time.Minute) {
			t.Errorf("pause %d is %v, want within a fifth of %v and at most a minute", i, got, base)
		}
	}
}
