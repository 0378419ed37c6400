package live

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/reactor"
)

// newQueue is reactors that can be woken, and nothing else, and a look at whether one was.
func newQueue(n int) (rs []*Reactor, woken func(r *Reactor) bool) {
	for range n {
		rs = append(rs, &Reactor{Options: Options{Inbox: NewInbox(nil)}, room: make(chan struct{}, 1)})
	}
	return rs, func(r *Reactor) bool {
		select {
		case <-r.room:
			return true
		default:
			return false
		}
	}
}

// Who comes again while it waits, since its inbox has woken it, waits once: it is not woken a
// second time in the place of who comes after it.
func TestGateQueuesEachOnce(t *testing.T) {
	g := NewGate(1, LendAfter)
	rs, woken := newQueue(3)
	if !g.enter(rs[0]) || g.enter(rs[1]) || g.enter(rs[1]) || g.enter(rs[2]) || g.enter(rs[1]) {
		t.Fatal("one place, and not one has it")
	}
	g.leave(rs[0])
	if !woken(rs[1]) || !g.enter(rs[1]) {
		t.Fatal("the first that waits has not got the place")
	}
	g.leave(rs[1])
	if woken(rs[1]) || !woken(rs[2]) {
		t.Error("the one that has had its place was woken instead of the next")
	}
}

// A place is never left lying: who was woken for it and has nothing to run any more, or has
// ended, passes it on.
func TestGatePassesOnWhatIsNotTaken(t *testing.T) {
	g := NewGate(1, LendAfter)
	rs, woken := newQueue(3)
	if !g.enter(rs[0]) || g.enter(rs[1]) || g.enter(rs[2]) {
		t.Fatal("one place, and not one has it")
	}
	g.forget(rs[2])
	if woken(rs[1]) {
		t.Fatal("one was woken, and there is no place")
	}
	g.enter(rs[2])
	g.leave(rs[0])
	if !woken(rs[1]) || woken(rs[2]) {
		t.Fatal("the first that waits was not woken, or another was")
	}
	g.forget(rs[1])
	if !woken(rs[2]) {
		t.Error("the place was not passed on")
	}
}

// Who finds the gate full is woken when a place comes free, in the order they came, and
// nobody is woken in the place of one that has ended.
func TestGateWakesWhoWaits(t *testing.T) {
	g := NewGate(1, LendAfter)
	rs, woken := newQueue(4)
	if !g.enter(rs[0]) || g.enter(rs[1]) || g.enter(rs[2]) || g.enter(rs[3]) {
		t.Fatal("one place, and not one has it")
	}
	g.forget(rs[1])
	g.leave(rs[0])
	if woken(rs[1]) || !woken(rs[2]) || woken(rs[3]) {
		t.Fatal("the one that has waited longest was not woken, or another was")
	}
	if !g.enter(rs[2]) {
		t.Fatal("there was no place for who was woken")
	}
	g.leave(rs[2])
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
	none.leave(rs[0])
}

// M25: a place of which somebody does not come out is another's after a second, and is one again when it is given back.
func TestM25GateLendsThePlaceOfWhoIsStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(1, LendAfter)
		rs, _ := newQueue(3)
		if !g.enter(rs[0]) || g.enter(rs[1]) {
			t.Fatal("one place, and not one has it")
		}
		time.Sleep(LendAfter - 1)
		if g.enter(rs[1]) {
			t.Fatal("the place was lent too soon")
		}
		time.Sleep(1)
		if !g.enter(rs[1]) {
			t.Fatal("one that does not come back keeps the others out")
		}
		if g.enter(rs[2]) {
			t.Error("one place was lent twice")
		}
		if used, _, waited := g.Use(); used != 2 || waited != 3 {
			t.Errorf("%d are inside, %d waited", used, waited)
		}
		g.leave(rs[1])
		g.leave(rs[0])
		if !g.enter(rs[2]) || g.enter(rs[1]) {
			t.Error("there is not one place afterwards")
		}
		forever := NewGate(1, 0)
		forever.enter(rs[0])
		time.Sleep(time.Hour)
		if forever.enter(rs[1]) {
			t.Error("a gate without patience has lent its place")
		}
	})
}

// A reactor that is paused, or stopped, while it waits for a place does not keep it from those
// who wait behind it, and one whose inbox wakes it meanwhile waits once.
func TestWaitingReactorLeavesTheQueue(t *testing.T) {
	for name, leave := range map[string]func(s *shell) error{
		"paused":  func(s *shell) error { return s.Pause(s.t.Context(), "ann") },
		"stopped": func(s *shell) error { return s.end() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := NewGate(1, LendAfter)
				gated := func(_ *reactor.Config, o *bedding) { o.Epochs = g }
				first, second := newShell(t, gated), newShell(t, gated)
				defer func() { _ = second.end() }()
				if !g.enter(nil) {
					t.Fatal("the gate has no place")
				}
				firsts, seconds := int64(0), int64(0)
				for range 3 {
					first.push(&firsts, 1)
					synctest.Wait()
				}
				second.push(&seconds, 1)
				synctest.Wait()
				if n := len(g.waiting); n != 2 {
					t.Fatalf("%d wait, want two", n)
				}
				if err := leave(first); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				g.leave(nil)
				synctest.Wait()
				if epoch := second.Core.Epoch(); epoch != 1 {
					t.Errorf("the reactor behind it stands at epoch %d", epoch)
				}
				if name == "paused" {
					if err := first.end(); err != nil {
						t.Fatal(err)
					}
				}
			})
		})
	}
}
