package accumulator

import (
	"fmt"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/accumulator/window"
	"github.com/graphd/graphd/internal/spec"
)

// sideways is a window whose late events go to an input of their own.
func sideways(a spec.Accumulator) spec.Accumulator {
	change(&a, func(w *window.Declared) { w.Late, w.LateInput = "side", "stragglers" })
	return a
}

// M3, M42: a late event that goes to an input of its own is the event that came, whatever is
// decoded after it: one that nothing but the window's own expressions was to look at is lent
// by the decoder, and is kept before it is handed over.
func TestM3LateEventsOwnTheirMemory(t *testing.T) {
	t.Parallel()
	filtered := sideways(tumbling(10e9))
	filtered.Where = expr("event.x > 0")
	for name, a := range map[string]spec.Accumulator{
		"as it came":   sideways(tumbling(10e9)),
		"reads fields": sideways(keyed(tumbling(10e9, field("total", "sum(event.x)")))),
		"where":        filtered,
		"emit": func() spec.Accumulator {
			a := sideways(tumbling(10e9))
			a.Emit = []spec.Field{field("x", "event.x")}
			return a
		}(),
		"emit as a whole": func() spec.Accumulator {
			a := sideways(tumbling(10e9))
			a.EmitExpr = expr("[event.x, event.k]")
			return a
		}(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCore(t, a)
			c.Add(far, reading(1000, "z", 1), true)
			for i := 1; i <= 300; i++ {
				c.Add(far, reading(i%100, strings.Repeat("k", i), i), true)
			}
			h := take(t, c)
			if len(h.Late) != 300 {
				t.Fatalf("%d late events, want 300", len(h.Late))
			}
			for i := 0; i < 300; i++ { // more is decoded before anybody reads them
				c.Add(far, reading(2000, "other", -1), true)
			}
			for i := range h.Late {
				n, k := i+1, strings.Repeat("k", i+1)
				want := fmt.Sprintf(`{"at":%d,"k":%q,"x":%d}`, epochStart.Unix()+int64(n%100), k, n)
				switch name {
				case "emit":
					want = fmt.Sprintf(`{"x":%d}`, n)
				case "emit as a whole":
					want = fmt.Sprintf(`[%d,%q]`, n, k)
				}
				if got := h.Late[i].Value.String(); got != want {
					t.Fatalf("late event %d is %.80s, want %.80s", n, got, want)
				}
			}
		})
	}
}

// M3: what looks at the time first, as a bounded run does, changes nothing of that.
func TestLateEventsOwnTheirMemoryAfterALookAtTheTime(t *testing.T) {
	t.Parallel()
	c := newCore(t, sideways(tumbling(10e9)))
	for i, at := range []int{1000, 1, 2, 3} {
		ev := reading(at, fmt.Sprint("k", i), i)
		if _, _, err := c.EventTime(ev); err != nil {
			t.Fatal(err)
		}
		c.Add(far, ev, true)
	}
	var got []string
	for _, b := range take(t, c).Late {
		got = append(got, b.Value.Field("k").String())
	}
	if fmt.Sprint(got) != `["k1" "k2" "k3"]` {
		t.Errorf("got %s", got)
	}
}
