package live

import (
	"slices"
	"sync"
	"sync/atomic"
)

// Gate bounds how many reactors run epochs at one time. Who finds it full is woken when
// there is room, and goes on serving commands and its inbox meanwhile. A nil Gate bounds
// nothing. Safe for concurrent use.
type Gate struct {
	most int64
	used atomic.Int64
	full atomic.Int64 // how often somebody had to wait

	mu      sync.Mutex
	waiting []*Reactor // in the order they came; each once
}

// NewGate makes a gate for so many; 0 is nil, no bound.
func NewGate(most int) *Gate {
	if most <= 0 {
		return nil
	}
	return &Gate{most: int64(most)}
}

// Use is how many run epochs now, how many may, and how often one had to wait.
func (g *Gate) Use() (used, most, waited int64) {
	if g == nil {
		return 0, 0, 0
	}
	return g.used.Load(), g.most, g.full.Load()
}

// enter takes a place for r, or puts r among those who wait, if it is not among them yet: it may
// have been woken by something else than a place.
func (g *Gate) enter(r *Reactor) bool {
	if g == nil || g.tryEnter() {
		return true
	}
	g.full.Add(1)
	g.mu.Lock()
	defer g.mu.Unlock()
	if !slices.Contains(g.waiting, r) {
		g.waiting = append(g.waiting, r)
	}
	// A place may have come free before r was among those who wait.
	if g.tryEnter() {
		g.strike(r)
		return true
	}
	return false
}

func (g *Gate) tryEnter() bool {
	if g.used.Add(1) <= g.most {
		return true
	}
	g.used.Add(-1)
	return false
}

// leave gives the place back and wakes who has waited longest.
func (g *Gate) leave() {
	if g == nil {
		return
	}
	g.used.Add(-1)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.wake()
}

// forget is for who has waited and wants no place any more, since it has ended or has nothing to
// run: it is not woken in another's place, and a place that it was woken for is the next one's.
func (g *Gate) forget(r *Reactor) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.strike(r)
	if g.used.Load() < g.most {
		g.wake()
	}
}

// wake wakes who has waited longest. mu is held.
func (g *Gate) wake() {
	if len(g.waiting) > 0 {
		g.waiting[0].Room()
		g.waiting[0] = nil
		g.waiting = g.waiting[1:]
	}
}

// strike takes r off the list. mu is held.
func (g *Gate) strike(r *Reactor) {
	g.waiting = slices.DeleteFunc(g.waiting, func(w *Reactor) bool { return w == r })
}
