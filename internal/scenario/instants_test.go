package scenario_test

import (
	"slices"
	"testing"

	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/scenario"
)

// M26: the events of one push that have times each happen at their own, as in a bounded run: the graph
// comes to rest in between. Those of one time happen together, and those without at one instant.
func TestM26PushedEventsHappenAtTheirTimes(t *testing.T) {
	t.Parallel()
	u, diags := (&builtin.Kinds{}).Parse([]byte(`graph: instants
accumulators:
  a: { time: event.at, time_unit: s, emit: event.v }
  b: { emit: event.v }
reactor: { when: any, strategy: latest }
nodes:
  row: { event: true, expr: '[a ?? 0, b ?? 0]' }
outputs: { row: { from: row, sink: { drop: {} } } }
`), "instants.yaml")
	if err := diags.Err(); err != nil {
		t.Fatal(err)
	}
	doc, err := scenario.Parse([]byte(`graph: instants
cases:
  - name: c
    steps:
      - push: { a: [{ at: 946684801, v: 1 }, { at: 946684802, v: 2 }, { at: 946684802, v: 3 }, { at: 1, v: 4 }] }
      - expect: { row: [[1, 0], [4, 0]] }
      - push: { b: [{ v: 5 }, { v: 6 }] }
      - expect: { row: [[4, 6]] }
`), "instants_test.yaml")
	if err != nil {
		t.Fatal(err)
	}
	outcomes, err := scenario.Run(t.Context(), u, doc)
	if err != nil {
		t.Fatal(err)
	}
	if f := outcomes[0].Failures; !slices.Equal(f, nil) {
		t.Error(f)
	}
}
