package scenario_test

import (
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/scenario"
)

const lossy = `graph: lossy
accumulators:
  a: { where: event.n != 0 }
  w: { time: event.at, time_unit: s, window: { tumbling: 10s, aggregate: { n: count() } } }
reactor: { strategy: sequential }
nodes:
  inverse: { expr: 1 / a.n }
outputs:
  inverses: { from: inverse, sink: { drop: {} } }
  windows: { from: w, sink: { drop: {} } }
`

// A case that loses what none of its steps expects has failed, and says what to write.
func TestLossesFailACase(t *testing.T) {
	t.Parallel()
	u, diags := (&builtin.Kinds{}).Parse([]byte(lossy), "lossy.yaml")
	if err := diags.Err(); err != nil {
		t.Fatal(err)
	}
	const (
		poison, fine = "push: { a: { n: x } }", "push: { a: { n: 2 } }"
		failing      = "command: { fire_with: { a: { n: 0 } } }"
		again        = "\n      - "
	)
	const late = "push: { w: [{ at: 1 }, { at: 30 }, { at: 2 }] }"
	for name, c := range map[string]struct{ head, steps, want string }{
		"nothing lost":   {"", fine, ""},
		"filtered":       {"", "push: { a: { n: 0 } }", ""},
		"a dead letter":  {"", poison, "expect: { dead_letters: 1 }"},
		"one too many":   {"", poison + again + "expect: { dead_letters: 1 }" + again + poison, "dead_letters: 2 }"},
		"expected":       {"", poison + again + "expect: { dead_letters: 1 }", ""},
		"wrong count":    {"", poison + again + "expect: { dead_letters: 0 }", "there are 1 dead letters, expected 0"},
		"a failed epoch": {"", failing, "expect: { failed_epochs: 1 }"},
		"it is expected": {"", failing + again + "expect: { failed_epochs: 1 }", ""},
		"late events":    {"", late, "1 events came too late for their window or join, and no step expects it"},
		"late, expected": {"", late + again + "expect: { late: 1 }", ""},
		"lax document":   {"strict: false\n", poison, ""},
		"lax case":       {"", poison + "\n    strict: false", ""},
		"neither word":   {"strict: maybe\n", fine, "strict is true or false"},
	} {
		text := c.head + "graph: lossy\ncases:\n  - name: c\n    steps:\n      - " + c.steps + "\n"
		doc, err := scenario.Parse([]byte(text), "lossy_test.yaml")
		var got string
		if err != nil {
			got = err.Error()
		} else {
			outcomes, err := scenario.Run(t.Context(), u, doc)
			if err != nil {
				t.Fatal(err)
			}
			got = strings.Join(outcomes[0].Failures, "\n")
		}
		if !strings.Contains(got, c.want) || (c.want == "") != (got == "") {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

// What is pushed to a join, which has no events of its own, is not passed over.
func TestAPushToAJoinFailsACase(t *testing.T) {
	t.Parallel()
	u, diags := (&builtin.Kinds{}).Parse([]byte(`graph: g
accumulators:
  a: { time: event.at }
  b: { time: event.at }
  j: { join: { left: a, right: b, on: k, within: 1m } }
nodes: { n: { expr: j.matched } }
outputs: { o: { from: n, sink: { drop: {} } } }
`), "g.yaml")
	if err := diags.Err(); err != nil {
		t.Fatal(err)
	}
	doc, err := scenario.Parse([]byte("graph: g\ncases:\n  - name: c\n    steps:\n      - push: { j: { k: 1 } }\n"),
		"g_test.yaml")
	if err != nil {
		t.Fatal(err)
	}
	outcomes, err := scenario.Run(t.Context(), u, doc)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(outcomes[0].Failures, "\n")
	if !strings.Contains(got, "j is a join of a and b: push to these") {
		t.Errorf("%q", got)
	}
}
