package reactor

import (
	"testing"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/reactor/form"
)

// newRigAt is newRig at another time.
func newRigAt(t *testing.T, now time.Time, doc string, opts ...option) *rig {
	t.Helper()
	r := &rig{t: t, now: now, sent: map[string]int64{}, c: NewCore(testConfig(t, doc, opts...))}
	r.start()
	return r
}

// M8: the ticks of a cadence begin no wait anew, also where each of them is an epoch, and
// through restarts.
func TestM8TicksRestartNoWait(t *testing.T) {
	for _, restart := range []bool{false, true} {
		cells := map[string]checkpoint.Cell{}
		r := newRig(t, graphOf(two, "{ when: all, every: 1s, max_wait: 5s }", pair))
		r.push("a", 1)
		for range 4 {
			r.advance(time.Second)
			r.fire()
			if r.last().Cause != CauseTick {
				t.Fatalf("cause %v", r.last().Cause)
			}
			if restart {
				r.reload(cells)
				r.start()
			}
		}
		r.advance(time.Second)
		r.want(r.fire(), "out=[1,null]@5")
		if r.last().Cause != CauseMaxWait {
			t.Fatalf("cause %v", r.last().Cause)
		}
	}
}

// M8, M28: since when what is queued waits is kept over a restart: a backlog goes when its own
// time has come.
func TestM28BacklogWaitsOnAfterARestart(t *testing.T) {
	cells := map[string]checkpoint.Cell{}
	const both = "  a: { strategy: sequential }\n  b: { strategy: sequential }\n"
	r := newRig(t, graphOf(both, "{ when: all, max_wait: 5s }", pair))
	r.push("a", 1)
	r.advance(2 * time.Second)
	r.push("a", 2)
	r.advance(2 * time.Second)
	r.push("a", 3)
	r.advance(time.Second)
	r.want(r.fire(), "out=[1,null]@1")
	r.reload(cells)
	r.start()
	r.advance(2 * time.Second)
	r.want(r.fire(), "out=[2,null]@2")
	r.reload(cells)
	r.start()
	r.advance(time.Second)
	r.want(r.fire(), "")
	r.advance(time.Second)
	r.want(r.fire(), "out=[3,null]@3")
}

// M8, M26, M28: the beginning of 1970 is a time like any other, in the core and in its
// checkpoint: for waits, for the rate limit, for the cadence, with and without keys.
func TestM8TimersAtTheBeginningOf1970(t *testing.T) {
	zero := time.Unix(0, 0).UTC()
	for _, restart := range []bool{false, true} {
		reload := func(r *rig) {
			if restart {
				r.reload(map[string]checkpoint.Cell{})
				r.start()
			}
		}
		r := newRigAt(t, zero, graphOf(two, "{ when: all, max_wait: 5s }", pair))
		r.push("a", 1)
		reload(r)
		if at, ok := r.c.Due(); !ok || !at.Equal(zero.Add(5*time.Second)) {
			t.Fatalf("restart %v: due at %v, %v", restart, at, ok)
		}
		r = newRigAt(t, zero, graphOf("  a: {}\n", "{ when: any, rate_limit: 10s }", single))
		r.push("a", 1)
		r.want(r.fire(), "out=1@1")
		reload(r)
		r.push("a", 2)
		r.want(r.fire(), "")
		r = newRigAt(t, zero, graphOf("  a: {}\n", "{ when: any, every: 10s }", single))
		reload(r)
		if at, ok := r.c.Due(); !ok || !at.Equal(zero.Add(10*time.Second)) {
			t.Fatalf("restart %v: the cadence is due at %v, %v", restart, at, ok)
		}
		r = newRigAt(t, zero, graphOf("  a: {}\n  b: {}\n", "{ when: all, max_wait: 5s }", pair), keyed(func(*Keys) {}))
		r.give("a", "p", 1)
		reload(r)
		if at, ok := r.c.Due(); !ok || !at.Equal(zero.Add(5*time.Second)) {
			t.Fatalf("restart %v, keyed: due at %v, %v", restart, at, ok)
		}
	}
	for _, at := range []time.Time{{}, zero, zero.Add(1), zero.Add(-1)} {
		r := form.Reader{Rest: form.AppendTime(nil, at)}
		if got := r.Time(); !got.Equal(at) || got.IsZero() != at.IsZero() {
			t.Errorf("%v is read back as %v", at, got)
		}
	}
}

// M8: before 1970 the grid is the same, and what may start at once does.
func TestM8TimersBefore1970(t *testing.T) {
	before := time.Date(1960, 1, 1, 0, 0, 3, 0, time.UTC)
	r := newRigAt(t, before, graphOf("  a: {}\n", "{ when: any, every: 10s }", single))
	r.push("a", 1)
	r.want(r.fire(), "")
	if at, ok := r.c.Due(); !ok || !at.Equal(before.Add(7*time.Second)) {
		t.Fatalf("due at %v, %v", at, ok)
	}
	r.advance(7 * time.Second)
	r.want(r.fire(), "out=1@1")
	r = newRigAt(t, before, graphOf("  a: {}\n", "{ when: any, rate_limit: 10s }", single), keyed(func(*Keys) {}))
	r.give("a", "p", 1)
	r.want(r.fire(), "out=1@1")
}

// M17: epochs of one instant that take in nothing new are bounded; what is left waits until
// time moves on or something arrives, and health says so.
func TestM17LivelockIsBounded(t *testing.T) {
	r := newRig(t, graphOf("  a: {}\n", "{ when: any, every: 1s }", single), func(c *Config) { c.MaxMicroEpochs = 100 })
	spin := func() int {
		n := 0
		for r.c.Fire(r.now) && n < 1000 {
			r.c.ticked -= int64(time.Second) // the tick is due again, as a feedback would be
			n++
		}
		return n
	}
	r.advance(time.Second)
	if n := spin(); n != 100 {
		t.Fatalf("%d epochs", n)
	}
	if code, _ := r.c.HealthReason(); r.c.Health() != HealthDegraded || code != "feedback_livelock" {
		t.Fatalf("health %s, %s", r.c.Health(), code)
	}
	if at, ok := r.c.Due(); !ok || !at.After(r.now) || at.After(r.now.Add(time.Second)) {
		t.Fatalf("due at %v, %v", at, ok)
	}
	r.push("a", 1) // new input is taken at once
	if r.c.Health() != HealthLive {
		t.Fatalf("health %s after new input", r.c.Health())
	}
	if n := spin(); n != 101 || r.books("a").Consumed != 1 {
		t.Fatalf("%d epochs, %+v", n, r.books("a"))
	}
	r.advance(time.Second)
	if r.c.Tick(r.now); r.c.Health() != HealthLive {
		t.Fatalf("health %s in the next instant", r.c.Health())
	}
}

// A backlog is no livelock, however long: every epoch takes something.
func TestM17ABacklogIsNoLivelock(t *testing.T) {
	r := newRig(t, graphOf("  a: { strategy: sequential }\n", "{ when: any, guard: a < 0 }", single),
		func(c *Config) { c.MaxMicroEpochs = 10 })
	for i := range 100 {
		r.push("a", i)
	}
	r.want(r.fire(), "")
	if b := r.books("a"); b.Filtered != 100 {
		t.Fatalf("%+v", b)
	}
}

// M8, M26: where the start is not known the cadence begins with the first event, on its grid.
func TestM8CadenceWithoutAStart(t *testing.T) {
	const second = time.Second
	for offset, due := range map[time.Duration]time.Duration{0: 0, second: 10 * second, 10 * second: 10 * second} {
		r := newRigAt(t, time.Time{}, graphOf("  a: {}\n", "{ when: any, every: 10s }", single))
		if _, ok := r.c.Due(); ok {
			t.Fatal("a cadence is due before there is a time")
		}
		first := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		r.now = first.Add(offset)
		r.push("a", 1)
		if at, ok := r.c.Due(); !ok || !at.Equal(first.Add(due)) {
			t.Errorf("first event at %v: due at %v, %v", r.now, at, ok)
		}
	}
}

// M8: the ticks of a cadence keep the distance of rate_limit too: they do not put off for ever
// what waits for it.
func TestM8TicksKeepTheRateLimit(t *testing.T) {
	r := newRig(t, graphOf("  a: {}\n", "{ when: any, every: 500ms, rate_limit: 900ms }", single))
	r.advance(500 * time.Millisecond)
	r.fire() // a tick
	r.push("a", 1)
	r.advance(500 * time.Millisecond)
	r.want(r.fire(), "")
	r.advance(500 * time.Millisecond)
	r.want(r.fire(), "out=1@2")
}
