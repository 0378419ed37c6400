// Package stall measures how long a machine that does much else keeps a test from running.
//
// A test of what is promised within a time takes it as its control: what is late by no more than the test itself was
// kept waiting says nothing of graphd.
//
//	control := stall.Begin()
//	began := time.Now()
//	…
//	if took := time.Since(began); took > promised+control.End() {
//
// # Concurrency
//
// Begin starts a goroutine, which End joins.
package stall

import "time"

// step is how often the control is due.
const step = 5 * time.Millisecond

// factor is how many times longer what is measured may be kept waiting than the control. That is one goroutine which
// sleeps and wakes; what is measured goes from goroutine to goroutine, and from process to process.
const factor = 3

// Control is due every few milliseconds, and adds up by how much it is late.
type Control struct {
	end  chan struct{}
	late chan time.Duration
}

// Begin starts to measure.
func Begin() *Control {
	c := &Control{end: make(chan struct{}), late: make(chan time.Duration, 1)}
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

// End stops to measure, and answers how much longer something may have taken since Begin than it takes where there is
// a processor for it. It may be called once.
func (c *Control) End() time.Duration {
	close(c.end)
	return factor * <-c.late
}
