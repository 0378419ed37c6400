package accumulator

import (
	"fmt"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/accumulator/window"
	"github.com/graphd/graphd/internal/boundary"
)

// M26: 1970-01-01T00:00:00Z is a time like any other, and so are those before it: early
// results and idle partitions are due then, and an arrival before it is told as it was.
func TestTheYear1970IsNoTimeApart(t *testing.T) {
	t.Parallel()
	zero := time.Unix(0, 0).UTC()
	event := func(stream string, at time.Time) *boundary.Event {
		pos := boundary.Position{Stream: stream, Offset: 1}
		return &boundary.Event{Raw: fmt.Appendf(nil, `{"at":%d}`, at.Unix()), Pos: pos, At: at}
	}
	t.Run("an early result due then", func(t *testing.T) {
		a := tumbling(time.Hour)
		change(&a, func(w *window.Declared) { w.Early = time.Second })
		p := compile(t, a)
		for _, again := range []bool{false, true} {
			c := NewCore(p, Limits{})
			c.Add(zero.Add(-time.Second), event("s", zero.Add(-time.Second)), true)
			if again { // it is due at once, whatever the year
				c = restart(t, p, take(t, c).Mark)
			}
			due, ok := c.Due()
			if !ok || due.After(zero) {
				t.Fatalf("restarted %v: due %v, %v; want 1970-01-01 at the latest", again, due, ok)
			}
			c.Tick(zero)
			if got := brief(take(t, c)); len(got) != 1 {
				t.Errorf("restarted %v: got %v", again, got)
			}
		}
	})
	t.Run("a partition last heard of then", func(t *testing.T) {
		a := tumbling(10 * time.Second)
		change(&a, func(w *window.Declared) { w.Idle = time.Minute })
		c := newCore(t, a)
		c.Add(zero, event("a", zero), true)
		if due, ok := c.Due(); !ok || !due.Equal(zero.Add(time.Minute)) {
			t.Errorf("due %v, %v; want a minute after it", due, ok)
		}
	})
	t.Run("an arrival before it", func(t *testing.T) {
		a := keyed(tumbling(10 * time.Second))
		change(&a, func(w *window.Declared) { w.Groups = "all" })
		change(&a, func(w *window.Declared) { w.Key[0] = expr("1") })
		c := newCore(t, a)
		before := zero.Add(-time.Hour)
		c.Add(before, event("s", before), true)
		c.EndOfInput(before)
		if b := take(t, c).Boundaries[0]; !b.At.Equal(before) || b.Last.IsZero() {
			t.Errorf("it arrived at %v, its last event at %v", b.At, b.Last)
		}
	})
}
