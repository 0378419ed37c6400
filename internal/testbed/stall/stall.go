// Package stall measures how long a machine that does much else keeps a test from running.
//
// A test of what is promised within a time takes it as its control: what is late by no more than the test itself was
// kept waiting says nothing of graphd. What takes ten times as long as promised hangs, whatever the machine does.
//
//	control := stall.Begin()
//	…
//	control.End().Within(t, "the socket ends", promised)
//
// # Concurrency
//
// Begin starts a goroutine, which End joins.
package stall

import (
	"testing"
	"time"
)

// step is how often the control is due.
const step = 5 * time.Millisecond

// factor is how many times longer what is measured may be kept waiting than the control. That is one goroutine which
// sleeps and wakes; what is measured goes from goroutine to goroutine, and from process to process.
const factor = 3

// slowest is how many times longer than promised something may take on whatever machine: what takes longer hangs.
const slowest = 10

// Control is due every few milliseconds, and adds up by how much it is late.
type Control struct {
	began time.Time
	end   chan struct{}
	late  chan time.Duration
}

// Begin starts to measure.
func Begin() *Control {
	c := &Control{began: time.Now(), end: make(chan struct{}), late: make(chan time.Duration, 1)}
	go func() { // joined by End
		late, before := time.Duration(0), time.Now()
		timer := time.NewTimer(step)
		defer timer.Stop()
		for {
			select {
			case <-timer.C:
			case <-c.end:
				c.late <- late
				return
			}
			now := time.Now()
			late += max(0, now.Sub(before)-step)
			before = now
			timer.Reset(step)
		}
	}()
	return c
}

// End stops to measure. It may be called once.
func (c *Control) End() Took {
	took := time.Since(c.began)
	close(c.end)
	return Took{Real: took, Late: <-c.late}
}

// Took is how long something took.
type Took struct {
	Real time.Duration // by the clock
	Late time.Duration // for how long of that the control was kept from running
}

// Allowed is how long it may have taken that is promised within a time: longer by what the control was late, several
// times, and at most ten times as long.
func (k Took) Allowed(promised time.Duration) time.Duration {
	return min(promised+factor*k.Late, slowest*promised)
}

// Within holds that it came within the time that is promised for it, and says so where that was given more time.
func (k Took) Within(t testing.TB, what string, promised time.Duration) {
	t.Helper()
	allowed := k.Allowed(promised)
	switch {
	case k.Real > allowed:
		t.Errorf("%s after %v, and %v are promised, which are %v here", what, k.Real, promised, allowed)
	case k.Real > promised:
		t.Logf("%s after %v: %v are promised, which are %v here", what, k.Real, promised, allowed)
	}
}
