package placement

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
)

const lease = 3 * time.Second

// here is a desk of member a, with b beside it, and units of each of the two.
type here struct {
	t                *testing.T
	desk             Desk
	members          []checkpoint.Member
	owners           map[checkpoint.ID]string
	places           map[checkpoint.ID]Place
	dealers          map[checkpoint.ID]string
	waiting, running []checkpoint.ID
	mine, hers       []checkpoint.ID // as they rank
}

// plan is what the desk says at one moment.
type plan struct {
	Take map[checkpoint.ID]bool
	Back []checkpoint.ID
}

func newHere(t *testing.T) *here {
	h := &here{t: t, desk: Desk{Self: "a", Lease: lease, Patience: 30 * time.Second},
		members: []checkpoint.Member{member("a", 1), member("b", 1)}, owners: map[checkpoint.ID]string{}}
	for _, id := range units(100) {
		if rankOf(id, h.members)[0] == "a" {
			h.mine = append(h.mine, id)
		} else {
			h.hers = append(h.hers, id)
		}
	}
	return h
}

func (h *here) at(seconds float64) plan {
	now := time.Duration(seconds * float64(time.Second))
	h.desk.See(checkpoint.Roster{Members: h.members, Owners: maps.Clone(h.owners), Dealers: h.dealers},
		Places{Linked: h.places})
	p := plan{Take: map[checkpoint.ID]bool{}}
	for _, id := range h.waiting {
		p.Take[id] = h.desk.May(now, id)
	}
	p.Back = h.desk.Back(now, h.running)
	return p
}

func (h *here) run(ids ...checkpoint.ID) {
	h.running = append(h.running, ids...)
	for _, id := range ids {
		h.owners[id] = "a"
		h.waiting = slices.DeleteFunc(h.waiting, func(w checkpoint.ID) bool { return w == id })
	}
}

// release is what follows when a unit has been handed back.
func (h *here) release(ids ...checkpoint.ID) {
	for _, id := range ids {
		delete(h.owners, id)
		h.running = slices.DeleteFunc(h.running, func(r checkpoint.ID) bool { return r == id })
		h.waiting = append(h.waiting, id)
	}
}

// M52: what is free is taken at once by who ranks first, by another after two leases, and what
// somebody owns by nobody else.
func TestM52Taking(t *testing.T) {
	h := newHere(t)
	own, other, owned := h.mine[0], h.hers[0], h.mine[1]
	h.waiting = []checkpoint.ID{own, other, owned}
	h.owners[owned] = "b"
	for _, c := range []struct {
		at  float64
		own bool
	}{{0, false}, {5.9, false}, {6, true}, {6.1, true}, {60, true}} {
		plan := h.at(c.at)
		if !plan.Take[own] || plan.Take[other] != c.own || plan.Take[owned] {
			t.Errorf("after %vs: %v", c.at, plan.Take)
		}
	}
	h.owners[other] = "b"
	h.at(61)
	delete(h.owners, other)
	if plan := h.at(62); plan.Take[other] {
		t.Error("the time that a unit was owned counts as time that it was free")
	}
}

// M52: what has ranked another first for half a minute goes back, a tenth at a time.
func TestM52HandingBack(t *testing.T) {
	h := newHere(t)
	h.run(h.hers[:25]...)
	h.run(h.mine[:5]...)
	if plan := h.at(0); plan.Back != nil {
		t.Errorf("at once: %v", plan.Back)
	}
	if plan := h.at(29.9); plan.Back != nil {
		t.Errorf("too early: %v", plan.Back)
	}
	first := h.at(30).Back
	if len(first) != 3 {
		t.Fatalf("a tenth of 30 is 3, not %v", first)
	}
	if again := h.at(31).Back; again != nil {
		t.Errorf("more while the first are on their way: %v", again)
	}
	h.release(first...)
	if next := h.at(32).Back; len(next) != 0 { // nobody has taken them
		t.Errorf("the window is %v", next)
	}
	for n, id := range first {
		h.owners[id] = "b"
		next := h.at(33 + float64(n)/10).Back
		if want := []int{0, 1, 1}[n]; len(next) != want { // a tenth of 27 is 2
			t.Errorf("when %d are taken: %v", n+1, next)
		}
		h.release(next...)
	}
	if next := h.at(44).Back; len(next) != 0 {
		t.Errorf("nobody has taken the last two, and %v go", next)
	}
	if next := h.at(46).Back; len(next) != 2 {
		t.Errorf("12 s later: %v", next)
	}
	for _, id := range first {
		if slices.Contains(h.mine, id) {
			t.Errorf("%s ranks this daemon first, and goes", id)
		}
	}
}

// M52: a rank that changes back in between begins the wait anew.
func TestM52PatienceBeginsAnew(t *testing.T) {
	h := newHere(t)
	h.run(h.hers[0])
	h.at(0)
	all := h.members
	h.members = all[:1]
	h.at(20)
	h.members = all
	h.at(21)
	if plan := h.at(50); plan.Back != nil {
		t.Errorf("handed back after 29 s: %v", plan.Back)
	}
	if plan := h.at(51); len(plan.Back) != 1 {
		t.Error("not handed back after 30 s")
	}
}

// M52: who drains or leaves hands everything back at once, if there is anybody to take it.
func TestM52DrainIsAtOnce(t *testing.T) {
	for what, set := range map[string]func(*checkpoint.Member){
		"drained": func(m *checkpoint.Member) { m.Drained = true },
		"leaving": func(m *checkpoint.Member) { m.Leaving = true },
	} {
		h := newHere(t)
		h.run(h.mine[:20]...)
		h.at(0)
		set(&h.members[0])
		if plan := h.at(1); len(plan.Back) != 20 {
			t.Errorf("%s: %d of 20 go", what, len(plan.Back))
		}
		h = newHere(t)
		h.run(h.mine[:20]...)
		h.members = h.members[:1]
		set(&h.members[0])
		if plan := h.at(1); plan.Back != nil {
			t.Errorf("%s: %d go to nobody", what, len(plan.Back))
		}
	}
}

// M52: units that feed each other go together, those that feed before those that are fed.
func TestM52GroupsGoTogether(t *testing.T) {
	h := newHere(t)
	three := h.hers[:3] // ranked by the least of them, which is b's
	h.places = Groups([]Link{{three[2], three[0]}, {three[0], three[1]}})
	h.run(three...)
	h.at(0)
	for _, want := range []checkpoint.ID{three[2], three[0], three[1]} {
		back := h.at(31).Back
		if len(back) != 1 || back[0] != want {
			t.Fatalf("handed back %v, want %v", back, want)
		}
		if more := h.at(31).Back; more != nil {
			t.Fatalf("%v goes before what feeds it has gone", more)
		}
		h.release(want)
	}
}

// M52: a daemon that ranks first and takes nothing is tried again less and less often.
func TestM52WhoTakesNothingIsTriedRarely(t *testing.T) {
	h := newHere(t)
	id := h.hers[0]
	h.run(id)
	now := 0.0
	h.at(now)
	for _, patience := range []float64{30, 60, 120} {
		if plan := h.at(now + patience - 1); plan.Back != nil {
			t.Fatalf("handed back before %vs", patience)
		}
		if plan := h.at(now + patience); len(plan.Back) != 1 {
			t.Fatalf("not handed back after %vs", patience)
		}
		now += patience
		h.release(id)
		h.at(now)
		if now += 6; !h.at(now).Take[id] {
			t.Fatal("not taken again")
		}
		h.run(id)
		h.at(now)
	}
}

// M52: a daemon that ranks first and takes nothing is tried less often too where a third one runs what it leaves.
func TestM52ThirdTakesWhatIsLeft(t *testing.T) {
	h := newHere(t)
	id := h.hers[0]
	h.members = append(h.members, member("c", 1))
	if rankOf(id, h.members)[0] != "b" {
		t.Fatalf("%s is not b's any more", id)
	}
	h.run(id)
	h.at(0)
	if plan := h.at(30); len(plan.Back) != 1 {
		t.Fatal("not handed back")
	}
	h.release(id)
	h.at(30)
	if !h.at(36).Take[id] {
		t.Fatal("not taken again")
	}
	h.owners[id] = "c" // it was faster
	h.at(36)
	delete(h.owners, id)
	h.at(66)
	if !h.at(72).Take[id] {
		t.Fatal("not taken after the third one")
	}
	h.run(id)
	h.at(72)
	if plan := h.at(191); plan.Back != nil {
		t.Error("handed back as if the first had not let it lie twice")
	}
	if plan := h.at(192); len(plan.Back) != 1 {
		t.Error("not handed back after four times as long")
	}
	h.release(id)
	h.owners[id] = "b"
	h.at(193)
	h.run(id)
	h.at(194)
	if plan := h.at(224); len(plan.Back) != 1 {
		t.Error("who ranks first has taken it, and is tried rarely still")
	}
}

// M52: who is drained takes nothing that another lets lie, which it would hand back at once; and takes
// over when nobody else is there.
func TestM52DrainedTakesNothing(t *testing.T) {
	h := newHere(t)
	h.members[0].Drained = true
	h.waiting = []checkpoint.ID{h.mine[0]}
	h.at(0)
	if h.at(60).Take[h.mine[0]] {
		t.Error("taken by who is drained")
	}
	h.members = h.members[:1]
	if !h.at(61).Take[h.mine[0]] {
		t.Error("not taken when nobody else is there")
	}
}

// M54: what is dealt anew goes to who deals it at once, all of it, and nobody else takes it, however long it lies; what
// has come for that goes to whom it belongs without delay.
func TestM54WhatIsDealtGoesToWhoDeals(t *testing.T) {
	t.Parallel()
	h := newHere(t)
	h.run(h.mine...)
	h.dealers = map[checkpoint.ID]string{}
	for _, id := range h.mine[:20] {
		h.dealers[id] = "b"
	}
	if back := h.at(0).Back; !slices.Equal(back, h.mine[:20]) {
		t.Errorf("%d are handed over, want 20", len(back))
	}
	h.release(h.mine[:20]...)
	for _, seconds := range []float64{1, 100} {
		if p := h.at(seconds); p.Take[h.mine[0]] || len(p.Back) != 0 {
			t.Errorf("after %v: %+v", seconds, p)
		}
	}
	h.dealers = nil // who deals is gone, or is through
	if !h.at(101).Take[h.mine[0]] {
		t.Error("what is dealt no more is not taken again")
	}

	h = newHere(t)
	h.waiting = slices.Clone(h.hers[:1])
	h.dealers = map[checkpoint.ID]string{h.hers[0]: "a"}
	if !h.at(0).Take[h.hers[0]] {
		t.Error("who deals does not take what is free")
	}
	h.run(h.hers[0])
	h.run(h.hers[1])
	if back := h.at(1).Back; len(back) != 0 {
		t.Errorf("%v are handed back by who deals", back)
	}
	h.dealers = nil
	if back := h.at(2).Back; !slices.Equal(back, h.hers[:1]) {
		t.Errorf("%v are handed back by who has dealt", back)
	}
}
