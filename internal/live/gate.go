package live

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// LendAfter is how long one epoch may keep others from running theirs: the place of a graph whose node does not come
// back is another's from then on (M25). A turn of short epochs ends before.
const LendAfter = time.Second

// Gate bounds how many reactors run epochs at one time. Who finds it full is woken when
// there is room, and goes on serving commands and its inbox meanwhile. A nil Gate bounds
// nothing. Safe for concurrent use.
type Gate struct {
	most     int
	patience time.Duration // who has been inside for longer is not counted; 0: for ever
	full     atomic.Int64  // how often somebody had to wait

	mu      sync.Mutex
	inside  map[*Reactor]time.Time // since when
	waiting []*Reactor             // in the order they came; each once
}

// NewGate makes a gate for so many; 0 is nil, no bound. Who is inside for longer than patience is not counted any more;
// 0 is for ever.
func NewGate(most int, patience time.Duration) *Gate {
	if most <= 0 {
		return nil
	}
	return &Gate{most: most, patience: patience, inside: map[*Reactor]time.Time{}}
}

// Use is how many run epochs now, those that are not counted any more among them, how many may, and how often one had
// to wait.
func (g *Gate) Use() (used, most, waited int64) {
	if g == nil {
		return 0, 0, 0
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return int64(len(g.inside)), int64(g.most), g.full.Load()
}

// enter takes a place for r, or puts r among those who wait, if it is not among them yet: it may
// have been woken by something else than a place.
func (g *Gate) enter(r *Reactor) bool {
	if g == nil {
		return true
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.room() {
		g.inside[r] = time.Now()
		g.strike(r)
		return true
	}
	g.full.Add(1)
	if !slices.Contains(g.waiting, r) {
		g.waiting = append(g.waiting, r)
	}
	return false
}

// room says that there is a place. mu is held.
func (g *Gate) room() bool {
	n := len(g.inside)
	if n < g.most || g.patience == 0 {
		return n < g.most
	}
	now := time.Now()
	for _, since := range g.inside {
		if now.Sub(since) >= g.patience {
			n--
		}
	}
	return n < g.most
}

// leave gives r's place back and wakes who has waited longest.
func (g *Gate) leave(r *Reactor) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.inside, r)
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
	if g.room() {
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
