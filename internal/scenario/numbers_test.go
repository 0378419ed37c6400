package scenario_test

import (
	"testing"

	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/scenario"
)

// Whole numbers are compared as they are, and others as near as their digits go.
func TestNumbersAreCompared(t *testing.T) {
	t.Parallel()
	u, diags := (&builtin.Kinds{}).Parse([]byte(`graph: numbers
accumulators: { a: {} }
reactor: { strategy: sequential }
nodes: {}
outputs: { o: { from: a, sink: { drop: {} } } }
`), "numbers.yaml")
	if err := diags.Err(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		got, want string
		same      bool
	}{
		{"4000000000", "4000000000", true}, {"4000000001", "4000000000", false},
		{"9007199254740993", "9007199254740992", false}, {"3", "3.0", true}, {"3.0", "3", true},
		{"0.1", "0.10000000000000001", true}, {"1.0000000001", "1.0", true}, {"1.00001", "1.0", false},
	} {
		steps := "[{ push: { a: { x: " + c.got + " } } }, { expect: { o: [{ x: " + c.want + " }] } }]"
		doc, err := scenario.Parse([]byte("graph: numbers\ncases:\n  - name: c\n    steps: "+steps+"\n"),
			"numbers_test.yaml")
		if err != nil {
			t.Fatal(err)
		}
		outcomes, err := scenario.Run(t.Context(), u, doc)
		if err != nil {
			t.Fatal(err)
		}
		if same := len(outcomes[0].Failures) == 0; same != c.same {
			t.Errorf("%s against %s: %v", c.got, c.want, outcomes[0].Failures)
		}
	}
}
