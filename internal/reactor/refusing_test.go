package reactor

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/refused"
)

// What comes to nothing is in what a core weighs, records or not; of a guard that reads much an entry shows a part.
func TestRefusalsAreWeighedAndBounded(t *testing.T) {
	t.Parallel()
	inputs, guard := "a: { strategy: sequential }", "a.n > 5"
	for i := range 40 {
		inputs += fmt.Sprintf(", p%02d: { passive: true, default: %d }", i, i)
		guard += fmt.Sprintf(" && p%02d >= 0", i)
	}
	r := newRig(t, "graph: g\naccumulators: { "+inputs+" }\nreactor: { guard: '"+guard+"' }\n"+
		"nodes: { n: { expr: a.n } }\noutputs: { o: { from: n, sink: { drop: {} } } }\n",
		func(c *Config) { c.KeepFirings, c.Refusals = 0, true })
	before := r.c.Weigh().Records
	const pushes = 20
	for range pushes {
		r.push("a", map[string]any{"n": 1, "text": strings.Repeat("x", 400)})
		r.want(r.fire(), "")
		r.advance(time.Second)
	}
	entries := 0
	counts := r.c.Refused(func(e *refused.Entry) bool {
		if entries++; len(e.Values) == 0 || len(e.Values) > 16 || len(e.Values)+e.Omitted != 41 {
			t.Errorf("%d names are shown, and %d are not", len(e.Values), e.Omitted)
		}
		return true
	})
	if counts[refused.Guard] != pushes || entries != pushes {
		t.Errorf("%d counted, %d kept", counts[refused.Guard], entries)
	}
	if n := r.c.Weigh().Records - before; n < pushes*500 || n > pushes*4096 {
		t.Errorf("they weigh %d bytes", n)
	}
}
