package live

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/reactor"
)

// settled waits until the reactor has come to rest for the n-th time.
func (s *shell) settled(n int64) {
	s.t.Helper()
	time.Sleep(2 * (provenAfter + restAfter))
	synctest.Wait()
	if got := s.rests.Load(); got != n {
		s.t.Fatalf("it has rested %d times, want %d", got, n)
	}
}

// M1, M6: a reactor with nothing to do rests; what is handed over, asked or due wakes it, and it ends as ever.
func TestM1AReactorRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		looks := 0
		s := newShell(t, func(_ *reactor.Config, o *bedding) {
			o.Watch = func(_ *reactor.Core, now time.Time) time.Time {
				if looks++; looks == 1 {
					return now.Add(time.Hour)
				}
				return time.Time{}
			}
		})
		s.settled(1)
		received := int64(0)
		s.push(&received, 3)
		synctest.Wait()
		time.Sleep(viewEvery)
		synctest.Wait()
		balanced(t, s.View(), 3)
		if e := s.View().Epoch; e != 3 {
			t.Errorf("epoch %d after a rest, want 3", e)
		}
		s.settled(2)
		asked := time.Now()
		if err := s.Pause(t.Context(), "somebody"); err != nil || time.Since(asked) > 0 {
			t.Fatalf("answered after %v with %v, want at once", time.Since(asked), err)
		}
		if synctest.Wait(); !s.View().Paused {
			t.Error("a pause at rest is not shown")
		}
		s.settled(3)
		if err := s.end(); err != nil {
			t.Errorf("stopped at rest: %v", err)
		}
		if at := s.Core.Epoch(); at != 3 {
			t.Errorf("it ended at epoch %d", at)
		}
	})
}

// What is due at a time is done then, at rest or not.
func TestARestIsNoLongerThanWhatIsDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var looked []time.Time
		s := newShell(t, func(_ *reactor.Config, o *bedding) {
			o.Watch = func(_ *reactor.Core, now time.Time) time.Time {
				looked = append(looked, now)
				return now.Truncate(10 * time.Minute).Add(10 * time.Minute)
			}
		})
		time.Sleep(11 * time.Minute)
		synctest.Wait()
		if last := looked[len(looked)-1]; time.Since(last) > 2*time.Minute || s.rests.Load() < 2 {
			t.Errorf("it has rested %d times and looked last %v ago, want a look after ten minutes", s.rests.Load(),
				time.Since(last))
		}
		if err := s.end(); err != nil {
			t.Error(err)
		}
	})
}

// M45: a reactor that is woken at rest when its term has ended sees it.
func TestM45ARestEndsWithTheTerm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		term, over := context.WithCancel(context.Background())
		s := newShell(t, func(_ *reactor.Config, o *bedding) {
			o.Term, o.Owned = term, func() bool { return term.Err() == nil }
		})
		s.settled(1)
		over()
		s.Room()
		synctest.Wait()
		select {
		case <-s.stopped:
		default:
			t.Error("it has not seen it before it was stopped")
		}
		if err := s.end(); !errors.Is(err, ErrDisowned) {
			t.Errorf("got %v, want ErrDisowned", err)
		}
	})
}
