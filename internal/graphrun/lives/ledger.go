package lives

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/graphrun/told"
)

// MaxAttempts is how often an epoch is tried again after crashes without progress before
// the graph is quarantined (M43).
const MaxAttempts = 3

// survived keeps in mind that a run has ended and the process lives: the crash ledger is for
// what takes the process down (M43), the rest is the supervisor's to count (M36). A reactor
// that died of itself stays in the ledger.
func (s *Shard) survived(fence int64, err error) {
	if caught := (*accumulator.PanicError)(nil); errors.As(err, &caught) {
		return
	}
	s.outlived = append(s.outlived, fence)
}

// Acquire takes the shard from the store. A taking whose answer was lost counts in the crash ledger
// as an owner that died: lost are the fences of those before this one, which nothing ran under.
func (s *Shard) Acquire(ctx context.Context) (head checkpoint.Head, lost []int64, err error) {
	head, err = s.host.Store.Acquire(ctx, s.ID())
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.unanswered++
		return head, nil, err
	}
	for fence := max(head.Fence-min(head.Own, s.unanswered), s.taken+1); fence < head.Fence; fence++ {
		lost = append(lost, fence)
	}
	s.taken, s.unanswered = head.Fence, 0
	return head, lost, nil
}

// absolve takes this process's earlier runs out of the ledger: those directly before this one,
// and the last one to note an epoch.
func (s *Shard) absolve(ctx context.Context, head *checkpoint.Head) error {
	row := len(s.outlived)
	for before := head.Prior; row > 0 && s.outlived[row-1] == before; row-- {
		before--
	}
	for i, fence := range s.outlived {
		if i < row && fence != head.AttemptedBy {
			continue
		}
		if err := s.host.Store.Absolve(ctx, s.ID(), head.Fence, fence); err != nil {
			s.outlived = s.outlived[i:]
			return err
		}
		head.UncleanStarts = max(head.UncleanStarts-1, 1)
		if fence == head.AttemptedBy {
			head.Attempts--
		}
	}
	s.outlived = nil
	return nil
}

// pardoned has a shard that has just been taken go on with a crash ledger that says nothing, where an operator has said
// that the cause of its crashes is fixed (M43): it is given up as one that has stopped cleanly is, and taken again.
// Nobody but the supervising goroutine does it, which would lose to another what it is about to run.
func (s *Shard) pardoned(ctx context.Context, head *checkpoint.Head) (lost []int64, err error) {
	s.mu.Lock()
	asked := s.pardon
	s.mu.Unlock()
	if !asked {
		return nil, nil
	}
	if err := s.host.Store.Relinquish(ctx, s.ID(), head.Fence); err != nil {
		s.survived(head.Fence, nil)
		return nil, fmt.Errorf("clear the crash ledger: %w", err)
	}
	s.show(func() { s.pardon = false })
	s.outlived = nil
	*head, lost, err = s.Acquire(ctx)
	return lost, err
}

// quarantined refuses a graph whose next epoch has taken its owners down too often.
func quarantined(head *checkpoint.Head) error {
	if head.Attempts < MaxAttempts {
		return nil
	}
	return fmt.Errorf("%w: epoch %d was tried %d times after a crash, and each time the process or the reactor died "+
		"before it was done",
		told.ErrCrashLoop, head.Epoch+1, head.Attempts)
}

// maxUnrecorded bounds the recovery events that wait for the store: some per graph and outage.
const maxUnrecorded = 64

// Record keeps an event, and those before it that the store has not taken (M37).
func (s *Shard) Record(ev checkpoint.RecoveryEvent) {
	s.unrecorded.Lock()
	defer s.unrecorded.Unlock()
	waiting := &s.unrecorded.events
	if len(*waiting) == maxUnrecorded {
		s.log().Error("a recovery event was dropped: too many wait for the store", "graph", s.ref.Name, "tenant",
			s.ref.Tenant, "kind", (*waiting)[0].Kind)
		*waiting = (*waiting)[1:]
	}
	*waiting = append(*waiting, ev)
	s.writeRecovery()
}

// WriteRecovery writes the recovery events that wait for the store, if any.
func (s *Shard) WriteRecovery() {
	s.unrecorded.Lock()
	defer s.unrecorded.Unlock()
	s.writeRecovery()
}

// writeRecovery writes what waits, in its order, as far as the store takes it.
func (s *Shard) writeRecovery() {
	waiting := &s.unrecorded.events
	for len(*waiting) > 0 {
		// An event is worth keeping even when the process is stopping.
		ctx, cancel := s.briefly(5 * time.Second)
		err := s.host.Store.AddRecoveryEvent(ctx, s.ID(), (*waiting)[0])
		cancel()
		if err != nil {
			s.log().Warn("a recovery event waits for the store", "graph", s.ref.Name, "tenant", s.ref.Tenant,
				"kind", (*waiting)[0].Kind, "waiting", len(*waiting), "err", err)
			return
		}
		*waiting = (*waiting)[1:]
	}
	*waiting = nil
}
