package quota_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/quota"
)

// TestOwnRate: a graph's own limit of events holds back what its tenant's quota would let through, is told as its own,
// and is as it was last bound.
func TestOwnRate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := quota.NewBook(map[string]quota.Limits{"acme": {EventsPerSecond: 1000}})
		pace, m := b.Pace("acme", "g"), b.Meter("acme", "g")
		m.Bind(quota.Bounds{EventsPerSecond: 20})
		if pace.Most() != 2 {
			t.Errorf("%d at once", pace.Most())
		}
		began := time.Now()
		for range 60 {
			if err := pace.Wait(t.Context(), 2, 0, nil); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(began); took < 4900*time.Millisecond || took > 5100*time.Millisecond {
			t.Errorf("120 events took %v", took)
		}
		if err := pace.Wait(t.Context(), 1, 0, nil); err != nil { // from now on it has waited for five seconds
			t.Fatal(err)
		}
		if by := m.Slowed(); len(by) != 1 || by[0].Why != quota.GraphEvents || by[0].Since.Sub(began) > time.Second {
			t.Errorf("slowed by %v", by)
		}
		m.Bind(quota.Bounds{EventsPerSecond: 20}) // started anew
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		err := pace.Admit(ctx, 1, 0)
		if over, ok := errors.AsType[*quota.ExceededError](err); !ok || over.Code() != "limit_exceeded" ||
			over.After <= 0 {
			t.Errorf("a push beyond the limit: %v", err)
		}
		m.Bind(quota.Bounds{})
		began = time.Now()
		if err := pace.Wait(t.Context(), 900, 0, nil); err != nil || time.Since(began) != 0 {
			t.Errorf("without a limit: %v after %v", err, time.Since(began))
		}
	})
}

// TestRests: a reactor that has worked for longer than its share rests until that is made up for, and has a second's
// worth in hand, however long it did nothing.
func TestRests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := quota.NewBook(nil).Meter("acme", "g")
		m.Worked(0, time.Hour)
		if m.Rests() != 0 {
			t.Error("without a limit it rests")
		}
		m.Bind(quota.Bounds{Cores: 0.25})
		time.Sleep(24 * time.Hour)
		near := func(want time.Duration) {
			t.Helper()
			if got := m.Rests(); (got - want).Abs() > time.Millisecond {
				t.Errorf("it rests for %v, want %v", got, want)
			}
		}
		m.Worked(0, 250*time.Millisecond)
		near(0)
		m.Worked(0, time.Second)
		near(4 * time.Second)
		time.Sleep(3 * time.Second)
		near(time.Second)
		m.Bind(quota.Bounds{Cores: 0.25})
		near(time.Second)
		m.Worked(0, 500*time.Millisecond)
		time.Sleep(2 * time.Second)
		near(time.Second)
		if by := m.Slowed(); len(by) != 1 || by[0].Why != quota.GraphCPU {
			t.Errorf("slowed by %v", by)
		}
		m.Bind(quota.Bounds{Cores: 8})
		near(0)
		time.Sleep(4 * time.Second)
		if by := m.Slowed(); len(by) != 0 {
			t.Error("it is slowed still")
		}
	})
}
