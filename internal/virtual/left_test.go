package virtual_test

import (
	"fmt"
	"testing"
)

// What an input or a stage holds open is told, and whether time completes it: at the end nothing that it does is left.
func TestWhatIsLeftOpen(t *testing.T) {
	t.Parallel()
	s := newStaged(t, `graph: g
accumulators:
  a: { time: event.at, time_unit: s, window: { tumbling: 10s, aggregate: { n: count() } } }
  b: { time: event.at, time_unit: s, window: { count: { size: 3 }, aggregate: { n: count() } } }
  s: { from: n, time: event.at, window: { tumbling: 10s, aggregate: { n: count() } } }
  x: { time: event.at, time_unit: s, strategy: sequential }
nodes: { n: { expr: x } }
outputs:
  a: { from: a, sink: { drop: {} } }
  b: { from: b, sink: { drop: {} } }
  s: { from: s, sink: { drop: {} } }
`)
	for _, i := range []int{0, 1, 3} {
		s.push(i, `{"at":1}`, `{"at":2}`)
	}
	left := func() (text string) {
		for i := range 4 {
			open, timed := s.g.Left(i)
			text += fmt.Sprint(open, timed, " ")
		}
		return text
	}
	before := left()
	s.must(s.g.Close())
	if after := left(); before != "2 true 2 false 2 true 0 false " || after != "0 false 2 false 0 false 0 false " {
		t.Errorf("before the end %s, after it %s", before, after)
	}
}
