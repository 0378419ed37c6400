package scenario_test

import (
	"testing"

	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/scenario"
)

// M26: where events have times a case begins with the first of them, as a bounded run does. A cadence does not go
// through the years before it.
func TestM26ACaseBeginsWithItsFirstEvent(t *testing.T) {
	t.Parallel()
	u, diags := (&builtin.Kinds{}).Parse([]byte(`graph: cadence
accumulators: { a: { time: event.at, strategy: sequential } }
reactor: { every: 1s }
nodes: { n: { expr: '[a.x, now(), cause()]' } }
outputs: { o: { from: n, sink: { drop: {} } } }
`), "cadence.yaml")
	if err := diags.Err(); err != nil {
		t.Fatal(err)
	}
	d, err := scenario.Parse([]byte(`graph: cadence
cases:
  - name: three instants of the cadence
    steps:
      - push: { a: { at: 2026-01-02T00:00:00.5Z, x: 1 } }
      - advance: 3s
      - expect:
          o: [[1, 2026-01-02T00:00:01Z, criteria], [1, 2026-01-02T00:00:02Z, tick], [1, 2026-01-02T00:00:03Z, tick]]
          epochs: 3
`), "cadence_test.yaml")
	if err != nil {
		t.Fatal(err)
	}
	outcomes, err := scenario.Run(t.Context(), u, d)
	if err != nil || len(outcomes) != 1 || len(outcomes[0].Failures) > 0 {
		t.Errorf("%v %+v", err, outcomes)
	}
}

// M5, M26: a test refuses what a bounded run and a daemon refuse, under either clock: an event whose time cannot be
// read, and before its condition is asked.
func TestM5ATestRefusesAnUnreadableTime(t *testing.T) {
	t.Parallel()
	for _, clock := range []string{"event", "arrival"} {
		u, diags := (&builtin.Kinds{}).Parse([]byte("clock: "+clock+`
graph: times
accumulators: { a: { time: event.at, where: event.x > 1 } }
nodes: { n: { expr: a.x } }
outputs: { o: { from: n, sink: { drop: {} } } }
`), "times.yaml")
		if err := diags.Err(); err != nil {
			t.Fatal(err)
		}
		d, err := scenario.Parse([]byte(`graph: times
cases:
  - name: two of three
    strict: false
    steps:
      - push: { a: { at: noon, x: 2 } }
      - push: { a: { at: noon, x: 1 } }
      - push: { a: { at: 2026-01-02T00:00:00Z, x: 3 } }
      - expect: { o: [3], dead_letters: 2 }
`), "times_test.yaml")
		if err != nil {
			t.Fatal(err)
		}
		outcomes, err := scenario.Run(t.Context(), u, d)
		if err != nil || len(outcomes) != 1 || len(outcomes[0].Failures) > 0 {
			t.Errorf("%s: %v %+v", clock, err, outcomes)
		}
	}
}
