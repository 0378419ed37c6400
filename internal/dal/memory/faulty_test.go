package memory

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/checkpoint/checkpointtest"
)

// A Faulty store without faults is the store beneath it.
func TestFaultyPasses(t *testing.T) {
	t.Parallel()
	checkpointtest.Run(t, checkpointtest.Harness{
		Open: func(*testing.T) checkpoint.Store { return checkpointtest.NewFaulty(New(), nil) },
	})
}

// What each outcome says and what it does, told by the sequence number that the store stands at.
func TestFaultyOutcomes(t *testing.T) {
	t.Parallel()
	other := errors.New("disk full")
	tests := []struct {
		name    string
		fault   checkpointtest.Fault
		want    error
		applied bool
		late    bool // it applies when delivered, if no owner came in between
	}{
		{"pass", checkpointtest.Fault{}, nil, true, false},
		{"fail", checkpointtest.Fault{Outcome: checkpointtest.Fail}, checkpointtest.ErrInjected, false, false},
		{"fail with", checkpointtest.Fault{Outcome: checkpointtest.Fail, Err: other}, other, false, false},
		{"applied", checkpointtest.Fault{Outcome: checkpointtest.UnknownApplied}, checkpoint.ErrUnknownOutcome, true,
			false},
		{"lost", checkpointtest.Fault{Outcome: checkpointtest.UnknownLost}, checkpoint.ErrUnknownOutcome, false, false},
		{"late", checkpointtest.Fault{Outcome: checkpointtest.UnknownLate}, checkpoint.ErrUnknownOutcome, false, true},
	}
	for _, test := range tests {
		for _, newOwnerFirst := range []bool{false, true} {
			s := checkpointtest.NewFaulty(New(), nil)
			o := checkpointtest.NewOwner(t, s, "g")
			s.Script(checkpointtest.OpCommit, test.fault)
			c := o.Next
			c.Seq, c.Cells = 1, checkpointtest.CellsOf(1, 1)
			if err := s.Commit(t.Context(), &c); !errors.Is(err, test.want) {
				t.Errorf("%s: %v, want %v", test.name, err, test.want)
			}
			c.Cells[0].Data[0] = '?' // what is late is not what the sender makes of it later
			if newOwnerFirst {
				checkpointtest.NewOwner(t, s, "g")
			}
			applied := test.applied
			for _, err := range s.Deliver(t.Context()) {
				if errors.Is(err, checkpoint.ErrFenced) != newOwnerFirst {
					t.Errorf("%s: a late commit, another owner before it (%v): %v", test.name, newOwnerFirst, err)
				}
				applied = err == nil
			}
			if want := test.applied || test.late && !newOwnerFirst; applied != want {
				t.Errorf("%s: applied %v, want %v", test.name, applied, want)
			}
			if head, err := s.Acquire(t.Context(), c.ID); err != nil || (head.Seq == 1) != applied {
				t.Errorf("%s: head %+v, %v", test.name, head, err)
			}
			err := s.Load(t.Context(), c.ID, func(c checkpoint.Cell) error {
				if c.Data[0] == '?' && !test.applied {
					t.Errorf("%s: a late commit was changed by its sender", test.name)
				}
				return nil
			})
			if err != nil {
				t.Errorf("%s: load: %v", test.name, err)
			}
		}
	}
}

// Slow calls take their time, or end with their context.
func TestFaultyPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := checkpointtest.NewFaulty(New(), nil)
		gate := make(chan struct{})
		s.Script(checkpointtest.OpPing, checkpointtest.Fault{Delay: time.Hour}, checkpointtest.Fault{Wait: gate},
			checkpointtest.Fault{Delay: time.Hour}, checkpointtest.Fault{Wait: gate})
		start := time.Now()
		if err := s.Ping(t.Context()); err != nil || time.Since(start) != time.Hour {
			t.Errorf("a slow call: %v after %v", err, time.Since(start))
		}
		done := make(chan error, 1)
		go func() { done <- s.Ping(t.Context()) }()
		synctest.Wait()
		select {
		case err := <-done:
			t.Errorf("a call that should wait: %v", err)
		default:
		}
		close(gate)
		if err := <-done; err != nil {
			t.Errorf("a call that has waited: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := s.Ping(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a slow call with less time: %v", err)
		}
		if got := s.Calls(checkpointtest.OpPing); got != 3 {
			t.Errorf("%d calls were counted", got)
		}
	})
}
