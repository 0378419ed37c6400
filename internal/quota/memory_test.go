package quota_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/quota"
)

// A4: where memory is short, who has grown waits, and not who is large; one more with each look, and all go on
// together.
func TestCrowdHoldsWhoHasGrown(t *testing.T) {
	t.Parallel()
	b := quota.NewBook(nil)
	large, grows, small := b.Meter("a", "large"), b.Meter("a", "grows"), b.Meter("b", "small")
	large.Holds(0, quota.Memory{State: 500 << 20})
	large.Holds(1, quota.Memory{State: 100 << 20})
	small.Holds(0, quota.Memory{Keys: 1 << 10})
	grows.Holds(0, quota.Memory{Keys: 1 << 10})
	for range 3000 { // five minutes
		b.Crowd(500<<20, 2000<<20)
	}
	grows.Holds(0, quota.Memory{Keys: 50 << 20})
	want := func(l, g, s bool) {
		t.Helper()
		if large.Tight() != l || grows.Tight() != g || small.Tight() != s {
			t.Errorf("large %v, grows %v, small %v", large.Tight(), grows.Tight(), small.Tight())
		}
	}
	b.Crowd(1100<<20, 2000<<20)
	want(false, false, false)
	b.Crowd(1200<<20, 2000<<20)
	want(false, true, false)
	b.Crowd(1200<<20, 2000<<20)
	want(false, true, false) // nobody else has grown
	small.Holds(0, quota.Memory{Keys: 20 << 20})
	b.Crowd(1100<<20, 2000<<20)
	want(false, true, false)
	b.Crowd(1300<<20, 2000<<20)
	want(false, true, true)
	b.Crowd(900<<20, 2000<<20)
	want(false, false, false)
	large.Holds(0, quota.Memory{State: 1300 << 20}) // more than a collection has found by then
	b.Crowd(900<<20, 2000<<20)
	want(true, false, false)
}

// TestCrowdLetsGoWhatGrowsNoMore: a large graph that has come with what it holds is not held back, and one that was
// goes on when its growth is past, as long as something is left (A4).
func TestCrowdLetsGoWhatGrowsNoMore(t *testing.T) {
	t.Parallel()
	b := quota.NewBook(nil)
	m := b.Meter("a", "g")
	const limit = 1000 << 20
	after := func(looks int, used int64) bool {
		for range looks {
			b.Crowd(used, limit)
		}
		return m.Tight()
	}
	m.Holds(0, quota.Memory{Keys: 600 << 20}) // from a checkpoint
	if after(10, 650<<20) {
		t.Error("it is held back, and has not grown")
	}
	m.Holds(0, quota.Memory{Keys: 640 << 20})
	if !after(1, 690<<20) || !after(300, 690<<20) {
		t.Error("it has grown, and is not held back for half a minute")
	}
	if !after(3000, 810<<20) {
		t.Error("it is let go, and nothing is left to grow in")
	}
	if after(1, 790<<20) {
		t.Error("it has not grown for five minutes, and is held back")
	}
	m.Holds(0, quota.Memory{Keys: 642 << 20})
	if !after(1, 790<<20) {
		t.Error("it grows again, and is not held back")
	}
}

// TestNearItsMemoryAGraphIsSlowed: the nearer, the more; full, it waits until it holds less or may hold more.
func TestNearItsMemoryAGraphIsSlowed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := quota.NewBook(nil)
		m, pace := b.Meter("a", "g"), b.Pace("a", "g")
		m.Bind(quota.Bounds{Memory: 100 << 20})
		took := func(held int64) time.Duration {
			t.Helper()
			m.Holds(0, quota.Memory{Keys: held})
			began := time.Now()
			if err := pace.Wait(t.Context(), 1, 1, nil); err != nil {
				t.Fatal(err)
			}
			return time.Since(began)
		}
		if free, near, nearer := took(80<<20), took(92<<20), took(99<<20); free != 0 || near <= 0 || nearer <= 2*near ||
			pace.Most() == 0 {
			t.Errorf("it waits for %v, %v, %v, and takes %d at once", free, near, nearer, pace.Most())
		}
		for _, more := range []func(){
			func() { m.Holds(0, quota.Memory{Keys: 10 << 20}) },
			func() { m.Bind(quota.Bounds{Memory: 1 << 30}) },
			func() { m.Holds(0, quota.Memory{}) },
		} {
			m.Bind(quota.Bounds{Memory: 100 << 20})
			m.Holds(0, quota.Memory{Keys: 100 << 20})
			time.AfterFunc(time.Minute, more)
			began := time.Now()
			if err := pace.Wait(t.Context(), 1, 1, nil); err != nil || time.Since(began) != time.Minute {
				t.Errorf("%v after %v", err, time.Since(began))
			}
		}
		m.Bind(quota.Bounds{Memory: 100 << 20})
		m.Holds(0, quota.Memory{Records: 100 << 20, Keys: 50 << 20})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := pace.Admit(ctx, 1, 1)
		if e, ok := errors.AsType[*quota.ExceededError](err); !ok || e.Code() != "limit_exceeded" ||
			e.Error() != "limits.memory of the graph is 100 MiB, and it holds about 150 MiB, 100 of them records" {
			t.Error(err)
		}
	})
}

// TestCalm: who has come with what it holds is calm, and who has grown is not until that is forgotten, whether it is
// held back or not.
func TestCalm(t *testing.T) {
	t.Parallel()
	b := quota.NewBook(nil)
	m := b.Meter("a", "g")
	m.Holds(0, quota.Memory{Keys: 600 << 20}) // from a checkpoint
	if !m.Calm() {
		t.Error("it has not grown")
	}
	m.Holds(0, quota.Memory{Keys: 640 << 20})
	if m.Calm() {
		t.Error("it has grown")
	}
	for range 3000 { // five minutes
		b.Crowd(100<<20, 2000<<20)
	}
	if !m.Calm() {
		t.Error("it has not grown of late")
	}
	if (*quota.Meter)(nil).Calm() {
		t.Error("nobody knows")
	}
}
