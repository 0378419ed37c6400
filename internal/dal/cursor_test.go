package dal

import (
	"errors"
	"math"
	"testing"

	"github.com/graphd/graphd/internal/checkpoint"
)

func TestCursorRoundTrip(t *testing.T) {
	t.Parallel()
	for _, p := range []place{{}, {1, 2}, {-3, -4}, {math.MaxInt64, math.MinInt64}} {
		if got, err := firingPlace(firingCursor(p)); err != nil || got != p {
			t.Errorf("place %v came back as %v, %v", p, got, err)
		}
	}
	for _, id := range []string{"", "letter-1", "a:b", "\x00é"} {
		if got, ok, err := letterBound(encodeCursor(cursorLetter, id)); err != nil || !ok || got != id {
			t.Errorf("letter %q came back as %q, %v", id, got, err)
		}
	}
	for _, id := range []int64{0, 1, math.MaxInt64} {
		if got, err := recoveryBound(recoveryCursor(id)); err != nil || got != id {
			t.Errorf("event %d came back as %d, %v", id, got, err)
		}
	}
}

// Any text is a cursor of one list, or ErrBadCursor.
func FuzzCursor(f *testing.F) {
	for _, seed := range []string{"", "x", firingCursor(place{1, 2}), encodeCursor(cursorLetter, "a"), recoveryCursor(7), "1.2.3", ".", encodeCursor(cursorRecovery, "+7")} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_, firingErr := firingPlace(text)
		_, _, letterErr := letterBound(text)
		_, eventErr := recoveryBound(text)
		accepted := 0
		for _, err := range []error{firingErr, letterErr, eventErr} {
			if err == nil {
				accepted++
			} else if !errors.Is(err, checkpoint.ErrBadCursor) {
				t.Errorf("%q: %v", text, err)
			}
		}
		if text != "" && accepted > 1 {
			t.Errorf("%q is a cursor of %d lists", text, accepted)
		}
	})
}

// Two simulations with one seed see the same instances.
func TestSeededMemory(t *testing.T) {
	t.Parallel()
	instances := func(seed uint64) (all [3]string) {
		s := NewSeededMemory(seed)
		for i, name := range []string{"a", "b", "c"} {
			head, err := s.Acquire(t.Context(), checkpoint.ID{Graph: name})
			if err != nil {
				t.Fatal(err)
			}
			all[i] = head.Instance
		}
		return all
	}
	first := instances(1)
	if first != instances(1) || first == instances(2) || first[0] == first[1] {
		t.Errorf("instances of seed 1 are %v, then %v; of seed 2 %v", first, instances(1), instances(2))
	}
}
