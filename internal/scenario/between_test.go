package scenario_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/scenario"
)

// asked counts how often somebody asks whether it has ended.
type asked struct {
	context.Context
	times, ends int
}

func (a *asked) Err() error {
	if a.times++; a.times > a.ends {
		return context.Canceled
	}
	return nil
}

// A test that is given up ends between two nodes of an epoch, and not behind it.
func TestAnEpochEndsBetweenItsNodes(t *testing.T) {
	t.Parallel()
	doc := "graph: long\naccumulators: { a: {} }\nnodes:\n  n0: { expr: a }\n"
	const nodes = 50
	for i := 1; i <= nodes; i++ {
		doc += fmt.Sprintf("  n%d: { expr: n%d + 1 }\n", i, i-1)
	}
	u, diags := (&builtin.Kinds{}).Parse([]byte(doc+"outputs: { o: { from: n50, sink: { drop: {} } } }\n"), "long.yaml")
	if err := diags.Err(); err != nil {
		t.Fatal(err)
	}
	tests, err := scenario.Parse([]byte("graph: long\ncases:\n  - name: c\n    steps: [{ push: { a: 1 } }, "+
		"{ expect: { o: [51] } }]\n"), "")
	if err != nil {
		t.Fatal(err)
	}
	whole := &asked{Context: t.Context(), ends: 1 << 20}
	outcomes, err := scenario.Run(whole, u, tests)
	if err != nil || len(outcomes) != 1 || len(outcomes[0].Failures) > 0 || whole.times < nodes {
		t.Fatalf("%+v, %v, asked %d times", outcomes, err, whole.times)
	}
	half := &asked{Context: t.Context(), ends: whole.times / 2}
	if outcomes, err = scenario.Run(half, u, tests); err == nil || len(outcomes) > 0 {
		t.Errorf("%+v, %v", outcomes, err)
	}
	if more := half.times - half.ends; more > 10 {
		t.Errorf("it goes on for %d nodes", more)
	}
	if strings.Contains(fmt.Sprint(err), "timeout") {
		t.Error(err)
	}
}
