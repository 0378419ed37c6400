package live

import (
	"testing"
)

// Who finds the gate full is woken when a place comes free, in the order they came, and
// nobody is woken in the place of one that has ended.
func TestGateWakesWhoWaits(t *testing.T) {
	g := NewGate(1)
	rs := make([]*Reactor, 4)
	for i := range rs {
		rs[i] = &Reactor{room: make(chan struct{}, 1)}
	}
	woken := func(r *Reactor) bool {
		select {
		case <-r.room:
			return true
		default:
			return false
		}
	}
	if !g.enter(rs[0]) || g.enter(rs[1]) || g.enter(rs[2]) || g.enter(rs[3]) {
		t.Fatal("one place, and not one has it")
	}
	g.forget(rs[1])
	g.leave()
	if woken(rs[1]) || !woken(rs[2]) || woken(rs[3]) {
		t.Fatal("the one that has waited longest was not woken, or another was")
	}
	if !g.enter(rs[2]) {
		t.Fatal("there was no place for who was woken")
	}
	g.leave()
	if !woken(rs[3]) {
		t.Fatal("the last one was not woken")
	}
	if used, most, waited := g.Use(); used != 0 || most != 1 || waited != 3 {
		t.Errorf("%d of %d, %d waited", used, most, waited)
	}
	var none *Gate
	if !none.enter(rs[0]) {
		t.Error("no gate holds somebody up")
	}
	none.leave()
}
