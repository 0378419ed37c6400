package quota

import (
	"context"
	"errors"
	"iter"
	"sync"
	"time"
)

// Rate lets so many through in a second, and a second's worth at once. What is let through may be more than there is
// room for: then it is owed, and those behind it wait for longer. They go in the order of their coming.
type Rate struct {
	limit int
	why   Cause // what whoever waits for it is held back by

	mu      sync.Mutex
	room    float64 // below 0 it is owed
	at      time.Time
	refused int64
	waited  time.Duration
	// second is the one that now is counted in, and before what the one before it had.
	second      time.Time
	now, before int64
}

// NewRate lets so many through in a second.
func NewRate(limit int) *Rate {
	now := time.Now()
	return &Rate{limit: limit, room: float64(limit), at: now, second: now}
}

// Limit is how many it lets through in a second.
func (r *Rate) Limit() int { return r.limit }

// pass has the time go on. r.mu is held.
func (r *Rate) pass() {
	now := time.Now()
	r.room = min(float64(r.limit), r.room+now.Sub(r.at).Seconds()*float64(r.limit))
	r.at = now
	switch since := now.Sub(r.second); {
	case since >= 2*time.Second:
		r.second, r.before, r.now = now, 0, 0
	case since >= time.Second:
		r.second, r.before, r.now = r.second.Add(time.Second), r.now, 0
	}
}

// owed is how long it takes until there is room again. r.mu is held.
func (r *Rate) owed() time.Duration {
	return time.Duration(max(0, -r.room) / float64(r.limit) * float64(time.Second))
}

// Wait lets n through as soon as there is room. It fails with ctx's error, and at once with an [ExceededError] where
// ctx ends before there will be room; then none has gone through. A nil Rate never waits.
func (r *Rate) Wait(ctx context.Context, n int) error { return r.wait(ctx, n, false, nil, nil) }

// wait tells m how long it takes, and waits that it does.
func (r *Rate) wait(ctx context.Context, n int, patient bool, m *Meter, waits func(lasting bool)) error {
	if r == nil || n <= 0 {
		return nil
	}
	r.mu.Lock()
	r.pass()
	wait := r.owed()
	m.waits(r.why, wait)
	// It has to find room behind this, too.
	if by, ok := ctx.Deadline(); ok && !patient && wait > 0 && time.Until(by) < wait+wait/8 {
		r.refused++
		r.mu.Unlock()
		return &ExceededError{Quota: Events, Own: r.why == GraphEvents, Limit: r.limit, After: wait}
	}
	r.room -= float64(n)
	r.now += int64(n)
	r.waited += wait
	r.mu.Unlock()
	if wait == 0 {
		return nil
	}
	if waits != nil {
		waits(false)
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.room += float64(n); patient || !errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return ctx.Err()
		}
		r.refused++
		return &ExceededError{Quota: Events, Own: r.why == GraphEvents, Limit: r.limit, After: max(r.owed(), shortly)}
	}
}

// shortly is when to come again at least.
const shortly = 100 * time.Millisecond

// Held says for how long whoever comes now would wait. It is 0 for a nil Rate.
func (r *Rate) Held() time.Duration {
	if r == nil {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pass()
	return r.owed()
}

// use is what went through in the last whole second, how often somebody was told to come again, and how long all that
// came have waited together. While something is owed as much as may is on its way through in each second.
func (r *Rate) use() (used, refused int64, waited time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pass()
	if used = r.before; r.room < 0 {
		used = max(used, int64(r.limit))
	}
	return used, r.refused, r.waited
}

// Pace is what the events of a graph go through: rates that hold them back together, such as a tenant's, that of the
// graph's own limits, and its meter. What is nil of it does nothing.
type Pace struct {
	Rates []*Rate
	Meter *Meter
}

// all are the rates, that of the graph as it is declared now among them.
func (p Pace) all() iter.Seq[*Rate] {
	return func(yield func(*Rate) bool) {
		for _, r := range p.Rates {
			if !yield(r) {
				return
			}
		}
		yield(p.Meter.rate())
	}
}

// Wait lets n through as soon as there is room in all. Its error is ctx's. waits, which may be nil, is told before it
// waits: lasting says that it may be until the graph has less.
func (p Pace) Wait(ctx context.Context, n int, bytes int64, waits func(lasting bool)) error {
	p.Meter.Took(bytes)
	if err := p.Meter.grow(ctx, true, waits); err != nil {
		return err
	}
	for r := range p.all() {
		if err := r.wait(ctx, n, true, p.Meter, waits); err != nil {
			return err
		}
	}
	return nil
}

// Admit is Wait for events that somebody pushes, who is told to come again where there is no room in time, as by
// [Rate.Wait].
func (p Pace) Admit(ctx context.Context, n int, bytes int64) error {
	if err := p.Meter.grow(ctx, false, nil); err != nil {
		return err
	}
	for r := range p.all() {
		if err := r.wait(ctx, n, false, p.Meter, nil); err != nil {
			return err
		}
	}
	p.Meter.Took(bytes)
	return nil
}

// mostTight is how many go at once where memory is tight: few enough that what they take is seen before there is much
// more.
const mostTight = 256

// Most is how many to let through at once, so that nobody else waits for much longer than a tenth of a second; 0 is
// any number.
func (p Pace) Most() (most int) {
	if p.Meter.Tight() {
		most = mostTight
	}
	if left := p.Meter.keysLeft(); left >= 0 && (most == 0 || left < most) {
		most = max(1, left)
	}
	for r := range p.all() {
		if r != nil && (most == 0 || r.limit/10 < most) {
			most = max(1, r.limit/10)
		}
	}
	return most
}
