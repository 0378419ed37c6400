package reader_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
)

// M49: the source is opened once for seven shards, and each event is decoded and dealt once, and counts once against
// the tenant's rate.
func TestM49ASourceIsReadOnceForAllShards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 500, onTape)
		var all []*shard
		for range shards {
			all = append(all, r.enter())
		}
		settle()
		for n, s := range all {
			r.each(fmt.Sprintf("shard %d", n), s, 500)
			if s.decoded != 500 {
				t.Errorf("shard %d has to decode %d events itself", n, 500-s.decoded)
			}
			if fmt.Sprint(s.told()) != "[live true]" {
				t.Errorf("shard %d was told %v", n, s.told())
			}
		}
		if len(r.opens) != 1 || r.paced.Load() != 500 {
			t.Errorf("%d opens, %d events", len(r.opens), r.paced.Load())
		}
	})
}

// M49: a shard that restarts alone is given what is behind its own position, and no other anything twice.
func TestM49AShardRestartsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 300, onTape)
		var all []*shard
		for range shards {
			all = append(all, r.enter())
		}
		settle()
		killed := all[3]
		_ = killed.leave()
		r.events.Store(400)
		back := r.enter(at(0, 50), at(1, 70))
		settle()
		for n, s := range all {
			if s != killed {
				r.each(fmt.Sprintf("shard %d", n), s, 400)
			}
		}
		back.given = append(slices.Clone(r.until(50, 70)), back.given...)
		r.each("the shard that is back", back, 400)
		if len(r.opens) != 2 || fmt.Sprint(r.opens[1]) != "[s/0#x@50 s/1#x@70]" {
			t.Errorf("it was opened from %v", r.opens)
		}
		// What was said of how far the source has come is void while it goes back.
		if got := fmt.Sprint(all[0].told()); got != "[live true false live true]" {
			t.Errorf("the others were told %s", got)
		}
	})
}

// M49: the source begins at the least position of each partition, at its beginning where one has none.
func TestM49TheLeastPositionIsBegunAt(t *testing.T) {
	for want, members := range map[string][][]boundary.Position{
		"[s/0#x@10 s/1#x@5]": {{at(0, 10), at(1, 50)}, {at(0, 40), at(1, 5)}, {at(1, 9), at(0, 11)}},
		"[s/1#x@5]":          {{at(0, 10), at(1, 5)}, {at(1, 8)}},
		"[]":                 {{at(0, 10)}, nil},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, 120, onTape)
			var all []*shard
			for _, from := range members {
				all = append(all, r.enter(from...))
			}
			settle()
			if fmt.Sprint(r.opens) != "["+want+"]" {
				t.Errorf("it was opened from %v, want %s", r.opens, want)
			}
			for n, s := range all {
				begun := map[string]int64{}
				for _, p := range members[n] {
					begun[p.Stream] = p.Offset
				}
				s.given = append(r.until(begun["s/0#x"], begun["s/1#x"]), s.given...)
				r.each(fmt.Sprintf("%s: shard %d", want, n), s, 120)
			}
		})
	}
}

// M49: where the order of positions is not known, who stands elsewhere reads alone, and the others go on together.
func TestM49WithoutAnOrderWhoStandsElsewhereReadsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 100, func(r *rig) accumulator.Source { return unordered{onTape(r)} })
		a, b := r.enter(), r.enter()
		settle()
		c := r.enter(at(0, 50), at(1, 20))
		settle()
		r.each("a", a, 100)
		r.each("b", b, 100)
		c.given = append(r.until(50, 20), c.given...)
		r.each("c", c, 100)
	})
}

// M4, M49: a shard without room holds the reader back, and with it the others; none is passed over. Where one of them
// waits for what comes next, it is not held back.
func TestM4AShardWithoutRoomHoldsTheOthersBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 100, onTape)
		a, slow := r.enter(), r.enter()
		slow.set(10, false)
		settle()
		if len(a.given) > 11 || len(slow.given) != 10 {
			t.Errorf("given %d and %d with room for 10", len(a.given), len(slow.given))
		}
		c := r.enter() // who comes now is not kept from what the others have
		settle()
		if len(c.given) < 10 {
			t.Errorf("who has come later was given %d", len(c.given))
		}
		slow.set(20, false)
		settle()
		if len(slow.given) != 30 {
			t.Errorf("given %d with room for 30", len(slow.given))
		}
		a.set(-1, true)
		settle()
		for name, s := range map[string]*shard{"a": a, "the slow one": slow, "c": c} {
			r.each(name, s, 100)
		}
	})
}

// M54: who is held is given what another has been given, and nothing more; then all stand at one place. Who was not
// there comes up to them, too.
func TestM54HeldShardsComeToOnePlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 100, onTape)
		a, slow := r.enter(), r.enter()
		slow.set(10, false)
		a.set(40, false)
		settle()
		release := r.reader.Hold()
		slow.set(-1, true)
		a.set(-1, true)
		settle()
		if n := len(a.given); n == 0 || n > 41 || n != len(slow.given) {
			t.Errorf("held: given %d and %d", n, len(slow.given))
		}
		c := r.enter() // from the beginning
		settle()
		if n := len(c.given); n != len(a.given) || n != len(slow.given) || n > 41 {
			t.Errorf("held: given %d and %d, and who has come later %d", len(a.given), len(slow.given), n)
		}
		if got := r.begun(); got != 1 {
			t.Errorf("the source has begun %d times", got)
		}
		release()
		settle()
		for name, s := range map[string]*shard{"a": a, "the slow one": slow, "c": c} {
			r.each(name, s, 100)
		}
	})
}

// M49: a shard that has no room and ends lets the others go on.
func TestM49WhoEndsHoldsNobodyBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 100, onTape)
		a, slow := r.enter(), r.enter()
		slow.set(10, false)
		settle()
		_ = slow.leave()
		settle()
		r.each("the other", a, 100)
		if len(r.opens) != 1 {
			t.Errorf("it was opened %d times", len(r.opens))
		}
		_ = a.leave()
		b := r.enter(a.at["s/0#x"])
		settle()
		if len(b.given) != 50 || len(r.opens) != 2 {
			t.Errorf("after all had left: %d, opened %d times", len(b.given), len(r.opens))
		}
	})
}

// M2, M49: the end of the source, its error and its panic are everybody's.
func TestM49AllHearHowTheSourceEnds(t *testing.T) {
	broken := errors.New("broken")
	for name, fails := range map[string]error{"an end": nil, "an error": broken} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, 20, onTape)
			r.ends, r.fails = true, fails
			for _, s := range []*shard{r.enter(), r.enter(), r.enter(event(11).Pos)} {
				if err := s.wait(); !errors.Is(err, fails) {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 20, func(*rig) accumulator.Source { return unordered{} })
		for _, s := range []*shard{r.enter(), r.enter()} {
			if err := s.wait(); !errors.As(err, new(*accumulator.PanicError)) {
				t.Errorf("a panic: %v", err)
			}
		}
	})
}

// M44, M49: a lost position halts the shard that stands there, and not those that stand elsewhere.
func TestM44ALostPositionIsOneShards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 100, onTape)
		r.removed = 20
		behind, well := r.enter(at(0, 10), at(1, 30)), r.enter(at(0, 20), at(1, 20))
		settle()
		if err := behind.wait(); !errors.As(err, new(*accumulator.DataLost)) {
			t.Errorf("the one behind: %v", err)
		}
		if len(well.given) != 60 {
			t.Errorf("the other was given %d", len(well.given))
		}
	})
}
