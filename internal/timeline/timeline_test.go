package timeline

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

// M26: whatever is set, cleared and dropped, the first is the earliest, and of equal times that of the
// least rank.
func TestM26Order(t *testing.T) {
	t.Parallel()
	type one struct {
		number int
		rank   uint64
		at     int64
		here   bool
	}
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 3))
		o, streams := New(0), []one(nil)
		for range 400 {
			switch n := len(streams); {
			case n == 0 || r.IntN(20) == 0:
				rank := r.Uint64N(1 << 40)
				streams = append(streams, one{number: o.Add(rank), rank: rank})
			case r.IntN(30) == 0:
				i := r.IntN(n)
				o.Drop(streams[i].number)
				streams = slices.Delete(streams, i, i+1)
			case r.IntN(20) == 0:
				s := &streams[r.IntN(n)]
				s.rank = r.Uint64N(1 << 40)
				o.Rank(s.number, s.rank)
			case r.IntN(3) == 0:
				s := &streams[r.IntN(n)]
				s.here = false
				o.Clear(s.number)
			default:
				s := &streams[r.IntN(n)]
				s.at, s.here = int64(r.IntN(6)), true
				o.Set(s.number, s.at)
			}
			here := slices.DeleteFunc(slices.Clone(streams), func(s one) bool { return !s.here })
			got, at, ok := o.First()
			if len(here) == 0 {
				if ok {
					t.Fatalf("seed %d: there is nothing, and %d comes first", seed, got)
				}
				continue
			}
			want := slices.MinFunc(here, func(a, b one) int {
				return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.rank, b.rank))
			})
			if !ok || at != want.at || got != want.number {
				t.Fatalf("seed %d: stream %d at %d comes first, want %d at %d", seed, got, at, want.number, want.at)
			}
		}
	}
}

// M26: who is behind is missing while nothing of it is here, and for no longer than the patience.
func TestM26Missing(t *testing.T) {
	t.Parallel()
	o := New(10)
	a, b := o.Add(1), o.Add(2)
	missing := func(now int64) string {
		n, until, ok := o.Missing(now)
		switch {
		case !ok:
			return ""
		case n == a && until == 15:
			return "a"
		case n == b && until == 18:
			return "b"
		}
		return "another"
	}
	step := func(what, want string, now int64) {
		t.Helper()
		if got := missing(now); got != want {
			t.Errorf("%s: %q is missing, want %q", what, got, want)
		}
	}
	step("to begin with", "", 0)
	o.Behind(a, true, 5)
	step("a is behind", "a", 6)
	o.Set(a, 100)
	step("its next event is here", "", 6)
	o.Clear(a)
	step("it is not any more", "a", 6)
	o.Behind(b, true, 8)
	step("b is behind too, and for longer", "b", 9)
	step("a has been silent for too long", "b", 16)
	step("both have", "", 18)
	o.Heard(a, 5)
	o.Behind(b, false, 9)
	step("b has caught up", "a", 9)
	o.Drop(a)
	step("a is gone", "", 9)
}
