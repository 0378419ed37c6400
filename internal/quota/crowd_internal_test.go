package quota

import "testing"

// Who holds what it held needs no look, however many there are; what all hold is known without one (A4).
func TestCrowdLooksAtWhatHasMoved(t *testing.T) {
	t.Parallel()
	b := NewBook(nil)
	const rests = 100
	for i := range rests {
		b.Meter("a", string(rune('a'+i))).Holds(0, Memory{Keys: 1 << 20})
	}
	want := func(when string, held int64, stirred int) {
		t.Helper()
		if b.crowd.held != held || len(b.crowd.stirred) != stirred {
			t.Errorf("%s %d bytes are held and %d graphs looked at, want %d and %d", when, b.crowd.held,
				len(b.crowd.stirred), held, stirred)
		}
	}
	want("at first", rests<<20, 0) // it has come with that
	m := b.Meter("b", "moves")
	m.Holds(0, Memory{Keys: 1 << 20})
	m.Holds(0, Memory{Keys: 3 << 20})
	m.Holds(0, Memory{Keys: 4 << 20})
	want("after a change", (rests+4)<<20, 1)
	b.Crowd(0, 0)
	want("after a look", (rests+4)<<20, 1)
	for range 10_000 {
		b.Crowd(0, 0)
	}
	want("when its growth is forgotten", (rests+4)<<20, 0)
	m.Holds(0, Memory{Keys: 2 << 20})
	want("when it holds less", (rests+2)<<20, 1)
	b.Forget("b", "moves")
	m.Holds(0, Memory{Keys: 9 << 20})
	want("when it is gone", rests<<20, 1)
	b.Crowd(0, 0)
	want("at last", rests<<20, 0)
}
