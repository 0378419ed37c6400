// Package turns bounds how many declarations are compiled at one time, and how much of the processors' time one tenant
// has for it. Begin with [New].
//
// It starts no goroutine. Turns are safe for concurrent use.
package turns

import (
	"context"
	"errors"
	"sync"
	"time"
)

// inHand is how much a tenant may compile at once before its share of the time counts: hundreds of usual declarations.
const inHand = 5 * time.Second

// ErrSpent says that a tenant has compiled for longer than its share, and would wait for longer than it has.
var ErrSpent = errors.New("the tenant has had its share of the time for compiling")

// Turns are places among those who compile. What a tenant takes beyond a quarter of the processors' time it owes, and
// waits until that has passed.
type Turns struct {
	most  int
	share float64 // of a second, for each second

	mu    sync.Mutex
	used  int
	each  map[string]*tenant
	freed chan struct{} // closed when one has ended
}

// tenant is what one has.
type tenant struct {
	used int
	owes time.Duration // what it has compiled, without what has been made up for
	at   time.Time     // when that was so
}

// New has as many places as there are processors, but two.
func New(processors int) *Turns {
	return &Turns{most: max(2, processors), share: float64(max(2, processors)) / 4, each: map[string]*tenant{},
		freed: make(chan struct{})}
}

// Take waits for a turn until ctx is done; free gives it back. Its error is ctx's, or ErrSpent.
func (t *Turns) Take(ctx context.Context, name string) (free func(), err error) {
	for {
		t.mu.Lock()
		wait, spent := t.spent(name)
		if by, bounded := ctx.Deadline(); spent && bounded && time.Until(by) < wait {
			t.mu.Unlock()
			return nil, ErrSpent
		}
		if !spent && t.used < t.most && (t.each[name] == nil || t.each[name].used < t.most-1) {
			t.begin(name)
			t.mu.Unlock()
			began := time.Now()
			return func() { t.free(name, time.Since(began)) }, nil
		}
		freed := t.freed
		t.mu.Unlock()
		if !spent {
			wait = time.Hour
		}
		timer := time.NewTimer(wait)
		select {
		case <-freed:
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, ctx.Err()
		}
		timer.Stop()
	}
}

// spent says for how long a tenant waits that has had its share. t.mu is held.
func (t *Turns) spent(name string) (wait time.Duration, spent bool) {
	e := t.each[name]
	if e == nil {
		return 0, false
	}
	now := time.Now()
	e.owes = max(0, e.owes-time.Duration(float64(now.Sub(e.at))*t.share))
	e.at = now
	if e.owes == 0 && e.used == 0 {
		delete(t.each, name)
	}
	return time.Duration(float64(e.owes-inHand)/t.share) + 1, e.owes > inHand
}

// begin takes a place. t.mu is held.
func (t *Turns) begin(name string) {
	if t.each[name] == nil {
		t.each[name] = &tenant{at: time.Now()}
	}
	t.used++
	t.each[name].used++
}

func (t *Turns) free(name string, took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.used--
	t.each[name].used--
	t.each[name].owes += took
	for other := range t.each { // who owes nothing any more is forgotten
		_, _ = t.spent(other)
	}
	close(t.freed)
	t.freed = make(chan struct{})
}

// Used is how many compile now, and how many tenants do or owe something.
func (t *Turns) Used() (turns, tenants int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.used, len(t.each)
}
