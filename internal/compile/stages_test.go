package compile_test

import (
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/builtin"
)

// M14: what feeds itself over stages is refused, with the names that form the cycle; so is what can
// never be.
func TestM14StagesAreChecked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, accumulators, nodes, want string }{
		{
			"itself", "a: { strategy: sequential }\n  s: { from: n }", "n: { expr: 's ?? a' }",
			"4:14: cycle: stages feed each other: s → n → s;",
		},
		{
			"over another", "a: { strategy: sequential }\n  s: { from: n }\n  w: { from: m }",
			"n: { expr: '[a, w]' }\n  m: { expr: s }",
			"cycle: stages feed each other: s → m → w → n → s;",
		},
		{
			"over its late events",
			"a: { time: event.at, strategy: sequential }\n  s: { from: n, time: event.t, " +
				"window: { tumbling: 1m, late: old, aggregate: { n: count() } } }",
			"n: { expr: 'old ?? a' }", "cycle: stages feed each other: s → n → s;",
		},
		{"a slip", "a: {}\n  s: { from: bussy }", "busy: { expr: a }", "(did you mean busy?)"},
		{
			"a field", "a: {}\n  s: { from: busy.n }", "busy: { expr: a }",
			`write from: busy, and take the field with emit: event.n`,
		},
		{
			"a constant", "a: {}\n  s: { from: n }", "n: { expr: 1 }",
			"4:14: no_trigger: the node n reads no input, so no epoch ever feeds s",
		},
		{"no node", "a: {}\n  s: { from: x }", "n: { expr: a }", "4:14: unknown_name: there is no node x to feed s"},
		{
			"an accumulator", "a: {}\n  s: { from: a }", "n: { expr: a }",
			"4:14: not_a_node: a is an accumulator, and nodes feed s",
		},
		{
			"a source too", "a: {}\n  s: { from: n, source: { generator: { every: 1s, expr: i } } }", "n: { expr: a }",
			"conflict: \"s\" has a source and is fed by a node",
		},
		{
			"a group", "a: { sync_group: g, strategy: sequential }\n  s: { from: n, sync_group: g }", "n: { expr: a }",
			"conflict: s is fed by a node and belongs to no feed",
		},
		{"the type of its node", "a: {}\n  s: { from: n, emit: event.y }", "n: { expr: '{x: a}' }", "unknown field y"},
		{
			"the type of the stage before", "a: {}\n  s: { from: n }\n  w: { from: m, where: event }",
			"n: { expr: 1 + len(a) }\n  m: { expr: s }", "a condition must be bool, and this is int",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			doc := "graph: g\naccumulators:\n  " + c.accumulators + "\nnodes:\n  " + c.nodes + "\n"
			_, diags := (&builtin.Kinds{}).Parse([]byte(doc), "g.yaml")
			if err := diags.Err(); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v; want %s", err, c.want)
			}
		})
	}
	doc := "graph: g\naccumulators:\n  a: {}\n  s: { from: n }\nreactor: { when: { all: [a, s] } }\n" +
		"nodes: { n: { expr: a } }\n"
	_, diags := (&builtin.Kinds{}).Parse([]byte(doc), "g.yaml")
	if err := diags.Err(); err == nil || !strings.Contains(err.Error(), "conflict: s is fed by an epoch") {
		t.Errorf("%v", err)
	}
}
