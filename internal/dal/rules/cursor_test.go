package rules

import (
	"errors"
	"math"
	"testing"

	"github.com/graphd/graphd/internal/checkpoint"
)

func TestCursorRoundTrip(t *testing.T) {
	t.Parallel()
	zero, one := checkpoint.ID{Graph: "g"}, checkpoint.ID{Graph: "g", Shard: 1}
	for _, p := range []Place{{}, {1, 2}, {-3, -4}, {math.MaxInt64, math.MinInt64}} {
		for _, id := range []checkpoint.ID{zero, one} {
			if got, err := FiringPlace(id, FiringCursor(id, p)); err != nil || got != p {
				t.Errorf("place %v came back as %v, %v", p, got, err)
			}
		}
		if _, err := FiringPlace(zero, FiringCursor(one, p)); !errors.Is(err, checkpoint.ErrBadCursor) {
			t.Errorf("a cursor of shard 1 in shard 0: %v", err)
		}
	}
	if got := FiringCursor(zero, Place{3, 14}); got != "3.14" { // as it was before there were shards
		t.Errorf("the cursor of a graph without shards is %q", got)
	}
	for _, id := range []string{"", "letter-1", "a:b", "\x00é"} {
		if got, ok, err := DeadLetterBound(DeadLetterCursor(id)); err != nil || !ok || got != id {
			t.Errorf("letter %q came back as %q, %v", id, got, err)
		}
	}
	for _, id := range []int64{0, 1, math.MaxInt64} {
		if got, err := RecoveryBound(RecoveryCursor(id)); err != nil || got != id {
			t.Errorf("event %d came back as %d, %v", id, got, err)
		}
	}
}

// Any text is a cursor of one list, or ErrBadCursor.
func FuzzCursor(f *testing.F) {
	for _, seed := range []string{"", "x", FiringCursor(checkpoint.ID{}, Place{1, 2}), DeadLetterCursor("a"),
		RecoveryCursor(7), "1.2.3", ".", encodeCursor(cursorRecovery, "+7")} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_, firingErr := FiringPlace(checkpoint.ID{}, text)
		_, _, letterErr := DeadLetterBound(text)
		_, eventErr := RecoveryBound(text)
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
