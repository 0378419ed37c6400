package reader_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
)

// slow is a tape without an end whose opening takes a while.
type slow struct {
	tape
	opening time.Duration
	marks   bool // it says where it begins before it is open
}

func (s *slow) Run(ctx context.Context, from []boundary.Position, out accumulator.Out) error {
	s.rig.opened(from)
	if s.marks {
		for _, p := range from {
			if err := out.Advance(ctx, p); err != nil {
				return err
			}
		}
	}
	select {
	case <-time.After(s.opening):
	case <-ctx.Done():
		return nil
	}
	next := int64(0)
	for _, p := range from {
		next = max(next, 2*p.Offset)
	}
	for ; ctx.Err() == nil; next++ {
		if err := out.Emit(ctx, append(accumulator.NewBatch(out, 1), event(next))); err != nil {
			return err
		}
		time.Sleep(5 * time.Millisecond)
	}
	return nil
}

// M49, M52: while shards come one after the other, as where a process takes them over, those that take part are read
// for on: the source begins again a few times for all that come, and nobody waits for the last.
func TestM52ShardsThatComeDoNotHoldTheOthersUp(t *testing.T) {
	for _, c := range []struct {
		opening time.Duration
		marks   bool
		most    int // how often it begins again
	}{{20 * time.Millisecond, false, 60}, {300 * time.Millisecond, false, 15}, {300 * time.Millisecond, true, 15}} {
		opening, most := c.opening, c.most
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, 0, func(r *rig) accumulator.Source { return &slow{tape{rig: r}, opening, c.marks} })
			first := r.enter()
			all := []*shard{first}
			given := func(s *shard) int {
				s.mu.Lock()
				defer s.mu.Unlock()
				return len(s.given)
			}
			before := 0
			for n := range 100 { // over four seconds
				time.Sleep(40 * time.Millisecond)
				head := int64(given(first)) / 2 // as far as the one before has come with its shards
				all = append(all, r.enter(at(0, head), at(1, head)))
				if (n+1)%25 != 0 {
					continue
				}
				if now := given(first); now == before {
					t.Errorf("opening takes %v: nothing was given for a second", opening)
				} else {
					before = now
				}
				if s := all[(n+1)/2]; given(s) == 0 {
					t.Errorf("opening takes %v: who came half the time ago has nothing", opening)
				}
			}
			time.Sleep(500*time.Millisecond + opening)
			for n, s := range all {
				if given(s) == 0 {
					t.Errorf("opening takes %v: shard %d has nothing half a second after the last has come", opening, n)
				}
			}
			r.mu.Lock()
			if opens := len(r.opens); opens > most {
				t.Errorf("opening takes %v: %d times for %d shards", opening, opens, len(all))
			}
			r.mu.Unlock()
			for _, s := range all {
				if err := s.leave(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
