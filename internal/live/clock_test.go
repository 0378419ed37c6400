package live

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/reactor"
)

// dial is a wall clock that can be set beside a monotonic one that cannot. A reactor may read it meanwhile.
type dial struct{ off atomic.Int64 }

func (h *dial) set(by time.Duration) { h.off.Add(int64(by)) }

func (h *dial) wall() time.Time { return time.Now().Add(time.Duration(h.off.Load())) }

func (h *dial) clock() *Clock {
	began := time.Now()
	return newClock(func() (wall, mono int64) {
		return h.wall().UnixNano(), int64(time.Since(began))
	})
}

// M26: engine time is the wall clock while that agrees with the monotonic one; set back, it goes
// on by the monotonic one, a tenth slower until the wall clock has caught up; set forward, it
// follows when that has lasted. It never goes backwards.
func TestM26EngineTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h dial
		c := h.clock()
		last := c.Now()
		pass := func(d time.Duration) (ahead time.Duration, step time.Duration) {
			t.Helper()
			time.Sleep(d)
			now, step := c.check()
			if now.Before(last) || c.Now().Before(now) {
				t.Fatalf("engine time went from %v to %v", last, now)
			}
			last = now
			return now.Sub(h.wall()), step
		}
		expect := func(after, ahead, step time.Duration) {
			t.Helper()
			if a, s := pass(after); a != ahead || s != step {
				t.Fatalf("after %v engine time is ahead by %v, told %v; want %v and %v", after, a, s, ahead, step)
			}
		}
		expect(time.Minute, 0, 0)
		h.set(-20 * time.Millisecond) // what clocks are off by is not told
		expect(0, 20*time.Millisecond, 0)
		expect(time.Second, 0, 0)
		h.set(-time.Hour)
		expect(0, time.Hour, -time.Hour)
		expect(10*time.Minute, 59*time.Minute, -time.Hour)
		expect(12*time.Hour, 0, 0)
		h.set(24 * time.Hour) // and set right soon
		expect(0, -24*time.Hour, 24*time.Hour)
		expect(9*time.Second, -24*time.Hour, 24*time.Hour)
		h.set(-24 * time.Hour)
		expect(time.Second, 0, 0)
		h.set(time.Hour) // and it stays there, as after a machine has slept
		expect(time.Second, -time.Hour, time.Hour)
		expect(10*time.Second, 0, 0)
	})
}

// M26, M8: a rate limit runs on while the wall clock is an hour back, and health tells the step.
func TestM26RateLimitWhenTheClockIsSetBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h dial
		s := newShell(t, func(cfg *reactor.Config, o *bedding) {
			cfg.RateLimit = 100 * time.Millisecond
			o.Clock = h.clock()
		})
		defer func() { _ = s.end() }()
		received := int64(0)
		s.push(&received, 200)
		time.Sleep(time.Second)
		before := s.View().Epoch
		h.set(-time.Hour)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		v := s.View()
		if n := v.Epoch - before; n < 40 {
			t.Errorf("%d epochs within 5s of a clock that was set back, want 45", n)
		}
		if v.Health != reactor.HealthDegraded || v.Code != "clock_stepped" {
			t.Errorf("health %s %s %s", v.Health, v.Code, v.Detail)
		}
		h.set(time.Hour)
		time.Sleep(time.Minute)
		synctest.Wait()
		if v := s.View(); v.Health != reactor.HealthLive {
			t.Errorf("the clock was set right, and health is %s %s", v.Health, v.Detail)
		}
	})
}

// M26: an engine time that was persisted under a clock that was a day ahead is not gone on from;
// one that is ahead by less is, so that time does not go backwards.
func TestM26PersistedTimeAheadOfTheWallClock(t *testing.T) {
	for ahead, keeps := range map[time.Duration]bool{30 * time.Minute: true, 24 * time.Hour: false} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			s := newShell(t, func(cfg *reactor.Config, o *bedding) {
				cfg.RateLimit = time.Second
				old := reactor.NewCore(*cfg)
				old.Start(began.Add(ahead))
				old.SetHealth(began.Add(ahead), 0, "live", "", "")
				old.Admit(began.Add(ahead), 0, handoff(1, 1, 1), 0)
				old.Fire(began.Add(ahead))
				seal := old.Seal(began.Add(ahead)).Commit()
				o.Head.Meta, o.Head.Epoch = seal.Meta, seal.Epoch
				o.cells = seal.Cells
			})
			defer func() { _ = s.end() }()
			received := int64(1)
			s.push(&received, 3)
			time.Sleep(10 * time.Second)
			synctest.Wait()
			v := s.View()
			if v.Epoch != 4 {
				t.Errorf("%v ahead: epoch %d after ten seconds, want 4", ahead, v.Epoch)
			}
			if resumed := v.LastFired.Sub(began) > time.Minute; resumed != keeps {
				t.Errorf("%v ahead: the last epoch was at %v", ahead, v.LastFired)
			}
			if told := v.Code == "clock_stepped"; told != keeps {
				t.Errorf("%v ahead: health %s %s", ahead, v.Health, v.Code)
			}
		})
	}
}
