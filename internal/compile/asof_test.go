package compile_test

import (
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/builtin"
)

// M3, M47: rows are looked up as of an event's time where both sides have one; where one has none, both ways out are
// told.
func TestAsOfNeedsTimesOnBothSides(t *testing.T) {
	t.Parallel()
	const graph = `graph: g
CLOCK
accumulators:
  a: { strategy: sequential TIME }
  b: { strategy: sequential, time: event.at }
  rows: { FED table: { key: event.k, as_of: event } }
nodes:
  n: { expr: 'rows[a.k]?.v' }
outputs:
  o: { from: n, sink: { drop: {} } }
`
	for _, c := range []struct{ clock, time, fed, want string }{
		{"", ", time: event.at", "time: event.at,", ""},
		{"", ", time: event.at", "",
			"asks when a row was changed, and \"rows\" has no time: give it one, or leave as_of out"},
		{"", "", "time: event.at,", "fires, and \"a\" has no time: give it one, or leave as_of out"},
		{"clock: arrival", ", time: event.at", "time: event.at,", "take clock: arrival out, or leave as_of out"},
		{"", ", time: event.at", "from: n,", "a node feeds \"rows\""},
	} {
		text := strings.NewReplacer("CLOCK", c.clock, "TIME", c.time, "FED", c.fed).Replace(graph)
		_, diags := (&builtin.Kinds{}).Parse([]byte(text), "g.yaml")
		found := c.want == "" && len(diags) == 0
		for _, d := range diags {
			found = found || c.want != "" && strings.Contains(d.Text, c.want) && d.Line == 6
		}
		if !found {
			t.Errorf("%s with %q, %q and %q: %v", text, c.clock, c.time, c.fed, diags)
		}
	}
}

// What needs as_of: event is refused without it.
func TestVersionsAreOfTablesAsOfEvents(t *testing.T) {
	t.Parallel()
	_, diags := (&builtin.Kinds{}).Parse([]byte(`graph: g
accumulators:
  a: {}
  rows: { table: { key: event.k, max_versions: 7 } }
nodes:
  n: { expr: 'rows[a.k]?.v' }
`), "g.yaml")
	if len(diags) == 0 || diags[0].Code != "no_effect" {
		t.Errorf("it was told %v", diags)
	}
}
